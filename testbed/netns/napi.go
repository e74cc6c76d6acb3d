package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"windtunnel/ethtool"
)

// The part of the generic netlink family "netdev" that is used here, from
// include/uapi/linux/netdev.h (Linux 6.8 and later).
const (
	netdevFamily       = "netdev"
	netdevCmdNAPIGet   = 11
	netdevANAPIIfindex = 1
	netdevANAPIID      = 2
	netdevANAPIPID     = 4
)

// napiThreads returns the kernel threads that poll exactly this device, in the order in which
// their NAPIs were made, which is that of a virtual pair's queues, on the stack's thread. Their names do not tell: devices of other cells are called the
// same.
func napiThreads(stack *Stack, device string) ([]int, error) {
	threads, err := napiByNetlink(device)
	if !errors.Is(err, errNoNAPIGet) {
		return threads, err
	}
	queues, err := filepath.Glob(stack.device(device) + "/queues/rx-*")
	if err != nil {
		return nil, fmt.Errorf("listing the queues of %s: %w", device, err)
	}
	return napiByComparing(device, len(queues))
}

// errNoNAPIGet says that the kernel cannot be asked for its NAPIs.
var errNoNAPIGet = errors.New("the kernel has no netdev napi-get")

func napiByNetlink(device string) ([]int, error) {
	dev, err := net.InterfaceByName(device)
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", device, err)
	}
	family, err := netlink.GenlFamilyGet(netdevFamily)
	if err != nil {
		return nil, errors.Join(errNoNAPIGet, err)
	}
	messages, err := dumpNAPIs(int(family.ID), uint32(dev.Index))
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		return nil, errors.Join(errNoNAPIGet, err)
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the NAPIs of %s: %w", device, err)
	}
	return napiPIDs(messages, uint32(dev.Index))
}

// dumpNAPIs asks for a device's NAPIs and reads until the dump is done. It is
// written by hand: nl.Genlmsg has two bytes and sends four, of which this family
// refuses the garbage, and the parts of its answer do not carry NLM_F_MULTI, at
// which NetlinkRequest.Execute stops.
func dumpNAPIs(family int, index uint32) ([][]byte, error) {
	socket, err := nl.Subscribe(unix.NETLINK_GENERIC)
	if err != nil {
		return nil, fmt.Errorf("opening a netlink socket: %w", err)
	}
	defer socket.Close()
	if err := socket.SetReceiveTimeout(&unix.Timeval{Sec: 2}); err != nil {
		return nil, fmt.Errorf("limiting the wait for netlink: %w", err)
	}
	request := nl.NewNetlinkRequest(family, unix.NLM_F_DUMP)
	of := nl.NewRtAttr(netdevANAPIIfindex, nl.Uint32Attr(index))
	request.AddRawData(append([]byte{netdevCmdNAPIGet, 1, 0, 0}, of.Serialize()...))
	if err := socket.Send(request); err != nil {
		return nil, fmt.Errorf("asking netlink: %w", err)
	}
	var messages [][]byte
	for {
		parts, _, err := socket.Receive()
		if err != nil {
			return nil, fmt.Errorf("reading from netlink: %w", err)
		}
		for _, part := range parts {
			switch part.Header.Type {
			case unix.NLMSG_DONE, unix.NLMSG_ERROR:
				return messages, netlinkError(part.Data)
			}
			messages = append(messages, part.Data)
		}
	}
}

// netlinkError reads the number with which a dump ends, well or not.
func netlinkError(data []byte) error {
	if len(data) < 4 {
		return errors.New("netlink ends without saying how")
	}
	if number := -int32(binary.NativeEndian.Uint32(data)); number != 0 {
		return unix.Errno(number)
	}
	return nil
}

// napiPIDs reads the answers to napi-get: a NAPI that is not threaded has no PID.
func napiPIDs(messages [][]byte, index uint32) ([]int, error) {
	pids := map[uint32]int{} // by the NAPI's number, which counts up
	for _, message := range messages {
		if len(message) < nl.SizeofGenlmsg {
			return nil, errors.New("netlink sends a NAPI without a header")
		}
		attributes, err := nl.ParseRouteAttrAsMap(message[nl.SizeofGenlmsg:])
		if err != nil {
			return nil, fmt.Errorf("reading a NAPI: %w", err)
		}
		of, id, pid := attributes[netdevANAPIIfindex].Value, attributes[netdevANAPIID].Value, attributes[netdevANAPIPID].Value
		if len(of) == 4 && len(id) == 4 && len(pid) == 4 && binary.NativeEndian.Uint32(of) == index {
			pids[binary.NativeEndian.Uint32(id)] = int(binary.NativeEndian.Uint32(pid))
		}
	}
	var ordered []int
	for _, id := range slices.Sorted(maps.Keys(pids)) {
		ordered = append(ordered, pids[id])
	}
	return ordered, nil
}

// napiByComparing finds the threads on kernels that cannot be asked: those of the
// device's name that appear when its NAPI is made anew, one for each queue.
// Switching GRO does that on a virtual pair; switching only threading keeps the
// threads. When another process makes a device of that name meanwhile, there are
// too many, and it is done again.
func napiByComparing(device string, queues int) ([]int, error) {
	const attempts = 20
	for range attempts {
		found, err := newThreads(device)
		if err != nil {
			return nil, fmt.Errorf("finding the receive threads of %s: %w", device, err)
		}
		if len(found) == queues {
			return found, nil
		}
	}
	return nil, fmt.Errorf("the receive threads of %s cannot be told from others of that name: try again when no other testbed is being built", device)
}

// newThreads makes a device's NAPI anew and returns the threads that came of it.
func newThreads(device string) ([]int, error) {
	prefix := "napi/" + device + "-"
	var before, after []int
	err := withEthtool(func(tool *ethtool.Socket) (err error) {
		if err = tool.Change(device, map[string]bool{"rx-gro": false}); err != nil {
			return err
		}
		if before, err = kernelThreads(prefix); err != nil {
			return err
		}
		if err = tool.Change(device, map[string]bool{"rx-gro": true}); err != nil {
			return err
		}
		after, err = kernelThreads(prefix)
		return err
	})
	return slices.DeleteFunc(after, func(pid int) bool { return slices.Contains(before, pid) }), err
}

// kernelThreads lists the processes whose names begin with prefix: napi/DEVICE-ID
// (net/core/dev.c, napi_kthread_create), cut to 15 bytes by older kernels.
func kernelThreads(prefix string) ([]int, error) {
	prefix = prefix[:min(len(prefix), 15)]
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var pids []int
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(text), prefix) {
			continue // it ended meanwhile, or is another
		}
		pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
		pids = append(pids, pid)
	}
	slices.Sort(pids) // by their making
	return pids, nil
}
