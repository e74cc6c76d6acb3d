package measure

import (
	"bytes"
	"fmt"

	"windtunnel/result"
)

// linkRow is one interface's line of /proc/net/dev: the 64-bit counters that
// netlink gives as IFLA_STATS64 (dev_get_stats in net/core/dev.c), all of a
// stack's for one system call. Dropped includes missed packets.
type linkRow struct {
	rxBytes, rxPackets, rxErrors, rxDropped uint64
	txBytes, txPackets, txErrors, txDropped uint64
}

func readDevices(f *procFile) (map[string]linkRow, error) {
	text, err := f.read()
	if err != nil {
		return nil, err
	}
	return parseDevices(text)
}

func parseDevices(text []byte) (map[string]linkRow, error) {
	rows := map[string]linkRow{}
	for line := range lines(text) {
		i := bytes.LastIndexByte(line, ':')
		if i < 0 {
			continue // the head
		}
		row, err := parseDevice(bytes.Fields(line[i+1:]))
		if err != nil {
			return nil, fmt.Errorf("reading /proc/net/dev: %w", err)
		}
		rows[string(bytes.TrimSpace(line[:i]))] = row
	}
	return rows, nil
}

func parseDevice(fields [][]byte) (linkRow, error) {
	const columns = 16
	if len(fields) != columns {
		return linkRow{}, fmt.Errorf("an interface has %d columns, not %d", len(fields), columns)
	}
	var v [columns]uint64
	for i := range v {
		var err error
		if v[i], err = number(fields[i]); err != nil {
			return linkRow{}, err
		}
	}
	return linkRow{v[0], v[1], v[2], v[3], v[8], v[9], v[10], v[11]}, nil
}

func linkBetween(l Link, before, after stackReading) (result.LinkSample, error) {
	s := result.LinkSample{Place: l.Place, Device: l.Device, Role: l.Role}
	if err := firstError(before.devices.err, after.devices.err); err != nil {
		return s, err
	}
	was, ok := before.devices.value[l.Device]
	is, ok2 := after.devices.value[l.Device]
	if !ok || !ok2 {
		return s, fmt.Errorf("no interface of that name stood through the window")
	}
	var d difference
	s.RxPackets, s.RxBytes = d.of(was.rxPackets, is.rxPackets), d.of(was.rxBytes, is.rxBytes)
	s.RxDropped, s.RxErrors = d.of(was.rxDropped, is.rxDropped), d.of(was.rxErrors, is.rxErrors)
	s.TxPackets, s.TxBytes = d.of(was.txPackets, is.txPackets), d.of(was.txBytes, is.txBytes)
	s.TxDropped, s.TxErrors = d.of(was.txDropped, is.txDropped), d.of(was.txErrors, is.txErrors)
	wasUp, isUp := before.carrier[l.Device], after.carrier[l.Device]
	if err := firstError(wasUp.err, isUp.err); err != nil {
		return s, err
	}
	s.CarrierChanges = d.of(wasUp.value, isUp.value)
	return s, d.err
}
