package run

import (
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"windtunnel/traffic"
)

// TestTrialsOfStrangers takes in whatever two nodes tell of a trial without a crash: it is put together, judged, written, and its ratios
// are shown.
func TestTrialsOfStrangers(t *testing.T) {
	usable := 0
	for _, suite := range []string{"contrail-windows", "udp", "latency", "packets", "converged-jumbo"} {
		p := planned(t, suite, twoHosts(), Settings{})
		for seed := range uint64(200) {
			c := Conductor{Plan: p, series: newSeries(p), generators: map[string]float64{}, Nodes: []Node{&hanging{name: "a"}, &hanging{name: "b"}}}
			liar := liar{rand.New(rand.NewPCG(seed, 7))}
			for _, cell := range p.Runnable() {
				if takeIn(t, &c, cell, map[string]NodeTrial{"a": liar.trial(), "b": liar.trial()}) {
					usable++
				}
			}
			for _, r := range c.series.ratios {
				_ = c.series.estimate(r)
			}
		}
	}
	if usable < 100 {
		t.Errorf("%d trials were taken for good: the lies are too plain", usable)
	}
}

// takeIn is what a conductor does with a trial, but for asking nodes; it tells whether nothing spoils the trial.
func takeIn(t *testing.T, c *Conductor, cell PlannedCell, parts map[string]NodeTrial) bool {
	t.Helper()
	trial := cell.trial(c.Plan.Times)
	trial.Cell, trial.Block = cell.Record.Name, 1
	c.assemble(cell, parts, &trial)
	c.judge(cell, &trial)
	good := spoiled(trial) == "" && c.astray(cell, trial) == ""
	if _, err := json.Marshal(trial); err != nil {
		t.Fatal(err)
	}
	c.series.add(trial) // as if it counted
	shown := NewProgress(io.Discard)
	shown.Trial(trial, 5, time.Second)
	shown.Close()
	return good
}

// liar makes records of anything that JSON can say.
type liar struct{ *rand.Rand }

// trial has ends where the conductor looks for them, and now and then windows as they should be.
func (l liar) trial() (part NodeTrial) {
	l.fill(reflect.ValueOf(&part).Elem(), 7)
	part.Ends = part.Ends[:min(1, len(part.Ends))]
	for _, role := range []traffic.Role{traffic.Send, traffic.Receive} {
		for pair := range 2 {
			var end WorkerEnd
			l.fill(reflect.ValueOf(&end).Elem(), 7)
			end.Pair, end.Role = pair, role
			if l.IntN(4) > 0 {
				end.Error, end.End.Error, end.End.WindowSeconds, end.Beside = "", "", 1, false
				end.End.Bytes = 1 + end.End.Bytes/2
			}
			part.Ends = append(part.Ends, end)
		}
	}
	if l.IntN(4) > 0 {
		part.Sample.WindowSeconds = 1
		for i := range part.Sample.CPUs {
			part.Sample.CPUs[i].Steal = 0
		}
		for i := range part.Sample.Links {
			part.Sample.Links[i].CarrierChanges = 0
		}
	}
	return part
}

func (l liar) fill(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(l.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		n := []int64{0, 1, 2, 64, -1, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}[l.IntN(9)]
		if v.OverflowInt(n) {
			n = -1
		}
		v.SetInt(n)
	case reflect.Uint64, reflect.Uint32, reflect.Uint:
		v.SetUint([]uint64{0, 1, 2, 1000, math.MaxUint32, math.MaxUint64 & (1<<(8*v.Type().Size()) - 1)}[l.IntN(6)])
	case reflect.Float64:
		v.SetFloat([]float64{0, 1, 0.5, -1, 1e-300, -1e308, 1e308, 5e-324}[l.IntN(8)])
	case reflect.String:
		v.SetString([]string{"", "a", "b", "eth1", "ens5", "wire", "intended", "../../etc/passwd"}[l.IntN(8)])
	case reflect.Struct:
		for i := range v.NumField() {
			l.fill(v.Field(i), depth-1)
		}
	case reflect.Array:
		for i := range v.Len() {
			l.fill(v.Index(i), depth-1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), l.IntN(4), 4))
		for i := range v.Len() {
			l.fill(v.Index(i), depth-1)
		}
	case reflect.Pointer:
		if l.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			l.fill(v.Elem(), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range l.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			l.fill(key, depth-1)
			l.fill(value, depth-1)
			v.SetMapIndex(key, value)
		}
	}
}
