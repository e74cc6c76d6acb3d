package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/stream"
)

// workerCommand makes the command a worker of its own bench: it reads an order,
// answers when prepared, reads a schedule, and answers with the result.
const workerCommand = "worker"

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

func runWorker(_ []string, stdin io.Reader, stdout, stderr io.Writer) int {
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
	w, err := stream.Kind{}.Prepare(context.Background(), order)
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
		Start: time.Now().Add(seconds(when.InSeconds)), WarmUp: seconds(when.WarmUpSeconds), Window: seconds(when.WindowSeconds),
	})
	if err != nil {
		return err
	}
	return out.Encode(reply{End: end, Error: end.Error})
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
