package analysis

import "fmt"

// copyCause is data that is copied in one cell and not in the other.
func copyCause(c contrast) []Cause {
	copied := func(of Cell) string {
		text := "copied at both ends"
		if how := of.Spec.Load.Text("copy"); how != "" && how != "plain" {
			text = "sent by " + how
		}
		if of.Spec.Load.Bool("discard") {
			text += ", dropped unread"
		}
		for _, method := range of.Methods {
			text += ", " + method
		}
		return text
	}
	if c.worse.Spec.Traffic != "stream" || !c.sameLoad() || copied(c.worse) == copied(c.better) {
		return nil
	}
	worse, better := c.names()
	return []Cause{{Factor: "copies", Share: notKnown(), end: atBoth, rank: rank{dearer, 0.5},
		Says: fmt.Sprintf("payload is handled in another way: %s in %s, %s in %s", copied(c.worse), worse, copied(c.better), better)}}
}
