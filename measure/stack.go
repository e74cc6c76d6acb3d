package measure

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"

	"windtunnel/result"
)

// stackProbe is one network stack's files, open.
type stackProbe struct {
	place   string
	snmp    *procFile
	netstat *procFile
	snmp6   *procFile
	devices *procFile
	carrier map[string]*procFile     // by device
	queues  map[string]*queueProbe   // of those wires' ends that have several
	virtual map[string]*virtualProbe // of those that are of a virtual pair
	// settings are what each device was set to when the probe was opened.
	settings map[string]reading[*result.LinkSettings]
}

// stackReading is one network stack's counters and those of its links, by name.
type stackReading struct {
	counters reading[map[string]uint64]
	devices  reading[map[string]linkRow]
	carrier  map[string]reading[uint64] // how often a link went down or came up
	queues   map[string]reading[[]uint64]
	virtual  map[string]reading[virtualReading]
	settings map[string]reading[*result.LinkSettings]
}

// openStack opens the stack's files, and its devices' in the stack's own sysfs.
func openStack(s Stack, links []Link) (stackProbe, error) {
	p := stackProbe{place: s.Place, carrier: map[string]*procFile{}, queues: map[string]*queueProbe{}, virtual: map[string]*virtualProbe{}, settings: map[string]reading[*result.LinkSettings]{}}
	err := s.Do(func() error {
		for _, l := range links {
			p.settings[l.Device] = read(readSettings(l.Device))
			if s.Sysfs == "" {
				break
			}
			p.carrier[l.Device] = openProc(filepath.Join(s.Sysfs, "class/net", l.Device, "carrier_changes"))
			if l.Role != result.RoleWire {
				continue
			}
			queues, err := openQueues(s.Sysfs, l.Device)
			if err != nil {
				return err
			}
			if queues != nil {
				p.queues[l.Device] = queues
			}
			virtual, err := openVirtual(l.Device)
			if err != nil {
				return err
			}
			if virtual != nil {
				p.virtual[l.Device] = virtual
			}
		}
		p.snmp = openProc("/proc/thread-self/net/snmp")
		p.netstat = openProc("/proc/thread-self/net/netstat")
		p.snmp6 = openProc("/proc/thread-self/net/snmp6")
		p.devices = openProc("/proc/thread-self/net/dev")
		return nil
	})
	return p, err
}

func (p stackProbe) close() {
	for _, f := range []*procFile{p.snmp, p.netstat, p.snmp6, p.devices} {
		f.close()
	}
	for _, f := range p.carrier {
		f.close()
	}
	for _, q := range p.queues {
		q.close()
	}
	for _, v := range p.virtual {
		v.close()
	}
}

func (p stackProbe) read() stackReading {
	r := stackReading{read(p.readCounters()), read(readDevices(p.devices)), map[string]reading[uint64]{}, map[string]reading[[]uint64]{}, map[string]reading[virtualReading]{}, p.settings}
	for device, v := range p.virtual {
		r.virtual[device] = read(v.read())
	}
	for device, q := range p.queues {
		r.queues[device] = read(q.read())
	}
	for device, f := range p.carrier {
		r.carrier[device] = read(readNumber(f))
	}
	return r
}

func readNumber(f *procFile) (uint64, error) {
	text, err := f.read()
	if err != nil {
		return 0, err
	}
	return number(bytes.TrimSpace(text))
}

func (p stackProbe) readCounters() (map[string]uint64, error) {
	counters := map[string]uint64{}
	for _, f := range []*procFile{p.snmp, p.netstat} {
		text, err := f.read()
		if err != nil {
			return nil, err
		}
		if err := parseSNMP(text, counters); err != nil {
			return nil, err
		}
	}
	text, err := p.snmp6.read()
	if errors.Is(err, fs.ErrNotExist) { // a stack without IPv6
		return counters, nil
	}
	if err != nil {
		return nil, err
	}
	parseSNMP6(text, counters)
	return counters, nil
}

// parseSNMP reads pairs of lines, "Ip: InReceives ..." and "Ip: 42 ...", into
// "Ip.InReceives". Values that are settings may be negative and are left out.
func parseSNMP(text []byte, into map[string]uint64) error {
	var names [][]byte
	for line := range lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		if len(fields) != len(names) || !bytes.Equal(fields[0], names[0]) {
			return errors.New("names and values of the stack's counters do not match")
		}
		protocol := string(bytes.TrimSuffix(names[0], []byte{':'}))
		for i := 1; i < len(fields); i++ {
			if wanted[protocol+"."+string(names[i])] {
				if n, err := number(fields[i]); err == nil {
					into[protocol+"."+string(names[i])] = n
				}
			}
		}
		names = nil
	}
	return nil
}

// parseSNMP6 reads lines "Ip6InReceives   42".
func parseSNMP6(text []byte, into map[string]uint64) {
	for line := range lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 2 && wanted[string(fields[0])] {
			if n, err := number(fields[1]); err == nil {
				into[string(fields[0])] = n
			}
		}
	}
}

// stackFigures says which counters make up a figure (IPv4 and IPv6 together).
// OutTransmits counts forwarded packets too; older kernels count them apart.
var stackFigures = []struct {
	to   func(*result.StackSample) *uint64
	from []string
}{
	{func(s *result.StackSample) *uint64 { return &s.InPackets }, []string{"Ip.InReceives", "Ip6InReceives"}},
	{func(s *result.StackSample) *uint64 { return &s.InBytes }, []string{"IpExt.InOctets", "Ip6InOctets"}},
	{func(s *result.StackSample) *uint64 { return &s.OutBytes }, []string{"IpExt.OutOctets", "Ip6OutOctets"}},
	{func(s *result.StackSample) *uint64 { return &s.InDiscards }, []string{"Ip.InDiscards", "Ip6InDiscards"}},
	{func(s *result.StackSample) *uint64 { return &s.InNoRoutes }, []string{"IpExt.InNoRoutes", "Ip6InNoRoutes"}},
	{func(s *result.StackSample) *uint64 { return &s.InCsumErrors }, []string{"IpExt.InCsumErrors", "Tcp.InCsumErrors", "Udp.InCsumErrors"}},
	{func(s *result.StackSample) *uint64 { return &s.TCPRetransmit }, []string{"Tcp.RetransSegs"}},
	{func(s *result.StackSample) *uint64 { return &s.ListenDrops }, []string{"TcpExt.ListenDrops"}},
}

// The names of what left a stack, in newer kernels and in older ones.
var (
	outNew = []string{"Ip.OutTransmits", "Ip6OutTransmits"}
	outOld = []string{"Ip.OutRequests", "Ip.ForwDatagrams", "Ip6OutRequests", "Ip6OutForwDatagrams"}
)

// wanted are the names of all counters that a figure needs.
var wanted = func() map[string]bool {
	names := map[string]bool{}
	for _, list := range append([][]string{outNew, outOld}, stackFiguresFrom()...) {
		for _, name := range list {
			names[name] = true
		}
	}
	return names
}()

func stackFiguresFrom() (lists [][]string) {
	for _, f := range stackFigures {
		lists = append(lists, f.from)
	}
	return lists
}

func stackBetween(place string, before, after stackReading) (result.StackSample, error) {
	s := result.StackSample{Place: place}
	was, is := before.counters, after.counters
	if err := firstError(was.err, is.err); err != nil {
		return s, err
	}
	if _, ok := is.value["Ip.InReceives"]; !ok {
		return s, errors.New("the stack counts no packets")
	}
	var d difference
	sum := func(names []string) (n uint64) {
		for _, name := range names {
			n += d.of(was.value[name], is.value[name])
		}
		return n
	}
	for _, f := range stackFigures {
		*f.to(&s) = sum(f.from)
	}
	s.OutPackets = sum(outNames(is.value))
	return s, d.err
}

func outNames(counters map[string]uint64) []string {
	if _, ok := counters[outNew[0]]; ok {
		return outNew
	}
	return outOld
}
