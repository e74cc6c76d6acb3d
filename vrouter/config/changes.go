package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Section is what changes in one list of records. Its lists have the first ListedChanges of them.
type Section struct {
	Added   []Entry      `json:"added"`
	Removed []Entry      `json:"removed"`
	Changed []Difference `json:"changed"`
	Counts  Counts       `json:"counts"`
}

// ListedChanges is how many of each kind of change a section lists: routes may be millions.
const ListedChanges = 1000

// Counts are of records, all of them.
type Counts struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
	Same    int `json:"same"`
}

// Entry is a record, by what names it. Fields are in the record's order.
type Entry struct {
	Key    string  `json:"key"`
	Fields []Field `json:"fields"`
}

// Field is one value of a record; those inside another have a name such as via.tunnel.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Difference is a record of which some fields change.
type Difference struct {
	Key    string        `json:"key"`
	Fields []FieldChange `json:"fields"`
}

// FieldChange is a field's value before and after; none is "".
type FieldChange struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Empty tells that nothing changes.
func (s Section) Empty() bool { return s.Counts.Added+s.Counts.Removed+s.Counts.Changed == 0 }

func newSection() Section {
	return Section{Added: []Entry{}, Removed: []Entry{}, Changed: []Difference{}}
}

// Compare finds what leads from one list to another. Key names a record, uniquely in its list; the
// fields are those that the record's JSON has, but for those that the key has told already.
func Compare[R any](previous, next []R, key func(R) string, told ...string) Section {
	s := newSection()
	before := make(map[string]R, len(previous))
	for _, r := range previous {
		before[key(r)] = r
	}
	for _, r := range next {
		name := key(r)
		old, there := before[name]
		delete(before, name)
		if there {
			s.both(name, old, r, told)
		} else {
			s.add(name, r, told)
		}
	}
	for _, r := range previous {
		if _, left := before[key(r)]; left {
			s.remove(key(r), r, told)
		}
	}
	return s
}

func (s *Section) add(key string, record any, told []string) {
	if s.Counts.Added++; len(s.Added) < ListedChanges {
		s.Added = append(s.Added, Entry{key, fieldsOfRecord(record, told)})
	}
}

func (s *Section) remove(key string, record any, told []string) {
	if s.Counts.Removed++; len(s.Removed) < ListedChanges {
		s.Removed = append(s.Removed, Entry{key, fieldsOfRecord(record, told)})
	}
}

// both is for a record that was there and is.
func (s *Section) both(key string, old, new any, told []string) {
	changes := fieldChanges(fieldsOfRecord(old, told), fieldsOfRecord(new, told))
	if len(changes) == 0 {
		s.Counts.Same++
	} else if s.Counts.Changed++; len(s.Changed) < ListedChanges {
		s.Changed = append(s.Changed, Difference{key, changes})
	}
}

func fieldChanges(previous, next []Field) []FieldChange {
	var changes []FieldChange
	value := func(fields []Field, name string) string {
		if i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name }); i >= 0 {
			return fields[i].Value
		}
		return ""
	}
	for _, f := range next {
		if from := value(previous, f.Name); from != f.Value {
			changes = append(changes, FieldChange{f.Name, from, f.Value})
		}
	}
	for _, f := range previous {
		if !slices.ContainsFunc(next, func(n Field) bool { return n.Name == f.Name }) {
			changes = append(changes, FieldChange{f.Name, f.Value, ""})
		}
	}
	return changes
}

func fieldsOfRecord(record any, told []string) []Field {
	fields := flatten("", reflect.ValueOf(record), []Field{})
	return slices.DeleteFunc(fields, func(f Field) bool { return slices.Contains(told, f.Name) })
}

// flatten lists what a record's JSON has, records inside it included.
func flatten(prefix string, v reflect.Value, into []Field) []Field {
	for i := range v.NumField() {
		name, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		value := v.Field(i)
		if value.Kind() == reflect.Pointer && !value.IsNil() && value.Elem().Kind() == reflect.Struct {
			into = append(into, Field{prefix + name, "yes"}) // it may have no fields of its own
			value = value.Elem()
		}
		if name == "" || name == "-" || strings.HasPrefix(option, "omit") && value.IsZero() {
			continue
		}
		if _, isText := value.Interface().(encoding.TextMarshaler); value.Kind() == reflect.Struct && !isText {
			into = flatten(prefix+name+".", value, into)
			continue
		}
		text, err := json.Marshal(value.Interface())
		if err != nil {
			text = []byte(err.Error()) // a configuration was read from JSON, so it can be written
		}
		into = append(into, Field{prefix + name, strings.Trim(string(text), `"`)})
	}
	return into
}

// CompareRoutes finds what leads from one image's routes to other nodes to another's. Both are walked
// in their order, at once: it takes no memory for what is the same.
func CompareRoutes(previous, next Image) Section {
	s := newSection()
	for _, network := range sortedKeys(next.vrfs) {
		s.routes(network, previous.remotesOf(network), next.remotesOf(network))
	}
	for _, network := range sortedKeys(previous.vrfs) {
		if _, kept := next.vrfs[network]; !kept {
			s.routes(network, previous.remotesOf(network), next.remotesOf(network))
		}
	}
	return s
}

var routeTold = []string{"network", "prefix"}

func (s *Section) routes(network string, previous, next *remoteRoutes) {
	defer previous.stop()
	defer next.stop()
	key := func(r Route) string { return fmt.Sprintf("%s %s", network, r.Prefix) }
	old, hasOld := previous.next()
	new, hasNew := next.next()
	for hasOld || hasNew {
		order := 0
		switch {
		case !hasOld:
			order = 1
		case !hasNew:
			order = -1
		default:
			order = comparePrefixes(old.Prefix, new.Prefix)
		}
		switch {
		case order < 0:
			s.remove(key(old), old, routeTold)
		case order > 0:
			s.add(key(new), new, routeTold)
		case old == new:
			s.Counts.Same++
		default:
			s.both(key(new), old, new, routeTold)
		}
		if order <= 0 {
			old, hasOld = previous.next()
		}
		if order >= 0 {
			new, hasNew = next.next()
		}
	}
}
