package report

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// dash stands where there is no figure; a note says why.
const dash = "-"

func orDash(text string) string {
	if text == "" {
		return dash
	}
	return text
}

func megabits(f result.Figure) string {
	if !f.Known() {
		return dash
	}
	return rate(f.Mean / 1e6)
}

// rate keeps four or five significant digits.
func rate(v float64) string {
	switch {
	case math.Abs(v) >= 10_000:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.1f", v)
	case math.Abs(v) >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// spread is the half-width of the figure's interval in percent of its mean.
func spread(f result.Figure) string {
	if !f.Known() || f.Low == nil || f.High == nil || f.Mean == 0 {
		return dash
	}
	half := (*f.High - *f.Low) / 2 / math.Abs(f.Mean) * 100
	if half >= 99.95 {
		return fmt.Sprintf("%.0f", half)
	}
	return fmt.Sprintf("%.1f", half)
}

// share is a percentage with two significant digits.
func share(f result.Figure) string {
	switch {
	case !f.Known():
		return dash
	case f.Mean == 0:
		return "0"
	case f.Mean >= 9.95:
		return fmt.Sprintf("%.0f", f.Mean)
	}
	return fmt.Sprintf("%.2g", f.Mean)
}

// micros is a time in microseconds with three digits.
func micros(f result.Figure) string {
	if !f.Known() {
		return dash
	}
	us := f.Mean * 1e6
	if us >= 100 {
		return fmt.Sprintf("%.0f", us)
	}
	return fmt.Sprintf("%.3g", us)
}

func oneDecimal(f result.Figure) string {
	switch {
	case !f.Known():
		return dash
	case f.Mean == 0:
		return "0"
	case math.Abs(f.Mean) >= 1000:
		return fmt.Sprintf("%.0f", f.Mean)
	}
	return fmt.Sprintf("%.1f", f.Mean)
}

func whole(f result.Figure) string {
	switch {
	case !f.Known():
		return dash
	case math.Abs(f.Mean) < 10 && f.Mean != 0:
		return fmt.Sprintf("%.2g", f.Mean)
	}
	return fmt.Sprintf("%.0f", f.Mean)
}

// thousands has three digits and a decimal prefix.
func thousands(f result.Figure) string {
	switch {
	case !f.Known():
		return dash
	case f.Mean >= 999_500:
		return fmt.Sprintf("%.2f M", f.Mean/1e6)
	case f.Mean >= 10_000:
		return fmt.Sprintf("%.0f k", f.Mean/1e3)
	case f.Mean >= 999.5:
		return fmt.Sprintf("%.2f k", f.Mean/1e3)
	}
	return fmt.Sprintf("%.0f", f.Mean)
}
