package netns

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"windtunnel/ethtool"
	"windtunnel/testbed"
)

// queueTool asks and tells the driver of an interface about its queues. An ethtool.Socket is one.
type queueTool interface {
	Channels(device string) (ethtool.Channels, error)
	SetChannels(device string, c ethtool.Channels) error
	Indirection(device string) ([]uint32, error)
	SetIndirection(device string, queues []uint32) error
	Rules(device string) (places []uint32, err error)
	RuleQueue(device string, place uint32) (uint32, error)
	AddRule(device string, r ethtool.Rule, place uint32) error
	DropRule(device string, place uint32) error
}

// untold tells whether a driver would not say something: most refuse with EOPNOTSUPP, some otherwise. What it does not tell, nobody asks of it.
func untold(err error) bool {
	var refused unix.Errno
	return errors.As(err, &refused) && refused != unix.ENODEV
}

// channelsOf are the interface's, none of a driver that has no word for them.
func channelsOf(tool queueTool, device string) (testbed.Channels, error) {
	c, err := tool.Channels(device)
	if untold(err) {
		return testbed.Channels{}, nil
	}
	if err != nil {
		return testbed.Channels{}, fmt.Errorf("reading the channels of %s: %w", device, err)
	}
	return testbed.Channels{
		Receive: int(c.Receive), Send: int(c.Transmit), Combined: int(c.Combined),
		MostReceive: int(c.MaxReceive), MostSend: int(c.MaxTransmit), MostCombined: int(c.MaxCombined),
	}, nil
}

// setChannels gives an interface the numbers of channels, if it has others. What is neither to send nor to receive stays.
func setChannels(tool queueTool, device string, want testbed.Channels) error {
	now, err := tool.Channels(device)
	if err != nil {
		return fmt.Errorf("reading the channels of %s: %w", device, err)
	}
	set := now
	set.Receive, set.Transmit, set.Combined = uint32(want.Receive), uint32(want.Send), uint32(want.Combined)
	if set == now {
		return nil
	}
	if err := tool.SetChannels(device, set); err != nil {
		return fmt.Errorf("giving %s the channels %s (`ethtool -L`): %w", device, want, err)
	}
	return nil
}

// lookAtQueues reads what is to be put back of the queues.
func (n *NIC) lookAtQueues(tool queueTool) (err error) {
	if n.Data.Channels, err = channelsOf(tool, n.Device); err != nil {
		return err
	}
	if n.Table, err = tableOf(tool, n.Device); err != nil {
		return err
	}
	n.Data.Table = len(n.Table)
	rules, err := rulesOf(tool, n.Device)
	n.Data.Rules, n.Data.Steers = len(rules), rules != nil
	return err
}

// requeue puts the interface's queues back.
func (n NIC) requeue() error {
	if n.Data.Channels == (testbed.Channels{}) && len(n.Table) == 0 {
		return nil
	}
	return withEthtool(func(tool *ethtool.Socket) error { return n.putQueuesBack(tool) })
}

// putQueuesBack makes a table that the driver made itself the driver's own again.
func (n NIC) putQueuesBack(tool queueTool) error {
	now := NIC{Device: n.Device}
	if err := now.lookAtQueues(tool); err != nil {
		return err
	}
	if now.Data.Rules > 0 && n.Data.Rules == 0 && n.Data.Steers { // a rule, too, keeps its queue
		if err := dropRules(tool, n.Device); err != nil {
			return err
		}
	}
	if now.Data.Channels == n.Data.Channels && slices.Equal(now.Table, n.Table) {
		return nil
	}
	if err := renumber(tool, n.Device, n.Data.Channels); err != nil {
		return err
	}
	table, err := tableOf(tool, n.Device)
	if err != nil || slices.Equal(table, n.Table) {
		return err
	}
	if err := tool.SetIndirection(n.Device, n.Table); err != nil {
		return fmt.Errorf("putting back how %s spreads flows over its queues (`ethtool -X`): %w", n.Device, err)
	}
	return nil
}

// renumber gives an interface channels, the zero value none, and its table back to the driver first: one that was set keeps the queues that it
// names (ethtool_set_channels in net/ethtool/ioctl.c). And once more afterwards, because drivers may leave it as it was for other
// channels (virtio_net in Linux 6.1).
func renumber(tool queueTool, device string, want testbed.Channels) error {
	if err := giveTableBack(tool, device); err != nil || want == (testbed.Channels{}) {
		return err
	}
	if err := setChannels(tool, device, want); err != nil {
		return err
	}
	return giveTableBack(tool, device)
}

// giveTableBack makes the table the driver's own, if it has one.
func giveTableBack(tool queueTool, device string) error {
	table, err := tableOf(tool, device)
	if err != nil || len(table) == 0 {
		return err
	}
	if err := tool.SetIndirection(device, nil); err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("giving back to its driver how %s spreads flows (`ethtool -X %s default`): %w", device, device, err)
	}
	return nil
}

// tableOf is the driver's table of the interface, none of a driver without.
func tableOf(tool queueTool, device string) ([]uint32, error) {
	table, err := tool.Indirection(device)
	if untold(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading how %s spreads flows over its queues: %w", device, err)
	}
	return table, nil
}

// setQueues gives an interface the numbers of queues that the graph says, and shares in its table.
func setQueues(tool queueTool, p testbed.Interface) error {
	if p.Found.SendQueues > 0 {
		have, err := channelsOf(tool, p.Device)
		if err != nil {
			return err
		}
		want, able := have.With(p.Found.Queues, p.Found.SendQueues)
		if !able {
			return fmt.Errorf("%s cannot have %d receive and %d send queues by now: it has the channels %s, and at most rx %d, tx %d, combined %d",
				p.Device, p.Found.Queues, p.Found.SendQueues, have, have.MostReceive, have.MostSend, have.MostCombined)
		}
		if want != have {
			if err := renumber(tool, p.Device, want); err != nil {
				return err
			}
		}
	}
	table, err := tableOf(tool, p.Device)
	if err != nil {
		return err
	}
	shares := sharesOf(p.Found, len(table))
	if shares == nil || slices.Equal(table, shares) {
		return addRules(tool, p)
	}
	if err := tool.SetIndirection(p.Device, shares); err != nil {
		return fmt.Errorf("spreading flows over the queues of %s (`ethtool -X`): %w", p.Device, err)
	}
	return addRules(tool, p)
}

// sharesOf is a table of so many places for what the graph says; nil: it is the driver's.
func sharesOf(f testbed.Found, places int) []uint32 {
	queues := f.Queues
	switch f.Receive {
	case testbed.ReceiveByFirst, testbed.ReceiveByRules:
		queues = 1
	case testbed.ReceiveByTable:
	default:
		return nil
	}
	shares := make([]uint32, places)
	for i := range shares {
		shares[i] = uint32(i % queues)
	}
	return shares
}

// numberQueues does so for a real host's interface.
func (c *cell) numberQueues(p testbed.Interface) error {
	if p.Found == (testbed.Found{}) {
		return nil
	}
	return c.stacks[p.Place].Do(func() error {
		return withEthtool(func(tool *ethtool.Socket) error {
			if p.Found.Receive == testbed.ReceiveByRules {
				if err := takeRules(tool, p.Device); err != nil {
					return err
				}
			}
			return setQueues(tool, p)
		})
	})
}

// sendBy says which CPUs send by which of a real host's interface's queues.
func (c *cell) sendBy(p testbed.Interface) error {
	if p.Found.Send == testbed.SendAsFound {
		return nil
	}
	stack := c.stacks[p.Place]
	return stack.Do(func() error {
		device := stack.device(p.Device)
		// Maps by receive queues come before those by CPUs (get_xps_queue in net/core/dev.c).
		byQueue, _ := filepath.Glob(device + "/queues/tx-*/xps_rxqs")
		for _, file := range byQueue {
			if err := writeMask(file, nil); err != nil {
				return err
			}
		}
		masks, err := c.senders(device, p)
		if err != nil {
			return err
		}
		for _, file := range slices.Sorted(maps.Keys(masks)) {
			if err := writeMask(file, masks[file]); err != nil {
				return err
			}
		}
		return nil
	})
}

func writeMask(file string, cpus []int) error {
	if maskDiffers(file, cpus) == nil {
		return nil
	}
	err := os.WriteFile(file, []byte(cpuMask(cpus)), 0)
	if errors.Is(err, unix.ENOENT) && len(cpus) == 0 {
		return nil // a driver that made one queue alone has no choice to be made
	}
	if err != nil {
		return fmt.Errorf("choosing who sends by a queue: %w", err)
	}
	return nil
}

// senders are the CPUs that send by each of a device's queues, by the file that says so. None where there is one queue.
func (c *cell) senders(device string, p testbed.Interface) (map[string][]int, error) {
	files, _ := filepath.Glob(device + "/queues/tx-*/xps_cpus")
	masks := make(map[string][]int, len(files))
	if len(files) < 2 {
		return masks, nil
	}
	online, err := onlineCPUs()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		number := strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "tx-")
		queue, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("%s is no queue's", file)
		}
		masks[file] = nil
		if p.Found.Send == testbed.SendByFirst && queue == 0 {
			masks[file] = online
		}
		for i, cpu := range c.cpus {
			if p.Found.Send == testbed.SendByCPU && i%len(files) == queue {
				masks[file] = append(masks[file], cpu)
			}
		}
	}
	return masks, nil
}

// foundDifferences compares a real host's interface with how it is to use its queues.
func (c *cell) foundDifferences(stack *Stack, p testbed.Interface) []error {
	if p.Found == (testbed.Found{}) {
		return nil
	}
	all := asList(withEthtool(func(tool *ethtool.Socket) error { return queuesDiffer(tool, p) }))
	switch p.Found.Receive {
	case testbed.ReceiveByRPS:
		all = append(all, rpsDifferences(stack, p.Device, c.receive(p))...)
	case testbed.ReceiveByQueue, testbed.ReceiveByFirst, testbed.ReceiveByTable, testbed.ReceiveByRules:
		all = append(all, rpsDifferences(stack, p.Device, nil)...)
	}
	if p.Found.Send == testbed.SendAsFound {
		return all
	}
	masks, err := c.senders(stack.device(p.Device), p)
	all = append(all, asList(err)...)
	for _, file := range slices.Sorted(maps.Keys(masks)) {
		if err := maskDiffers(file, masks[file]); err != nil {
			all = append(all, err)
		}
	}
	return all
}

func queuesDiffer(tool queueTool, p testbed.Interface) error {
	now := NIC{Device: p.Device}
	if err := now.lookAtQueues(tool); err != nil {
		return err
	}
	have := now.Data.Channels
	receive, send := have.Receive+have.Combined, have.Send+have.Combined
	if p.Found.SendQueues > 0 && (receive != p.Found.Queues || send != p.Found.SendQueues) {
		return fmt.Errorf("it has %d receive and %d send queues, not %d and %d", receive, send, p.Found.Queues, p.Found.SendQueues)
	}
	if p.Found.SendQueues > 0 && slices.ContainsFunc(now.Table, func(queue uint32) bool { return int(queue) >= receive }) {
		return fmt.Errorf("its driver's table leads to queues that it does not have any more: it has %d", receive)
	}
	if shares := sharesOf(p.Found, len(now.Table)); shares != nil && (len(shares) == 0 || !slices.Equal(shares, now.Table)) {
		return fmt.Errorf("its driver's table of %d places does not spread flows over queues as it should", len(now.Table))
	}
	return rulesDiffer(tool, p)
}

func maskDiffers(file string, want []int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading who sends by a queue: %w", err)
	}
	cpus, err := parseMask(string(text))
	if err != nil || !slices.Equal(cpus, slices.Sorted(slices.Values(want))) {
		return fmt.Errorf("the CPUs %v send by %s, not %v (%v)", cpus, filepath.Base(filepath.Dir(file)), want, err)
	}
	return nil
}
