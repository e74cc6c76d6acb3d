package analysis

import (
	"fmt"
	"slices"
	"strings"

	"windtunnel/result"
)

// settingsCause names what the interfaces on the way were set to otherwise, as the kernel said while the cells were
// measured. By itself that explains nothing; what packets became of it does, and packetCause tells of that.
func settingsCause(c contrast) []Cause {
	told := map[string]bool{}
	for _, cause := range packetCause(c) {
		for _, says := range cause.Evidence {
			told[says] = true
		}
	}
	differences := slices.DeleteFunc(c.readBack(), func(says string) bool { return told[says] })
	if len(differences) == 0 {
		return nil
	}
	return []Cause{{Factor: "device-settings", Share: notKnown(), rank: rank{seen, float64(len(differences))},
		Says: "the interfaces on the way are set otherwise: " + differences[0], Evidence: differences[1:]}}
}

// whereabouts say where on the way an interface stands.
var whereabouts = []struct {
	rank int
	says string
	path bool // only comparable where both cells have the same path
}{
	{rankSenderEnd, "the sender's interface", false},
	{rankInner, "inside the sender's node", true},
	{rankWire, "the sender's end of the wire", false},
	{rankFarWire, "the receiver's end of the wire", false},
	{rankFarInner, "inside the receiver's node", true},
	{rankReceiverEnd, "the receiver's interface", false},
}

// readBack are the differences in what interfaces are set to, in the order of the way; of these words alone ("MTU",
// "GRO", ...), if any are given.
func (c contrast) readBack(words ...string) []string {
	worse, better := c.worse.setAt(), c.better.setAt()
	nameW, nameB := c.names()
	var all []string
	for _, where := range whereabouts {
		w, b := worse[where.rank], better[where.rank]
		if w == nil || b == nil || where.path && pathOf(c.worse) != pathOf(c.better) {
			continue
		}
		add := func(word, inWorse, inBetter string) {
			if inWorse != inBetter && (len(words) == 0 || slices.Contains(words, word)) {
				all = append(all, fmt.Sprintf("%s: %s %s in %s, %s in %s, as read back", where.says, word, inWorse, nameW, inBetter, nameB))
			}
		}
		add("MTU", fmt.Sprint(w.MTU), fmt.Sprint(b.MTU))
		for _, word := range eitherOf(w.On, b.On) {
			add(word, onOff(slices.Contains(w.On, word)), onOff(slices.Contains(b.On, word)))
		}
	}
	return all
}

// setAt is by an interface's rank on the way what those there are set to in a cell's last trial: of several the least
// MTU, and what all of them have on.
func (c Cell) setAt() map[int]*result.LinkSettings {
	all := map[int]*result.LinkSettings{}
	for _, h := range c.Hops {
		if h.Settings == nil {
			continue
		}
		at := all[h.rank]
		if at == nil {
			all[h.rank] = &result.LinkSettings{MTU: h.Settings.MTU, On: slices.Clone(h.Settings.On)}
			continue
		}
		at.MTU = min(at.MTU, h.Settings.MTU)
		at.On = slices.DeleteFunc(at.On, func(word string) bool { return !slices.Contains(h.Settings.On, word) })
	}
	return all
}

// eitherOf are the words of both, each once.
func eitherOf(a, b []string) []string {
	all := slices.Clone(a)
	for _, word := range b {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// SettingsWords are those of an interface, "" where they are not known: "MTU 1500: TSO, GRO".
func (h Hop) SettingsWords() string {
	if h.Settings == nil {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("MTU %d: %s", h.Settings.MTU, strings.Join(h.Settings.On, ", ")), ": ")
}
