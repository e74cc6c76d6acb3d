// Package ssh reaches nodes on other hosts by the system's ssh, with the user's own configuration and
// keys: it says what a host is, brings programs there and makes the command that starts one of them.
package ssh

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Host is a node's host, as the user named it: ssh://[USER@]HOST[:PORT][?data=ADDRESS[+ADDRESS...]&dir=FOLDER&engine=SOCKET].
type Host struct {
	Node string
	User string // "": as ssh's configuration says
	Name string // a name of ssh's configuration, or of the network, or an address
	Port int    // 0: as ssh's configuration says
	// Data are its own addresses in the networks for data: the first is all cells', each further one that of another interface, for those
	// whose nodes are joined by several links.
	Data []netip.Addr
	Dir  string // the folder under which programs are brought there
	// Engine is the socket of its container engine; "": where engines usually listen.
	Engine string
}

// defaultDir is on a disk, unlike /tmp and /run of many hosts, and programs may be started there.
const defaultDir = "/var/cache/windtunnel"

// The shapes of what goes into command lines: a name that begins with a dash would be an option of
// ssh's, and a folder is named in a shell's line.
var (
	nodeShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,14}$`)
	nameShape = regexp.MustCompile(`^[A-Za-z0-9_:][A-Za-z0-9_.:%-]{0,254}$`)
	dirShape  = regexp.MustCompile(`^/[A-Za-z0-9_./-]{1,200}$`)
)

const shape = "NODE=ssh://[USER@]HOST[:PORT][?data=ADDRESS], as in a=ssh://root@h1?data=10.0.0.1,b=ssh://root@h2?data=10.0.0.2"

// maxHosts bounds the list, and maxData a host's addresses: as many as a team has members.
const (
	maxHosts = 16
	maxData  = 8
)

// Parse reads the hosts of a list, with commas between them.
func Parse(text string) ([]Host, error) {
	var hosts []Host
	for word := range strings.SplitSeq(text, ",") {
		h, err := parseHost(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		for _, other := range hosts {
			if other.Node == h.Node {
				return nil, fmt.Errorf("the node %s is named twice", h.Node)
			}
		}
		if hosts = append(hosts, h); len(hosts) > maxHosts {
			return nil, fmt.Errorf("more than %d nodes", maxHosts)
		}
	}
	return hosts, nil
}

func parseHost(word string) (Host, error) {
	h := Host{Dir: defaultDir}
	node, address, _ := strings.Cut(word, "=")
	u, err := url.Parse(address)
	if err != nil || !nodeShape.MatchString(node) || u.Scheme != "ssh" || u.Path != "" && u.Path != "/" || u.Opaque != "" {
		return h, fmt.Errorf("%q is no node on a host: write %s", word, shape)
	}
	h.Node, h.Name, h.User = node, u.Hostname(), u.User.Username()
	if _, secret := u.User.Password(); secret {
		return h, fmt.Errorf("node %s: a password on a command line is everybody's to read: use a key, which ssh finds by itself", node)
	}
	if !nameShape.MatchString(h.Name) || h.User != "" && !nameShape.MatchString(h.User) {
		return h, fmt.Errorf("node %s: %q is no host's name or address: write %s", node, u.Host, shape)
	}
	if text := u.Port(); text != "" {
		if h.Port, err = strconv.Atoi(text); err != nil || h.Port < 1 || h.Port > 65535 {
			return h, fmt.Errorf("node %s: %q is no port", node, text)
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return h, fmt.Errorf("node %s: reading %q: %w", node, u.RawQuery, err)
	}
	for key, values := range query {
		value := values[len(values)-1]
		if key == "data" {
			value = strings.Join(values, " ")
		}
		if err := h.set(key, value); err != nil {
			return h, fmt.Errorf("node %s: %w", node, err)
		}
	}
	return h, nil
}

func (h *Host) set(key, value string) (err error) {
	switch key {
	case "data":
		h.Data, err = dataAddresses(value)
		return err
	case "dir":
		if h.Dir = path.Clean(value); !dirShape.MatchString(value) || strings.Contains(value, "..") {
			return fmt.Errorf("dir=%s is no folder: name one with its whole path, of letters, digits and -_./", value)
		}
	case "engine":
		if h.Engine = path.Clean(value); !dirShape.MatchString(value) || strings.Contains(value, "..") {
			return fmt.Errorf("engine=%s is no socket: name the one of a container engine with its whole path, like engine=/run/podman/podman.sock", value)
		}
	default:
		return fmt.Errorf("there is no %s= (there are data=, dir= and engine=)", key)
	}
	return nil
}

// dataAddresses reads a host's addresses, with blanks between them, which a plus sign in a query is (application/x-www-form-urlencoded in
// the URL standard, section 5.1).
func dataAddresses(text string) (all []netip.Addr, err error) {
	for _, word := range strings.Split(text, " ") {
		address, err := netip.ParseAddr(word)
		if err != nil || !address.Is4() {
			return nil, fmt.Errorf("data=%s: %q is no IPv4 address: name the host's own in the network for data, like data=10.0.0.2, or one of each interface, for a team of links, like data=10.0.0.2+10.1.0.2",
				strings.ReplaceAll(text, " ", "+"), word)
		}
		if slices.Contains(all, address) {
			return nil, fmt.Errorf("data=%s names %s twice: name one address of each interface", strings.ReplaceAll(text, " ", "+"), address)
		}
		if all = append(all, address); len(all) > maxData {
			return nil, fmt.Errorf("data= names more than %d addresses", maxData)
		}
	}
	return all, nil
}

// String is the host as messages name it.
func (h Host) String() string {
	if h.User != "" {
		return h.User + "@" + h.Name
	}
	return h.Name
}

// How long ssh may take to connect, in seconds, and to find that nobody answers any more.
const (
	connectSeconds = 8
	silenceSeconds = 2
	silences       = 3
)

// Login is a command of ssh's up to the host's name: what follows is run there.
type Login []string

// Login reaches the host. Nobody is asked for passwords, and nothing but the streams of what is run there is carried. All else is the
// user's own configuration's.
func (h Host) Login() Login {
	command := Login{"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=" + strconv.Itoa(connectSeconds), "-o", "ConnectionAttempts=1",
		"-o", "ServerAliveInterval=" + strconv.Itoa(silenceSeconds), "-o", "ServerAliveCountMax=" + strconv.Itoa(silences),
		"-o", "ClearAllForwardings=yes", "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "EscapeChar=none", "-o", "LogLevel=ERROR"}
	if h.User != "" {
		command = append(command, "-l", h.User)
	}
	if h.Port != 0 {
		command = append(command, "-p", strconv.Itoa(h.Port))
	}
	return append(command, "--", h.Name)
}

// Command is the command line that runs a line of a shell on the host.
func (h Host) Command(line string) []string { return append(h.Login(), shell(line)) }

// shell has a line read by sh, whatever the user's own shell is there.
func shell(line string) string { return "sh -c " + Quote(line) }

// Quote makes one word of a shell's line out of a text.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
