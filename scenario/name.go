package scenario

import (
	"fmt"
	"strings"
	"windtunnel/result"
)

// name reads a name: it becomes part of file names, tables and ratios, so it
// is letters, digits, dash, underscore and dot, and begins with one of the
// first two. A slash would read as a ratio.
func (r *reader) name(n *node, what string, most int) (string, bool) {
	text, ok := r.text(n, what)
	if !ok {
		return "", false
	}
	return text, r.isName(n.at, what, text, most)
}

func (r *reader) isName(at position, what, text string, most int) bool {
	switch bad := strings.IndexFunc(text, notInName); {
	case bad >= 0:
		r.add(at, fmt.Sprintf("%s `%s` has a %q; names are letters, digits, dash, underscore and dot", what, result.Clip(text), []rune(text[bad:])[0]))
	case text == "" || strings.ContainsRune("-_.", rune(text[0])):
		r.add(at, fmt.Sprintf("%s `%s` must begin with a letter or a digit", what, result.Clip(text)))
	case len(text) > most:
		r.add(at, fmt.Sprintf("%s `%s` has %d letters; at most %d fit", what, result.Clip(text), len(text), most))
	default:
		return true
	}
	return false
}

// isPlaceName checks the name of a node or a container: no dot, because metrics
// are written cpu.NODE, and short enough to name a device.
func (r *reader) isPlaceName(at position, what, text string) bool {
	if !r.isName(at, what, text, maxPlaceName) {
		return false
	}
	if strings.Contains(text, ".") {
		r.add(at, fmt.Sprintf("%s `%s` has a dot; places are named with letters, digits, dash and underscore", what, result.Clip(text)))
		return false
	}
	return true
}

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
}
