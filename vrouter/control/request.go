package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"windtunnel/vrouter/config"
)

// Request is one line to the socket: exactly one of Get, Apply, Routes, Sweep, Trace and Watch.
type Request struct {
	Get     string          `json:"get,omitempty"`
	Network string          `json:"network,omitempty"` // of stats, drops and flow: only this network's
	Port    string          `json:"port,omitempty"`    // only this port's
	Limit   int             `json:"limit,omitempty"`   // of flow and rule: how many are listed
	Apply   json.RawMessage `json:"apply,omitempty"`
	DryRun  bool            `json:"dry_run,omitempty"` // apply nothing, and tell what would change
	Routes  json.RawMessage `json:"routes,omitempty"`
	Sweep   bool            `json:"sweep,omitempty"` // take the stale routes away
	Trace   *TraceRequest   `json:"trace,omitempty"`
	Watch   *WatchRequest   `json:"watch,omitempty"`
}

// readRequest reads a line strictly: a key that is misspelt, or that belongs to another request, must
// not make this one do something else than was meant.
func readRequest(line []byte) (r Request, err error) {
	if err := checkKeys(line, reflect.TypeFor[Request](), ""); err != nil {
		return r, err
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("reading the request: %w", err)
	}
	return r, r.check()
}

// checkKeys refuses an object whose keys are not those of a record, exactly, and so those inside it.
// encoding/json would take them in any case of letters, and pass over what it does not know.
func checkKeys(text []byte, record reflect.Type, path string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return fmt.Errorf("reading the request%s: %w", path, err)
	}
	types := make(map[string]reflect.Type)
	var words []string
	for i := range record.NumField() {
		word, _, _ := strings.Cut(record.Field(i).Tag.Get("json"), ",")
		types[word] = record.Field(i).Type
		words = append(words, word)
	}
	for key, value := range object {
		field, known := types[key]
		if !known {
			return fmt.Errorf("reading the request%s: unknown key %q%s", path, key, config.Nearest(key, words))
		}
		if field.Kind() == reflect.Pointer && field.Elem().Kind() == reflect.Struct {
			if err := checkKeys(value, field.Elem(), path+", "+key); err != nil {
				return err
			}
		}
	}
	return nil
}

// narrowed are the tables that can be so, to a network or a port.
var narrowed = []string{"stats", "drops", "flow"}

// check says what is wrong with a request, whatever the vRouter is.
func (r Request) check() error {
	parts := 0
	for _, there := range []bool{r.Get != "", r.Apply != nil, r.Routes != nil, r.Sweep, r.Trace != nil, r.Watch != nil} {
		if there {
			parts++
		}
	}
	switch {
	case parts != 1:
		return errors.New(`a request is {"get":"..."}, {"apply":{...}}, {"routes":[...]}, {"sweep":true}, {"trace":{...}} or {"watch":{...}}`)
	case r.DryRun && r.Apply == nil:
		return errors.New(`"dry_run" is of "apply" only; nothing else can be tried`)
	case r.Get != "" && !slices.Contains(Tables, r.Get):
		return fmt.Errorf("there is no %q to get%s", r.Get, config.Nearest(r.Get, Tables))
	case (r.Network != "" || r.Port != "") && !slices.Contains(narrowed, r.Get):
		return fmt.Errorf(`"network" and "port" are of %s only`, strings.Join(narrowed, ", "))
	case r.Limit != 0 && r.Get != "flow" && r.Get != "rule":
		return errors.New(`"limit" is of "flow" and "rule" only`)
	}
	return nil
}
