package report

import (
	_ "embed"
	"math"
	"strconv"
)

// drawing is a picture under way, in CSS pixels of its natural size, from the top left corner. Colours are classes:
// s1 to s8 are series that colour-blind people tell apart, "published" is what a source had; with "fill" a shape has the
// colour inside, with "stroke" along its line.
type drawing struct {
	markup
	width, height float64
}

// pictureStyle are the colours and types of pictures, for light and for dark.
//
//go:embed style/picture.css
var pictureStyle string

func newDrawing(width, height float64) *drawing { return &drawing{width: width, height: height} }

// farthest bounds every coordinate, so that a figure of a hostile file makes no picture of any size.
const farthest = 1e4

// px writes a coordinate; what is no number is 0.
func px(v float64) string {
	if math.IsNaN(v) {
		v = 0
	}
	return strconv.FormatFloat(math.Round(max(-farthest, min(farthest, v))*10)/10, 'f', -1, 64)
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	d.empty("line", "class", class, "x1", px(x1), "y1", px(y1), "x2", px(x2), "y2", px(y2))
}

func (d *drawing) rect(class string, x, y, width, height float64) {
	d.empty("rect", "class", class, "x", px(x), "y", px(y), "width", px(max(0, width)), "height", px(max(0, height)))
}

func (d *drawing) circle(class string, x, y, radius float64) {
	d.empty("circle", "class", class, "cx", px(x), "cy", px(y), "r", px(radius))
}

// point is a place in a drawing.
type point struct{ x, y float64 }

func (d *drawing) polyline(class string, points []point) { d.path("polyline", class, points) }

func (d *drawing) polygon(class string, points ...point) { d.path("polygon", class, points) }

func (d *drawing) path(tag, class string, points []point) {
	var at []byte
	for _, p := range points {
		at = append(at, px(p.x)+","+px(p.y)+" "...)
	}
	d.empty(tag, "class", class, "points", string(at))
}

func (d *drawing) diamond(class string, x, y, r float64) {
	d.polygon(class, point{x, y - r}, point{x + r, y}, point{x, y + r}, point{x - r, y})
}

func (d *drawing) square(class string, x, y, r float64) { d.rect(class, x-r, y-r, 2*r, 2*r) }

func (d *drawing) cross(class string, x, y, r float64) {
	d.line(class, x-r, y-r, x+r, y+r)
	d.line(class, x-r, y+r, x+r, y-r)
}

// Where a text stands to its point.
const (
	fromHere = "start"
	around   = "middle"
	upToHere = "end"
)

// label writes a text whose base line is at y, no wider than room: what is too long is cut, and shows that it was.
// Class small, strong or faint is a look.
func (d *drawing) label(class, anchor string, x, y, room float64, s string) {
	size := textSize
	if hasWord(class, "small") {
		size = smallSize
	}
	cut := fit(s, size, room)
	d.open("text", "class", class, "text-anchor", anchor, "x", px(x), "y", px(y))
	d.text(cut)
	if cut != s {
		d.element("title", s)
	}
	d.close("text")
	d.WriteByte('\n')
}

// tip gives what draw writes a text that a pointer at it shows.
func (d *drawing) tip(says string, draw func()) {
	d.open("g")
	d.element("title", says)
	draw()
	d.close("g")
}

// svg is the picture as an element of a page. The name becomes part of its ids; title and says are read to those who do
// not see it (WAI-ARIA Graphics: role img, named by title and described by desc).
func (d *drawing) svg(name, title, says string) string { return d.whole(name, title, says, false) }

// file is the picture as a file of its own, with its colours and a ground.
func (d *drawing) file(name, title, says string) []byte {
	return []byte(d.whole(name, title, says, true) + "\n")
}

func (d *drawing) whole(name, title, says string, alone bool) string {
	var m markup
	attributes := []string{"class", "plot", "role", "img", "aria-labelledby", name + "-title", "aria-describedby", name + "-desc",
		"viewBox", "0 0 " + px(d.width) + " " + px(d.height), "width", px(d.width), "height", px(d.height)}
	if alone {
		attributes = append([]string{"xmlns", "http://www.w3.org/2000/svg"}, attributes...)
	}
	m.open("svg", attributes...)
	m.element("title", title, "id", name+"-title")
	m.element("desc", says, "id", name+"-desc")
	if alone {
		m.WriteString("<style>" + pictureStyle + "</style>")
		m.empty("rect", "class", "ground", "width", px(d.width), "height", px(d.height))
	}
	m.Write(d.Bytes())
	m.close("svg")
	return m.String()
}
