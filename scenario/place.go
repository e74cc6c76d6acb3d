package scenario

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"windtunnel/result"
)

// placeForms are the short forms of places that run already, as messages list them.
const placeForms = "here, netns:NAME, pid:NUMBER, docker:NAME, podman:NAME, lxc:NAME, pod:NAMESPACE/NAME[/CONTAINER], ssh://[USER@]HOST[:PORT][?data=IP], exec:COMMAND"

// here enters the place in which we are: env(1) runs a command as it is.
const here = "env"

// Here tells whether a place is the one that the conductor itself is in.
func (n Node) Here() bool { return len(n.Exec) == 1 && n.Exec[0] == here }

// ParsePlace reads the short form of a place that runs already into Exec and Address of a Node.
func ParsePlace(text string) (Node, error) {
	kind, name, _ := strings.Cut(text, ":")
	if text == "here" {
		return Node{Exec: []string{here}}, nil
	}
	switch kind {
	case "ssh":
		return sshPlace(text)
	case "exec":
		words := strings.Fields(name)
		if len(words) == 0 || len(words) > maxExec {
			return Node{}, fmt.Errorf("`%s` names no command; write exec:COMMAND, its words (at most %d) parted by spaces", result.Clip(text), maxExec)
		}
		return Node{Exec: words}, nil
	case "pod":
		return podPlace(text, name)
	}
	if name != "" && !isTarget(name) {
		return Node{}, fmt.Errorf("`%s`: the name holds a blank or a slash, or begins with a dash", result.Clip(text))
	}
	exec := map[string][]string{
		"netns":  {"nsenter", "--net=/run/netns/" + name},
		"pid":    {"nsenter", "--target", name, "--net"},
		"docker": {"docker", "exec", "-i", name},
		"podman": {"podman", "exec", "-i", name},
		"lxc":    {"lxc", "exec", "-T", name, "--"},
	}[kind]
	if exec == nil || name == "" {
		return Node{}, fmt.Errorf("`%s` is no place; places are %s", result.Clip(text), placeForms)
	}
	if _, err := strconv.ParseUint(name, 10, 31); kind == "pid" && err != nil {
		return Node{}, fmt.Errorf("`%s`: %q is no process id", result.Clip(text), name)
	}
	return Node{Exec: exec}, nil
}

// isTarget tells whether a word is a name that no command takes for a flag or a path.
func isTarget(name string) bool {
	return name != "" && name != "." && name != ".." && name[0] != '-' && !strings.ContainsAny(name, "/ \t\n")
}

func podPlace(text, name string) (Node, error) {
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if !isTarget(part) || len(parts) < 2 || len(parts) > 3 {
			return Node{}, fmt.Errorf("`%s` is no pod; write pod:NAMESPACE/NAME or pod:NAMESPACE/NAME/CONTAINER", result.Clip(text))
		}
	}
	exec := []string{"kubectl", "exec", "-i", "-n", parts[0], parts[1]}
	if len(parts) == 3 {
		exec = append(exec, "-c", parts[2])
	}
	return Node{Exec: append(exec, "--")}, nil
}

// sshPlace is entered by the system's ssh, with the user's own configuration and keys, which asks nothing.
func sshPlace(text string) (Node, error) {
	u, err := url.Parse(text)
	if err != nil || !isTarget(u.Hostname()) || u.Path != "" || u.Fragment != "" {
		return Node{}, fmt.Errorf("`%s` is no host; write ssh://[USER@]HOST[:PORT][?data=IP]", result.Clip(text))
	}
	place := Node{Exec: []string{"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"}}
	if port := u.Port(); port != "" {
		place.Exec = append(place.Exec, "-p", port)
	}
	if u.User != nil {
		if _, secret := u.User.Password(); secret || !isTarget(u.User.Username()) {
			return Node{}, fmt.Errorf("`%s`: a user is a name alone; ssh finds keys by itself and takes no password here", result.Clip(u.Redacted()))
		}
		place.Exec = append(place.Exec, "-l", u.User.Username())
	}
	place.Exec = append(place.Exec, "--", u.Hostname())
	for key, values := range u.Query() {
		if key != "data" || len(values) != 1 {
			return Node{}, fmt.Errorf("`%s`: %q is unknown; ssh:// takes ?data=IP", result.Clip(text), key)
		}
		if place.Address, err = parseAddress(values[0]); err != nil {
			return Node{}, err
		}
	}
	return place, nil
}
