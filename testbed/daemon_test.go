package testbed

import "testing"

// A peer's configuration reads as a person would type it.
func TestConfiguration(t *testing.T) {
	g := Graph{Daemons: []Daemon{{
		Name: "db", Node: "a", Program: "ovsdb-server", Args: []string{"{dir}/db"}, Environment: []string{"OVS_RUNDIR={dir}"},
		Before: []Command{{"ovsdb-tool", []string{"create", "{dir}/db"}}},
		After:  []Command{{"say", []string{"it's", "", "a b"}}},
		Files:  map[string]string{"y": "1\n2\n", "x": "3"},
	}, {Name: "switch", Node: "b", Program: "switch"}, {Name: "rules", Node: "b", Before: []Command{{"tc", []string{"add"}}}}}}
	want := `db, on node a:
  OVS_RUNDIR={dir}
  ovsdb-tool create {dir}/db
  ovsdb-server {dir}/db
  say 'it'\''s' '' 'a b'
  {dir}/x:
    3
  {dir}/y:
    1
    2
switch, on node b:
  switch
rules, on node b:
  tc add
`
	if got := Configuration(g); got != want {
		t.Errorf("got\n%s\nnot\n%s", got, want)
	}
}
