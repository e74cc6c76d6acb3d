package report

// rowChart has one row a thing: what it is at the left, marks on an axis that all rows share, and figures at the right.
type rowChart struct {
	*drawing
	scale
	first float64 // the first row's middle
}

// chartRow is what stands beside a row's marks.
type chartRow struct {
	name   string
	says   string // in small type under the name; may be empty
	figure string
}

// legendKey explains a mark. Mark draws it around a point.
type legendKey struct {
	says string
	mark func(d *drawing, x, y float64)
}

// The measures of row charts.
const (
	chartWidth  = 700.0
	rowStep     = 38.0
	chartMargin = 10.0
	legendStep  = 20.0
	axisRoom    = 40.0
)

// newRowChart draws all but the marks. The scale's places are set to the room that names and figures leave.
func newRowChart(rows []chartRow, s scale, unit string, legend ...legendKey) rowChart {
	var names, says, figures []string
	for _, r := range rows {
		names, says, figures = append(names, r.name), append(says, r.says), append(figures, r.figure)
	}
	left := max(widestText(names, textSize, 190), widestText(says, smallSize, 190)) + chartMargin
	right := widestText(figures, textSize, 200) + chartMargin
	c := rowChart{scale: s.between(left+16, chartWidth-right-14)}
	d := newDrawing(chartWidth, 0)
	top := d.legend(legend)
	bottom := top + rowStep*float64(len(rows))
	d.height = bottom + axisRoom
	d.xAxis(c.scale, top, bottom, unit)
	c.drawing, c.first = d, top+rowStep/2
	for i, r := range rows {
		c.beside(i, r, left)
	}
	return c
}

func (c rowChart) beside(i int, r chartRow, left float64) {
	y := c.y(i)
	if r.says == "" {
		c.label("strong", fromHere, chartMargin, y+4, left, r.name)
	} else {
		c.label("strong", fromHere, chartMargin, y-2, left, r.name)
		c.label("small faint", fromHere, chartMargin, y+12, left, r.says)
	}
	c.label("", upToHere, chartWidth-chartMargin, y+4, 200, r.figure)
}

// y is the middle of a row.
func (c rowChart) y(row int) float64 { return c.first + rowStep*float64(row) }

// bar is a bar between two values, height high. Bars that go on from each other are a stack.
func (c rowChart) bar(class string, row int, from, to, height float64) {
	c.rect(class, c.at(from), c.y(row)-height/2, c.at(to)-c.at(from), height)
}

// interval is a whisker between two bounds; nil ones draw nothing. Where a bound is outside of the scale there is an
// arrow.
func (c rowChart) interval(class string, row int, low, high *float64) {
	if low == nil || high == nil {
		return
	}
	y := c.y(row)
	c.drawing.line(class, c.at(*low), y, c.at(*high), y)
	c.end(class, y, *low, -1)
	c.end(class, y, *high, 1)
}

func (c rowChart) end(class string, y, bound, way float64) {
	x := c.at(bound)
	if c.holds(bound) {
		c.drawing.line(class, x, y-5, x, y+5)
		return
	}
	c.drawing.line(class, x, y, x-way*6, y-5)
	c.drawing.line(class, x, y, x-way*6, y+5)
}

// legend draws keys from left to right, in as many lines as they take, and returns what is free below them.
func (d *drawing) legend(keys []legendKey) (below float64) {
	x, y := chartMargin+6, chartMargin+6
	for _, k := range keys {
		width := 18 + textWidth(k.says, smallSize) + 18
		if x > chartMargin+6 && x+width > d.width {
			x, y = chartMargin+6, y+legendStep
		}
		k.mark(d, x+4, y)
		d.label("small", fromHere, x+16, y+4, d.width-x-16, k.says)
		x += width
	}
	if len(keys) == 0 {
		return chartMargin
	}
	return y + legendStep
}
