package testbed

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"windtunnel/result"
)

// Draw returns the graph's topology in ASCII, in the manner of the source
// documents: a box for each node, with its stack, its switch and its containers,
// and the network interfaces on the nodes' edges with the wire between them.
func Draw(g Graph) string {
	if len(g.Nodes) == 0 {
		return ""
	}
	var sketches []sketch
	width, height, between := 0, 0, ""
	if wire, ok := findWire(g); ok && len(g.Nodes) <= 2 {
		between = wire.Kind
	}
	for _, n := range g.Nodes {
		sketches = append(sketches, sketchNode(g, n))
	}
	if far, ok := farEnd(g); ok {
		sketches, between = append(sketches, sketchFar(far)), far.Tunnel.Encapsulation
	}
	for _, s := range sketches {
		width, height = max(width, s.width()), max(height, s.height())
	}
	if len(sketches) > 2 {
		return drawRows(sketches, width, height) + meshLines(g)
	}
	page := &canvas{}
	for i, s := range sketches {
		left := i * (width + 2*nicOutside + wireLength)
		s.draw(pen{on: page, left: left, width: width, mirror: i%2 == 1}, height)
	}
	if between != "" {
		drawWire(page, between, width+nicOutside)
	}
	return page.String()
}

// drawRows draws nodes that no wire joins on the page, as many in a row as it is wide.
func drawRows(sketches []sketch, width, height int) string {
	var text strings.Builder
	for row := range slices.Chunk(sketches, max(1, (pageWidth+nodeGap)/(width+nodeGap))) {
		page := &canvas{}
		for i, s := range row {
			s.draw(pen{on: page, left: i * (width + nodeGap), width: width}, height)
		}
		text.WriteString(page.String())
	}
	return text.String()
}

// meshLines lists the wires of a mesh.
func meshLines(g Graph) string {
	var text strings.Builder
	for _, l := range g.Links {
		if l.Role != result.RoleWire {
			continue
		}
		ends := make([]string, len(l.Ends))
		for i, end := range l.Ends {
			ends[i] = strings.TrimSpace(end.Place + " " + end.Device + " " + strings.Join(addressLines(end), ", "))
		}
		fmt.Fprintf(&text, "%s wire: %s\n", l.Kind, strings.Join(ends[:], "  ----  "))
	}
	return text.String()
}

// Measures of the drawing, in characters.
const (
	margin     = 3 // between a node's edge and what is in it
	nicInside  = 4 // of an interface's box, the part within its node
	nicOutside = 9 // and the part outside
	nicWidth   = nicInside + nicOutside
	wireLength = 8
	lead       = 3  // from a switch or stack to the interface
	top        = 3  // the row where switches and interfaces begin
	longest    = 11 // a container's name: what an IPv4 address mostly takes
	pageWidth  = 104
	nodeGap    = 2 // between nodes that no wire joins on the page
)

// sketch is what is drawn of a node.
type sketch struct {
	title string
	core  []string   // the switch, or the stack where there is none
	below [][]string // what hangs on the switch
	nic   []string   // empty: no wire
	stack bool       // core is the node's own stack, an endpoint
}

func sketchNode(g Graph, n Node) sketch {
	if len(n.Exec) > 0 {
		return sketch{title: "PLACE " + n.Name, core: append([]string{"runs already:"}, wrapped(n.Exec)...), stack: true}
	}
	if len(g.Nodes) > 2 {
		g.Links = slices.DeleteFunc(slices.Clone(g.Links), func(l Link) bool { return l.Role == result.RoleWire }) // listed below
	}
	s := sketch{title: "NODE " + n.Name, nic: nicLines(g, n.Name), core: switchLines(g, n.Name)}
	if len(n.CPUs) > 0 {
		s.title += " (CPU " + ranges(n.CPUs) + ")"
	}
	if len(s.core) == 0 {
		s.core, s.stack = stackLines(g, n.Name), true
		return s
	}
	var containers int
	if s.below, containers = containerBoxes(g, n.Name); containers < 2 {
		s.below = append([][]string{{" OS "}}, s.below...)
	}
	return s
}

// entryWidth is how wide the command is drawn by which a place is entered, in characters, and entryLines in how many lines.
const entryWidth, entryLines = 28, 4

// wrapped breaks a command's words into lines. What does not fit is cut.
func wrapped(words []string) []string {
	var lines []string
	line := ""
	for _, word := range words {
		if runes := []rune(word); len(runes) > entryWidth {
			word = string(runes[:entryWidth-1]) + "~"
		}
		if line != "" && len([]rune(line))+1+len([]rune(word)) > entryWidth {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	if lines = append(lines, line); len(lines) > entryLines {
		lines = append(lines[:entryLines-1], "~")
	}
	return lines
}

// switchLines names what moves packets between a node's containers and its wire.
func switchLines(g Graph, node string) []string {
	var lines []string
	add := func(line string) {
		if len(lines) > 0 {
			lines = append(lines, "+")
		}
		lines = append(lines, line)
	}
	for _, b := range g.Bridges {
		if b.Node == node {
			add("BRIDGE")
		}
	}
	for _, b := range g.Bonds {
		if b.Node == node {
			add("BOND")
		}
	}
	for _, v := range g.VXLANs {
		if v.Node == node {
			add(fmt.Sprintf("VXLAN %d", v.VNI))
		}
	}
	for _, d := range g.Daemons {
		if d.Node == node && d.Drawn != "" {
			add(d.Drawn)
		}
	}
	for _, e := range g.Engines {
		for _, c := range e.Containers {
			if e.Node == node && c.OwnStack() {
				add("DOCKER")
				add(c.Network)
				break
			}
		}
	}
	if slices.ContainsFunc(g.VMs, func(v VM) bool {
		_, tap := g.Attached(v.NICs[0])
		return v.Node == node && len(tap.Addresses) > 0
	}) {
		add("HOST-ONLY")
	}
	if i := slices.IndexFunc(g.VMs, func(v VM) bool { return v.Node == node && v.NICs[0].User != nil }); i >= 0 {
		add("USER-MODE NAT")
		if by := g.VMs[i].NICs[0].User.By; by != UserByQEMU {
			add(by)
		}
	}
	return lines
}

// stackLines are a node's own stack where nothing switches, and the containers in it.
func stackLines(g Graph, node string) []string {
	lines := []string{"OS", "STACK"}
	for _, e := range g.Engines {
		for _, c := range e.Containers {
			if e.Node == node && !c.OwnStack() {
				lines = append(lines, shorten(c.Name))
			}
		}
	}
	return lines
}

// box is an engine's container: its address, or where the engine takes one from, and its ports.
func (c EngineContainer) box() []string {
	lines := []string{shorten(c.Name)}
	if c.Address != "" {
		lines = append(lines, c.Address)
	}
	for _, port := range c.Publish {
		lines = append(lines, fmt.Sprintf("port %d", port))
	}
	return lines
}

// containerBoxes has a box for each container, or one for all where there are
// many, and their number.
func containerBoxes(g Graph, node string) ([][]string, int) {
	var boxes [][]string
	for _, c := range g.Containers {
		if far, ok := farEnd(g); c.Node != node || ok && far.Place == c.Name {
			continue
		}
		lines := []string{shorten(c.Name)}
		for _, i := range g.Interfaces() {
			if i.Place == c.Name {
				lines = append(lines, addressLines(i)...)
			}
		}
		for _, p := range g.Ports {
			if p.Place == c.Name && p.Device == "" { // else it is among the interfaces
				lines = append(lines, p.lines()...)
			}
		}
		boxes = append(boxes, lines)
	}
	for _, e := range g.Engines {
		for _, c := range e.Containers {
			if e.Node == node && c.OwnStack() {
				boxes = append(boxes, c.box())
			}
		}
	}
	for _, v := range g.VMs {
		if v.Node == node {
			boxes = append(boxes, v.box(g))
		}
	}
	if len(boxes) <= 2 {
		return boxes, len(boxes)
	}
	all := []string{fmt.Sprintf("%d %s", len(boxes), endpointsOn(g, node))}
	for _, box := range boxes {
		all = append(all, strings.Join(box[:min(2, len(box))], " "))
	}
	return [][]string{all}, len(boxes)
}

// endpointsOn says what a node's boxes are.
func endpointsOn(g Graph, node string) string {
	part := g.Part(node)
	switch {
	case len(part.VMs) == 0:
		return "containers"
	case len(part.Containers)+len(part.Engines) == 0:
		return "VMs"
	}
	return "endpoints"
}

// box is a VM: what it is, and its interfaces' addresses.
func (v VM) box(g Graph) []string {
	lines := []string{shorten(v.Name), fmt.Sprintf("VM, %d CPU", v.CPUs)}
	for _, n := range v.NICs {
		inside, _ := g.Attached(n)
		lines = append(lines, addressLines(inside)...)
	}
	if v.Container != nil {
		lines = append(lines, "container", v.Container.Address)
	}
	return lines
}

// ranges writes CPUs as people do: 0-3,8.
func ranges(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		last := i
		for last+1 < len(cpus) && cpus[last+1] == cpus[last]+1 {
			last++
		}
		if last > i {
			parts = append(parts, fmt.Sprintf("%d-%d", cpus[i], cpus[last]))
		} else {
			parts = append(parts, fmt.Sprint(cpus[i]))
		}
		i = last + 1
	}
	return strings.Join(parts, ",")
}

func shorten(name string) string {
	if runes := []rune(name); len(runes) > longest {
		return string(runes[:longest-1]) + "~"
	}
	return name
}

// addressLines are an interface's addresses and its MTU.
func addressLines(i Interface) []string {
	var lines []string
	for _, a := range i.Addresses {
		if prefix, err := netip.ParsePrefix(a); err == nil {
			lines = append(lines, prefix.Addr().String())
		}
	}
	return append(lines, fmt.Sprintf("mtu %d", i.MTU))
}

func findWire(g Graph) (Link, bool) {
	for _, l := range g.Links {
		if l.Role == result.RoleWire {
			return l, true
		}
	}
	return Link{}, false
}

func nicLines(g Graph, node string) []string {
	if far, ok := farEnd(g); ok && g.NodeOf(far.Place) == node {
		return []string{"fabric", far.Tunnel.To}
	}
	wire, _ := findWire(g)
	for _, end := range wire.Ends {
		if end.Place == node {
			return append([]string{end.Device}, addressLines(end)...)
		}
	}
	return nil
}

func drawWire(page *canvas, kind string, left int) {
	p := pen{on: page, left: left, width: wireLength}
	p.across(-1, wireLength, top+1)
	p.text((wireLength-len(kind))/2, top+2, kind)
}

// farEnd is the port at the far end of a data plane's fabric, if a tester stands there.
func farEnd(g Graph) (Port, bool) {
	for _, p := range g.Ports {
		if p.Tunnel != nil {
			return p, true
		}
	}
	return Port{}, false
}

// sketchFar is drawn in the place of another node.
func sketchFar(p Port) sketch {
	return sketch{title: "FAR END", core: append([]string{shorten(p.Place)}, p.lines()...), nic: []string{"tester", p.Tunnel.From}, stack: true}
}

func (p Port) lines() []string {
	return addressLines(Interface{Addresses: []string{p.Address}, MTU: p.MTU})
}

// boxWidth is that of a box with these lines.
func boxWidth(lines []string) int {
	widest := 0
	for _, line := range lines {
		widest = max(widest, len([]rune(line)))
	}
	return widest + 2
}

// belowWidth is that of everything that hangs on the switch.
func (s sketch) belowWidth() int {
	width := -1
	for _, box := range s.below {
		width += boxWidth(box) + 1
	}
	return max(width, 0)
}

func (s sketch) coreWidth() int { return max(boxWidth(s.core)+4, s.belowWidth()) }

func (s sketch) width() int {
	width := margin + s.coreWidth() + margin
	if len(s.nic) > 0 {
		width = margin + s.coreWidth() + lead + nicInside
	}
	return max(width, len(s.title)+4)
}

func (s sketch) coreHeight() int { return max(len(s.core), 2) + 2 }

// belowTop is the row of what hangs on the switch: clear of the interface's box.
func (s sketch) belowTop() int { return top + max(s.coreHeight()+2, len(s.nic)+3) }

func (s sketch) height() int {
	if len(s.below) == 0 {
		return top + max(s.coreHeight(), len(s.nic)+2) + 2
	}
	tallest := 0
	for _, box := range s.below {
		tallest = max(tallest, len(box)+2)
	}
	return s.belowTop() + tallest + 2
}

func (s sketch) draw(p pen, height int) {
	p.box(0, 0, p.width, height, nil)
	p.text((p.width-len(s.title))/2, 1, s.title)
	p.box(margin, top, s.coreWidth(), s.coreHeight(), s.core)
	if len(s.nic) > 0 {
		s.drawNIC(p)
	}
	x, y := margin, s.belowTop()
	for _, box := range s.below {
		width := boxWidth(box)
		p.box(x, y, width, len(box)+2, box)
		p.down(x+width/2, top+s.coreHeight()-1, y)
		x += width + 1
	}
}

// drawNIC draws the interface's box across the node's edge, and what leads to it:
// two lines, as the source draws them, from a stack that is an endpoint.
func (s sketch) drawNIC(p pen) {
	left := p.width - nicInside
	p.box(left, top, nicWidth, len(s.nic)+2, s.nic)
	p.put(p.width-1, top, '+')
	p.put(p.width-1, top+len(s.nic)+1, '+')
	right := margin + s.coreWidth() - 1
	p.across(right, left, top+1)
	if s.stack {
		p.across(right, left, top+2)
	}
}
