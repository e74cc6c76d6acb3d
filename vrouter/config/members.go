package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"windtunnel/vrouter/core"
)

// Members are several ways to one prefix, in a form that can be compared and be a map's key: their
// JSON, "" for none.
type Members string

// maxMembersText bounds the JSON of members, as it is read and as it is kept; the longest that are valid
// have a tenth of it.
const maxMembersText = 64 << 10

// MakeMembers makes them of a list, in its order.
func MakeMembers(ways ...Via) Members {
	text, err := json.Marshal(ways)
	if err != nil {
		panic(err) // ways are made of text and numbers
	}
	return Members(text)
}

// Ways are the list again.
func (m Members) Ways() []Via {
	if m == "" {
		return nil
	}
	var ways []Via
	if err := json.Unmarshal([]byte(m), &ways); err != nil {
		panic(err) // whoever made the members has read them
	}
	return ways
}

// MarshalJSON makes it a list, not a text.
func (m Members) MarshalJSON() ([]byte, error) {
	if m == "" {
		return []byte("null"), nil
	}
	return []byte(m), nil
}

// readMembers makes them of a list that somebody else made.
func readMembers(ways []Via) (Members, error) {
	m := MakeMembers(ways...)
	return m, checkLength(len(m))
}

func checkLength(bytes int) error {
	if bytes > maxMembersText {
		return fmt.Errorf("the list of ways has more than %d bytes; at most %d ways make one", maxMembersText, core.GroupMembers)
	}
	return nil
}

// UnmarshalJSON reads a list, strictly.
func (m *Members) UnmarshalJSON(text []byte) (err error) {
	if err := checkLength(len(text)); err != nil {
		return err
	}
	var ways []Via
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&ways); err != nil {
		return err
	}
	if ways == nil {
		return errors.New("the members must be a list")
	}
	*m, err = readMembers(ways)
	return err
}

// decodeTree reads them from a configuration's text.
func (m *Members) decodeTree(n *node) *Error {
	if n.kind != kindArray {
		return n.fail("must be a list, not %s", n.kind)
	}
	var ways []Via
	if err := decodeSlice(n, reflect.ValueOf(&ways).Elem()); err != nil {
		return err
	}
	var err error
	if *m, err = readMembers(ways); err != nil {
		return n.fail("%v", err)
	}
	return nil
}

// sorted are the members in the order that does not depend on how they were listed.
func (m Members) sorted(n Network) Members {
	ways := m.Ways()
	for i, way := range ways {
		if way.Port == "" {
			ways[i] = way.filled(n)
		}
	}
	slices.SortFunc(ways, func(a, b Via) int { return bytes.Compare([]byte(MakeMembers(a)), []byte(MakeMembers(b))) })
	return MakeMembers(ways...)
}

// Ways are those that a packet may have in the end: the members, or the way itself.
func (v Via) Ways() []Via {
	if v.ECMP == "" {
		return []Via{v}
	}
	return v.ECMP.Ways()
}

// isBare tells whether packets may leave without encapsulation.
func (v Via) isBare() bool {
	return slices.ContainsFunc(v.Ways(), func(v Via) bool { return v.Encapsulation == NoEncapsulation })
}
