package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// conversions are those of strftime(3) in the C locale, by their letter.
var conversions = map[byte]func(time.Time) string{
	'a': layout("Mon"), 'A': layout("Monday"), 'b': layout("Jan"), 'h': layout("Jan"), 'B': layout("January"),
	'c': layout("Mon Jan _2 15:04:05 2006"), 'C': func(t time.Time) string { return two(t.Year() / 100) },
	'd': layout("02"), 'D': layout("01/02/06"), 'e': layout("_2"), 'F': layout("2006-01-02"),
	'g': func(t time.Time) string { return two(isoYear(t) % 100) }, 'G': func(t time.Time) string { return strconv.Itoa(isoYear(t)) },
	'H': layout("15"), 'I': layout("03"), 'j': layout("002"),
	'k': func(t time.Time) string { return fmt.Sprintf("%2d", t.Hour()) },
	'l': func(t time.Time) string { return fmt.Sprintf("%2d", (t.Hour()+11)%12+1) },
	'm': layout("01"), 'M': layout("04"), 'n': layout("\n"), 'p': layout("PM"), 'P': layout("pm"),
	'r': layout("03:04:05 PM"), 'R': layout("15:04"), 's': func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) },
	'S': layout("05"), 't': layout("\t"), 'T': layout("15:04:05"),
	'u': func(t time.Time) string { return strconv.Itoa((int(t.Weekday())+6)%7 + 1) },
	'U': func(t time.Time) string { return two((t.YearDay() + 6 - int(t.Weekday())) / 7) },
	'V': func(t time.Time) string { _, week := t.ISOWeek(); return two(week) },
	'w': func(t time.Time) string { return strconv.Itoa(int(t.Weekday())) },
	'W': func(t time.Time) string { return two((t.YearDay() + 6 - (int(t.Weekday())+6)%7) / 7) },
	'x': layout("01/02/06"), 'X': layout("15:04:05"), 'y': layout("06"), 'Y': layout("2006"),
	'z': layout("-0700"), 'Z': layout("MST"), '%': layout("%"),
}

func layout(as string) func(time.Time) string {
	return func(t time.Time) string { return t.Format(as) }
}

func two(n int) string { return fmt.Sprintf("%02d", n) }

func isoYear(t time.Time) int { year, _ := t.ISOWeek(); return year }

// stamp writes a time as strftime(3) does.
func stamp(format string, t time.Time) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if convert, ok := conversions[next(format, i)]; ok && format[i] == '%' {
			b.WriteString(convert(t))
			i++
			continue
		}
		b.WriteByte(format[i])
	}
	return b.String()
}

func next(format string, i int) byte {
	if i+1 < len(format) {
		return format[i+1]
	}
	return 0
}

// checkStamp refuses conversions that strftime(3) has not, before they print as
// they stand.
func checkStamp(format string) error {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		i++
		if i < len(format) {
			if _, ok := conversions[format[i]]; ok {
				continue
			}
		}
		return fmt.Errorf("'%s' is no format of strftime(3): after %% comes one of %s", format, letters())
	}
	return nil
}

func letters() string {
	var all []byte
	for letter := range conversions {
		all = append(all, letter)
	}
	slices.Sort(all)
	return string(all)
}
