package measure

import "windtunnel/result"

// The probes' names in NodeSample.Missing. Those of a link, a stack or a switch
// have its name after a space: "link a/wire0", "queues a/wire0", "settings a/wire0", "stack a", "switch vrouter-a".
const (
	probeCPU        = "cpu"
	probeSplit      = "cpu-split"
	probeSwitches   = "context-switches"
	probeInterrupts = "interrupts"
	probeSoftnet    = "softnet"
	probeMemory     = "memory"
	probeThreads    = "kernel-threads"
)

// sampler fills a sample from two snapshots.
type sampler struct {
	before, after Snapshot
	sample        result.NodeSample
}

// Difference is what a node did from one snapshot to a later one of the same
// Node. What either lacks is in Missing with its reason.
func Difference(before, after Snapshot) result.NodeSample {
	s := sampler{before: before, after: after}
	s.cpus()
	s.counts()
	for _, l := range after.config.Links {
		link, err := linkBetween(l, before.stacks[l.Place], after.stacks[l.Place])
		if !s.has("link "+l.Place+"/"+l.Device, err) {
			continue
		}
		if queues, several := after.stacks[l.Place].queues[l.Device]; several {
			link.RxQueues, err = queuesBetween(before.stacks[l.Place].queues[l.Device], queues)
			s.has("queues "+l.Place+"/"+l.Device, err)
		}
		if counted, virtual := after.stacks[l.Place].virtual[l.Device]; virtual {
			link.RxNAPI, link.TxXDP, err = virtualBetween(before.stacks[l.Place].virtual[l.Device], counted)
			s.has("virtual "+l.Place+"/"+l.Device, err)
		}
		if set, looked := after.stacks[l.Place].settings[l.Device]; looked && s.has("settings "+l.Place+"/"+l.Device, set.err) {
			link.Settings = set.value
		}
		s.sample.Links = append(s.sample.Links, link)
	}
	for _, st := range after.config.Stacks {
		stack, err := stackBetween(st.Place, before.stacks[st.Place], after.stacks[st.Place])
		if s.has("stack "+st.Place, err) {
			s.sample.Stacks = append(s.sample.Stacks, stack)
		}
	}
	s.switches()
	s.vms()
	return s.sample
}

// has keeps the reason of a probe that failed.
func (s *sampler) has(probe string, err error) bool {
	if err == nil {
		return true
	}
	if s.sample.Missing == nil {
		s.sample.Missing = map[string]string{}
	}
	s.sample.Missing[probe] = err.Error()
	return false
}

func (s *sampler) cpus() {
	s.has(probeSplit, firstError(s.before.ticks.err, s.after.ticks.err))
	busy, err := busyBetween(s.before, s.after)
	s.sample.WindowSeconds = busy.window
	if s.has(probeCPU, err) {
		s.sample.CPUSource, s.sample.Hertz = busy.source, busy.hertz
		s.sample.CPUs = cpuSamples(s.before, s.after, busy)
		for i := range s.sample.CPUs {
			s.sample.CPUs[i].Processed = processedOn(s.before.softnet, s.after.softnet, s.sample.CPUs[i].CPU)
			s.sample.CPUs[i].Receive = s.receiveSeconds(s.sample.CPUs[i].CPU)
		}
		s.sample.ReceiveAway = s.receiveAway()
	}
}

func (s *sampler) counts() {
	before, after := s.before, s.after
	var err error
	s.sample.ContextSwitches, err = countBetween(before.events.switches, after.events.switches)
	s.has(probeSwitches, err)
	s.sample.Interrupts, err = countBetween(before.events.interrupts, after.events.interrupts)
	s.has(probeInterrupts, err)
	s.sample.Softnet, err = softnetBetween(before.softnet, after.softnet, after.config.CPUs)
	s.has(probeSoftnet, err)
	if err := firstError(before.threads.err, after.threads.err); s.has(probeThreads, err) {
		s.sample.KernelThreadSeconds = before.threads.value.between(after.threads.value).Seconds()
	}
	s.has(probeMemory, after.memory.err)
	s.sample.MemoryBytes = after.memory.value
}

func countBetween(before, after reading[uint64]) (uint64, error) {
	if err := firstError(before.err, after.err); err != nil {
		return 0, err
	}
	return subtract(before.value, after.value)
}

// switches keeps a switch that could not be read in the sample, with its error:
// its drops are part of the account of packets.
func (s *sampler) switches() {
	for i, sw := range s.after.config.Switches {
		if i < len(s.before.switches) {
			s.counted(sw.Name, s.before.switches[i], s.after.switches[i])
		}
	}
	for i, rule := range s.after.config.Rules {
		if i < len(s.before.rules) {
			s.counted(rule.Name, s.before.rules[i], s.after.rules[i])
		}
	}
}

func (s *sampler) counted(name string, before, after reading[switchReading]) {
	sample, err := switchBetween(name, before, after)
	if !s.has("switch "+name, err) {
		sample = result.SwitchSample{Switch: name, Error: err.Error()}
	}
	s.sample.Switches = append(s.sample.Switches, sample)
}
