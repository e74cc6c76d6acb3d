package report

import (
	"fmt"
	"io"

	"windtunnel/result"
)

// ways is a registry of the formats of one thing, the default first.
type ways[T any] struct {
	thing string // "comparison"
	all   []way[T]
}

type way[T any] struct {
	name  string
	write func(io.Writer, T, Options) error
}

func (w ways[T]) names() []string {
	var all []string
	for _, f := range w.all {
		all = append(all, f.name)
	}
	return all
}

// find returns a format, or an error that names the nearest one.
func (w ways[T]) find(name string) (way[T], error) {
	for _, f := range w.all {
		if f.name == name {
			return f, nil
		}
	}
	return way[T]{}, fmt.Errorf("%s", result.UnknownWord("format of a "+w.thing, name, w.names()))
}

func (w ways[T]) write(format string, to io.Writer, what T, o Options) error {
	known, err := w.find(format)
	if err != nil {
		return err
	}
	if err := known.write(to, what, o); err != nil {
		return fmt.Errorf("writing the %s: %w", w.thing, err)
	}
	return nil
}
