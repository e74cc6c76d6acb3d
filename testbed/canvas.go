package testbed

import "strings"

// canvas is a page of characters that grows as it is drawn on.
type canvas struct{ rows [][]rune }

func (c *canvas) put(x, y int, char rune) {
	for len(c.rows) <= y {
		c.rows = append(c.rows, nil)
	}
	for len(c.rows[y]) <= x {
		c.rows[y] = append(c.rows[y], ' ')
	}
	c.rows[y][x] = char
}

// String is the page without blanks at its lines' ends.
func (c *canvas) String() string {
	var page strings.Builder
	for _, row := range c.rows {
		page.WriteString(strings.TrimRight(string(row), " "))
		page.WriteByte('\n')
	}
	return page.String()
}

// pen draws on a part of a canvas, from its left edge or, mirrored, from its
// right one. Text is never mirrored.
type pen struct {
	on     *canvas
	left   int // where the part begins
	width  int
	mirror bool
}

func (p pen) put(x, y int, char rune) {
	if p.mirror {
		x = p.width - 1 - x
	}
	p.on.put(p.left+x, y, char)
}

func (p pen) text(x, y int, text string) {
	runes := []rune(text)
	for i, char := range runes {
		if p.mirror {
			p.put(x+len(runes)-1-i, y, char)
		} else {
			p.put(x+i, y, char)
		}
	}
}

func (p pen) across(from, to, y int) {
	for x := from; x <= to; x++ {
		p.put(x, y, '-')
	}
	p.put(from, y, '+')
	p.put(to, y, '+')
}

func (p pen) down(x, from, to int) {
	for y := from; y <= to; y++ {
		p.put(x, y, '|')
	}
	p.put(x, from, '+')
	p.put(x, to, '+')
}

// box draws a frame with lines of text in the middle of what it encloses.
func (p pen) box(x, y, width, height int, lines []string) {
	for row := y + 1; row < y+height-1; row++ {
		for column := x + 1; column < x+width-1; column++ {
			p.put(column, row, ' ')
		}
		p.put(x, row, '|')
		p.put(x+width-1, row, '|')
	}
	p.across(x, x+width-1, y)
	p.across(x, x+width-1, y+height-1)
	top := y + 1 + max(0, (height-2-len(lines))/2)
	for i, line := range lines {
		p.text(x+(width-len([]rune(line)))/2, top+i, line)
	}
}
