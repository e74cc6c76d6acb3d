package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The part of the generic netlink family "netdev" that is used here, from
// include/uapi/linux/netdev.h (Linux 6.8 and later).
const (
	netdevFamily       = "netdev"
	netdevCmdNAPIGet   = 11
	netdevANAPIIfindex = 1
	netdevANAPIPID     = 4
)

// napiThreads returns the kernel threads that poll exactly this device, on the
// stack's thread. Their names do not tell: devices of other cells are called the
// same.
func napiThreads(device string) ([]int, error) {
	threads, err := napiByNetlink(device)
	if !errors.Is(err, errNoNAPIGet) {
		return threads, err
	}
	return napiByComparing(device)
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
	request := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_DUMP)
	request.AddData(&nl.Genlmsg{Command: netdevCmdNAPIGet, Version: 1})
	request.AddData(nl.NewRtAttr(netdevANAPIIfindex, nl.Uint32Attr(uint32(dev.Index))))
	messages, err := request.Execute(unix.NETLINK_GENERIC, 0)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		return nil, errors.Join(errNoNAPIGet, err)
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the NAPIs of %s: %w", device, err)
	}
	return napiPIDs(messages, uint32(dev.Index))
}

// napiPIDs reads the answers to napi-get: a NAPI that is not threaded has no PID.
func napiPIDs(messages [][]byte, index uint32) ([]int, error) {
	var pids []int
	for _, message := range messages {
		attributes, err := nl.ParseRouteAttrAsMap(message[nl.SizeofGenlmsg:])
		if err != nil {
			return nil, fmt.Errorf("reading a NAPI: %w", err)
		}
		of, pid := attributes[netdevANAPIIfindex].Value, attributes[netdevANAPIPID].Value
		if len(of) == 4 && len(pid) == 4 && binary.NativeEndian.Uint32(of) == index {
			pids = append(pids, int(binary.NativeEndian.Uint32(pid)))
		}
	}
	return pids, nil
}

// napiByComparing finds the threads on kernels that cannot be asked: those of the
// device's name that appear when its NAPI is made anew. Switching GRO does that on
// a virtual pair; switching only threading keeps the threads.
func napiByComparing(device string) ([]int, error) {
	prefix := "napi/" + device + "-"
	var before, after []int
	err := withEthtool(func(tool *ethtool.Ethtool) (err error) {
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
	if err != nil {
		return nil, fmt.Errorf("finding the receive threads of %s: %w", device, err)
	}
	return slices.DeleteFunc(after, func(pid int) bool { return slices.Contains(before, pid) }), nil
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
	return pids, nil
}
