package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/kinds"
)

// WorkerCommand makes a benchmark a worker of its own: its first argument. It
// then reads an order, answers when prepared, reads a schedule, and answers with
// the result.
const WorkerCommand = "worker"

type schedule struct {
	InSeconds     float64
	WarmUpSeconds float64
	WindowSeconds float64
}

type reply struct {
	Address string
	End     result.PairEnd
	Error   string
}

// RunWorker is a worker's process, from its stdin's first line to its last.
func RunWorker(stdin io.Reader, stdout, stderr io.Writer) int {
	out := json.NewEncoder(stdout)
	if err := work(json.NewDecoder(bufio.NewReader(stdin)), out); err != nil {
		if out.Encode(reply{Error: err.Error()}) != nil {
			fmt.Fprintln(stderr, err)
		}
		return 1
	}
	return 0
}

func work(in *json.Decoder, out *json.Encoder) error {
	var order traffic.Order
	if err := in.Decode(&order); err != nil {
		return err
	}
	kind, known := kinds.ByName(order.Kind)
	if !known {
		return fmt.Errorf("no load is called %q", order.Kind)
	}
	w, err := kind.Prepare(context.Background(), order)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := out.Encode(reply{Address: w.Address()}); err != nil {
		return err
	}
	var when schedule
	if err := in.Decode(&when); err != nil {
		return err
	}
	end, err := w.Run(context.Background(), traffic.Schedule{
		Start: time.Now().Add(seconds(when.InSeconds)), WarmUp: seconds(when.WarmUpSeconds), Window: seconds(when.WindowSeconds), OneOff: true,
	})
	if err != nil {
		return err
	}
	return out.Encode(reply{End: end, Error: end.Error})
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Ours is a trial of one of our loads.
type Ours struct {
	Sample Sample
	// What both ends counted in a window that holds the sample's.
	Sender, Receiver result.PairEnd
}

// RunOurs runs one trial of a load between the nodes and samples its steady
// middle.
func (w *Wire) RunOurs(ctx context.Context, window time.Duration, kind string, load result.Options) (Ours, error) {
	ctx, cancel := context.WithTimeout(ctx, window+15*time.Second)
	defer cancel()
	receiver, sender, err := w.pair(ctx, kind, load)
	if err != nil {
		return Ours{}, err
	}
	defer receiver.Stop()
	defer sender.Stop()
	if err := begin(window, receiver, sender); err != nil {
		return Ours{}, err
	}
	if err := Wait(ctx, startsIn+WarmUp); err != nil {
		return Ours{}, err
	}
	var o Ours
	if o.Sample, err = w.Sample(ctx, window, receiver.cmd.Process.Pid, sender.cmd.Process.Pid); err != nil {
		return o, err
	}
	s, err := sender.hear()
	r, errReceiver := receiver.hear()
	o.Sender, o.Receiver = s.End, r.End
	return o, errors.Join(err, errReceiver)
}
