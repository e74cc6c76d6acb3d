package testbed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Daemon is a process that a path needs on a node. It is started once the node's
// links stand, after the daemons before it in the graph. In its texts, files too, {dir} stands
// for the daemon's own folder, and {dir:NAME} for that of another one of its node.
type Daemon struct {
	Name        string            `json:"name"`
	Node        string            `json:"node"`
	Drawn       string            `json:"drawn,omitempty"`   // its name in drawings; a program that carries no packets has none
	Needs       []string          `json:"needs,omitempty"`   // features of the kernel that it cannot do without
	Program     string            `json:"program,omitempty"` // found beside the agent's own binary, then on PATH; empty: Before is all there is
	Args        []string          `json:"args,omitempty"`
	Environment []string          `json:"environment,omitempty"` // NAME=value, beside the agent's own
	Files       map[string]string `json:"files,omitempty"`       // written into {dir} first, by name
	Before      []Command         `json:"before,omitempty"`      // run to their end, in turn, before it starts
	Up          Up                `json:"up,omitzero"`
	After       []Command         `json:"after,omitempty"` // run to their end, in turn, once it is up
	Polls       bool              `json:"polls,omitempty"` // it never sleeps: it is stopped while other cells are measured
	Ends        string            `json:"ends,omitempty"`  // how it is asked to end: Ends*
	// Alone says that it is the first process of process and mount namespaces of its own: what it
	// starts and mounts ends with it, however it ends. In its sockets {root} stands for its root folder as
	// others see it, so that the paths of those are short, however long the folder's is.
	Alone  bool   `json:"alone,omitempty"`
	Probe  string `json:"probe,omitempty"`  // who reads its counters: vrouter, openvswitch
	Socket string `json:"socket,omitempty"` // where
}

// Command is a program that runs to its end in the stack and folder of a daemon, with
// its environment. It has failed if its status is not 0.
type Command struct {
	Program string   `json:"program"`
	Args    []string `json:"args"`
}

// Up is how a daemon is known to be up. The zero Up is our own programs' way: the first
// line that it prints is JSON with "ready": true.
type Up struct {
	Socket string `json:"socket,omitempty"` // this Unix socket takes connections
	Says   string `json:"says,omitempty"`   // this text is in what it prints
}

// How a daemon is asked to end.
const (
	EndsWithInput = ""     // its standard input ends
	EndsBySignal  = "term" // it is sent SIGTERM
	EndsByKill    = "kill" // it is killed: nothing that it keeps is wanted
)

func (d Daemon) clone() Daemon {
	commands := func(all []Command) []Command {
		return each(all, func(c *Command) { c.Args = slices.Clone(c.Args) })
	}
	d.Needs, d.Args, d.Environment = slices.Clone(d.Needs), slices.Clone(d.Args), slices.Clone(d.Environment)
	d.Files, d.Before, d.After = maps.Clone(d.Files), commands(d.Before), commands(d.After)
	return d
}

func (c *checker) daemon(d Daemon) {
	c.once(KindDaemon, d.Name)
	c.onNode(KindDaemon, d.Name, d.Node)
	if d.Program == "" && (len(d.Before) == 0 || len(d.Args)+len(d.After) > 0 || d.Up != (Up{}) || d.Socket != "") {
		c.fault("daemon %s has no program, and is more than commands that run before one", d.Name)
	}
	for _, command := range slices.Concat(d.Before, d.After) {
		if command.Program == "" {
			c.fault("a command of daemon %s has no program", d.Name)
		}
	}
	for _, variable := range d.Environment {
		if name, _, set := strings.Cut(variable, "="); !set || name == "" {
			c.fault("daemon %s: %q is not a variable of an environment, like NAME=value", d.Name, variable)
		}
	}
	if d.Up.Socket != "" && d.Up.Says != "" {
		c.fault("daemon %s is up by a socket and by what it says: name one of them", d.Name)
	}
	if d.Alone && d.Program == "" {
		c.fault("daemon %s has no program that could be alone", d.Name)
	}
	if d.Ends != EndsWithInput && d.Ends != EndsBySignal && d.Ends != EndsByKill {
		c.fault("daemon %s ends by %q, which is unknown; use %q or %q, or nothing for the end of its input", d.Name, d.Ends, EndsBySignal, EndsByKill)
	}
	for name := range d.Files {
		if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
			c.fault("daemon %s: %q is not a file's name in its folder", d.Name, name)
		}
	}
}

// Configuration writes every program that the graph's daemons run, with its arguments,
// settings and files, as a person would type them: what a peer was configured with.
func Configuration(g Graph) string {
	var b strings.Builder
	for _, d := range g.Daemons {
		fmt.Fprintf(&b, "%s, on node %s:\n", d.Name, d.Node)
		for _, variable := range d.Environment {
			fmt.Fprintf(&b, "  %s\n", variable)
		}
		for _, command := range d.Before {
			fmt.Fprintf(&b, "  %s\n", typed(command.Program, command.Args))
		}
		if d.Program != "" {
			fmt.Fprintf(&b, "  %s\n", typed(d.Program, d.Args))
		}
		for _, command := range d.After {
			fmt.Fprintf(&b, "  %s\n", typed(command.Program, command.Args))
		}
		for _, name := range slices.Sorted(maps.Keys(d.Files)) {
			fmt.Fprintf(&b, "  {dir}/%s:\n", name)
			for line := range strings.Lines(strings.TrimRight(d.Files[name], "\n") + "\n") {
				b.WriteString("    " + line)
			}
		}
	}
	for _, e := range g.Engines {
		fmt.Fprintf(&b, "containers of the engine on node %s:\n", e.Node)
		for _, line := range e.lines() {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	for _, v := range g.VMs {
		fmt.Fprintf(&b, "virtual machine %s, on node %s:\n", v.Name, v.Node)
		for _, line := range v.lines(g) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}

// line is what it runs, on one line.
func (d Daemon) line() string {
	if d.Program != "" {
		return strings.TrimSpace(d.Program + " " + strings.Join(d.Args, " "))
	}
	var commands []string
	for _, command := range d.Before {
		commands = append(commands, command.Program+" "+strings.Join(command.Args, " "))
	}
	return strings.Join(commands, "; ")
}

// typed is a command as a shell takes it: what a shell would read otherwise is quoted.
func typed(program string, args []string) string {
	line := program
	for _, arg := range args {
		if arg == "" || strings.ContainsAny(arg, " \t\n'\"\\$&|;<>()*?[]#~`!") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		line += " " + arg
	}
	return line
}
