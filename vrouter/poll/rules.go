package poll

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/offload"
)

// The records of rules.h; a test compares their sizes.
const (
	rulesMagic = 0x73656c75722d6c6f
	ruleItems  = 12
	ruleField  = 40
	ruleHeader = 128
	ruleWhy    = 128
	ruleDrops  = ^uint32(0)

	ruleGiven   = 1 // a state
	ruleRefused = 2
)

type ruleItem struct {
	Kind, Extra uint32
	Spec, Mask  [ruleField]byte
}

// ruleRecord is struct poll_rule.
type ruleRecord struct {
	From, To, Items, DecTTL, Decap, Encap uint32
	Item                                  [ruleItems]ruleItem
	Off, On                               [ruleHeader]byte
	Packets, Bytes                        uint64
	State, _                              uint32
	Why                                   [ruleWhy]byte
}

// rulesHeader is struct poll_rules, without the rules.
type rulesHeader struct {
	Magic         uint64
	Record, Count uint32
}

const (
	ruleSize        = int(unsafe.Sizeof(ruleRecord{}))
	rulesHeaderSize = int(unsafe.Sizeof(rulesHeader{}))
)

// ruleKinds are in the order of rules.h.
var ruleKinds = []offload.Kind{
	offload.Integrity, offload.Eth, offload.IPv4, offload.IPv6, offload.TCP, offload.UDP, offload.ICMP, offload.GRE, offload.MPLS, offload.VXLAN,
}

// ruleTable is the memory of the rules that the process was handed.
type ruleTable struct {
	rules   []offload.Rule
	file    *os.File
	memory  []byte
	counted []core.Count // of each rule, what is in the account already
}

// record is a rule's, which the process writes.
func (t *ruleTable) record(i int) *ruleRecord {
	return (*ruleRecord)(unsafe.Pointer(&t.memory[rulesHeaderSize+i*ruleSize]))
}

func newRuleTable(rules []offload.Rule) (*ruleTable, error) {
	fd, err := unix.MemfdCreate("vrouter-rules", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("making memory for rules: %w", err)
	}
	t := &ruleTable{rules: rules, file: os.NewFile(uintptr(fd), "vrouter-rules"), counted: make([]core.Count, len(rules))}
	if err := t.fill(); err != nil {
		t.close()
		return nil, fmt.Errorf("making memory for %d rules: %w", len(rules), err)
	}
	return t, nil
}

// fill writes the rules as if nobody had seen them yet.
func (t *ruleTable) fill() (err error) {
	bytes := rulesHeaderSize + len(t.rules)*ruleSize
	if t.memory == nil {
		if err := t.file.Truncate(int64(bytes)); err != nil {
			return err
		}
		if _, err := unix.FcntlInt(t.file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
			return err
		}
		if t.memory, err = unix.Mmap(int(t.file.Fd()), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
			return err
		}
	}
	if _, err := binary.Encode(t.memory, binary.LittleEndian, rulesHeader{rulesMagic, uint32(ruleSize), uint32(len(t.rules))}); err != nil {
		return err
	}
	for i, r := range t.rules {
		record, err := encodeRule(r)
		if err != nil {
			return fmt.Errorf("the rule %q: %w", r.Name, err)
		}
		*t.record(i) = record
		t.counted[i] = core.Count{}
	}
	return nil
}

func (t *ruleTable) close() {
	if t.memory != nil {
		_ = unix.Munmap(t.memory) // it was mapped whole
	}
	t.file.Close()
}

// encodeRule makes the record of a rule of rte_flow.
func encodeRule(r offload.Rule) (record ruleRecord, err error) {
	record.From, record.To = r.Vif, ruleDrops
	if len(r.Pattern) > ruleItems {
		return record, fmt.Errorf("its pattern has %d headers, more than %d", len(r.Pattern), ruleItems)
	}
	record.Items = uint32(len(r.Pattern))
	for i, item := range r.Pattern {
		record.Item[i] = encodeItem(item)
	}
	for _, a := range r.Actions {
		switch a.Do {
		case offload.DecTTL:
			record.DecTTL = 1
		case offload.RawDecap:
			front := r.Front(a.Bytes)
			if len(front) != a.Bytes || len(front) > ruleHeader {
				return record, fmt.Errorf("it takes %d bytes off, and its headers have %d", a.Bytes, len(front))
			}
			record.Decap = uint32(copy(record.Off[:], front))
		case offload.RawEncap:
			if len(a.Header) > ruleHeader {
				return record, fmt.Errorf("it pushes %d bytes, more than %d", len(a.Header), ruleHeader)
			}
			record.Encap = uint32(copy(record.On[:], a.Header))
		case offload.ToPort:
			record.To = a.Vif
		case offload.CountIt, offload.DropIt:
		default:
			return record, fmt.Errorf("it does %q, for which rte_flow has no word", a.Do)
		}
	}
	return record, nil
}

func encodeItem(item offload.Item) (out ruleItem) {
	out.Kind = uint32(slices.Index(ruleKinds, item.Kind))
	if item.Kind == offload.Integrity {
		level, _ := item.Field("level")
		value, _ := item.Field("value")
		out.Extra = uint32(level.Spec[len(level.Spec)-1])
		for i := range value.Spec { // from the last byte on, which is the lowest
			out.Spec[i], out.Mask[i] = value.Spec[len(value.Spec)-1-i], value.Mask[len(value.Mask)-1-i]
		}
		return out
	}
	if _, whole := item.Field("has_frag_ext"); whole {
		out.Extra = 1
	}
	spec, mask := item.Header()
	copy(out.Spec[:], spec)
	copy(out.Mask[:], mask)
	return out
}

// account takes over what the process has read of the devices' counters since the last time.
func (p *Plane) account(t *ruleTable) {
	for i, r := range t.rules {
		record, before := t.record(i), t.counted[i]
		packets := atomic.LoadUint64(&record.Packets)
		if packets == before.Packets {
			continue
		}
		now := core.Count{Packets: packets, Segments: packets, Bytes: atomic.LoadUint64(&record.Bytes)}
		p.offloaded.Take(r, core.Count{Packets: now.Packets - before.Packets, Segments: now.Segments - before.Segments, Bytes: now.Bytes - before.Bytes})
		t.counted[i] = now
	}
}

// Offers is what devices have to do with rules, by vif: nil takes them.
func (p *Plane) Offers() map[uint32]error {
	p.mu.Lock()
	defer p.mu.Unlock()
	offers := make(map[uint32]error)
	for vif, at := range p.attached {
		switch {
		case vif == hostVif:
		case at.Driver != config.DriverPCI && at.Driver != config.DriverXDP && at.Driver != config.DriverVirtioClient:
			offers[vif] = errors.New("it is no device of DPDK's, and only those take rules")
		case p.process == nil || !p.process.alive():
			offers[vif] = errors.New("the poll mode's process is being started anew")
		default:
			offers[vif] = p.process.ask("offers %d", vif)
		}
	}
	return offers
}

// Target is whose words rules are in.
func (p *Plane) Target() offload.Target { return offload.RTEFlow }

// Taken is the account of what devices took, by all rules that there were.
func (p *Plane) Taken() *offload.Account { return &p.offloaded }

// GiveRules hands rules to the devices of their ports, which each may refuse ([Plane.Rules] tells). They must
// be right for the tables as they are. There must be none yet.
func (p *Plane) GiveRules(plan offload.Plan) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rules != nil || len(plan.Rules) == 0 {
		return nil
	}
	table, err := newRuleTable(plan.Rules)
	if err != nil {
		return err
	}
	p.rules = table
	if p.process == nil || !p.process.alive() {
		return nil // the next one gets them
	}
	return p.process.giveRules(table)
}

func (p *process) giveRules(t *ruleTable) error {
	if err := p.hand(t.file); err != nil {
		return err
	}
	if err := p.ask("rules"); err != nil {
		return fmt.Errorf("giving %d rules to devices: %w", len(t.rules), err)
	}
	return nil
}

// giveAgain is for a new process, whose devices know of no rules.
func (p *Plane) giveAgain(process *process) error {
	if p.rules == nil {
		return nil
	}
	p.account(p.rules) // what was read of the devices that the last one had
	err := p.rules.fill()
	if err == nil {
		err = process.giveRules(p.rules)
	}
	if err != nil { // the process after this one does without, so that it runs
		p.rules.close()
		p.rules = nil
	}
	return err
}

// WithdrawRules takes all rules from the devices, and reads their counters for the last time. It must be done
// before the tables change. A device that keeps one is reset: its process ends, and another one begins.
func (p *Plane) WithdrawRules() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rules == nil {
		return nil
	}
	var err error
	if p.process != nil && p.process.alive() {
		if err = p.process.ask("withdraw"); err != nil && p.process.alive() {
			_ = p.process.command.Process.Kill()
			<-p.process.done
		}
	}
	p.account(p.rules)
	p.rules.close()
	p.rules = nil
	if err != nil {
		return fmt.Errorf("withdrawing rules; the poll mode's process was ended, so that no device keeps one: %w", err)
	}
	return nil
}

// CountRules reads the devices' counters.
func (p *Plane) CountRules() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rules == nil || p.process == nil || !p.process.alive() {
		return nil
	}
	err := p.process.ask("count")
	p.account(p.rules)
	return err
}

// Rules are those that were handed over.
func (p *Plane) Rules() []offload.Given {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rules == nil {
		return nil
	}
	rules := make([]offload.Given, len(p.rules.rules))
	for i, r := range p.rules.rules {
		record := p.rules.record(i)
		rules[i] = offload.Given{Rule: r, Taken: record.State == ruleGiven, Packets: p.rules.counted[i].Packets, Bytes: p.rules.counted[i].Bytes}
		if record.State == ruleRefused {
			rules[i].Why, _, _ = strings.Cut(string(record.Why[:]), "\x00")
		}
	}
	return rules
}
