//go:build !linux

package frame

import (
	"context"
	"errors"

	"windtunnel/result"
	"windtunnel/traffic"
)

var errLinux = errors.New("the load frame needs Linux (XDP, AF_PACKET): use datagram on this system")

// Prepare refuses: raw frames are sent and counted by Linux only.
func (Kind) Prepare(context.Context, traffic.Order) (traffic.Worker, error) { return nil, errLinux }

// Calibrate refuses, as Prepare does.
func (Kind) Calibrate(context.Context, result.Options, []int) (float64, error) { return 0, errLinux }
