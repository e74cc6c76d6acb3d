package netns

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"windtunnel/testbed"
)

// rootHandle is the handle of the queues that are made here, 1:0.
var rootHandle = netlink.MakeHandle(1, 0)

// setTxQueue gives a device a transmit queue, as a NIC has: first in, first out,
// one for each of its hardware's. A virtual pair has none, and with NAPI at the
// other end it drops what does not fit into that end's ring of 256; with a queue
// it stops and goes on (Linux 6.16 and later, drivers/net/veth.c, veth_xmit), and
// so the sender's TCP waits rather than loses.
func setTxQueue(h *handle, device netlink.Link, p testbed.Interface) error {
	if err := removeTxQueue(h, device); err != nil || p.TxQueue == 0 {
		return err
	}
	// A pfifo without options takes its limit from here.
	if err := h.LinkSetTxQLen(device, p.TxQueue); err != nil {
		return fmt.Errorf("setting the queue's length: %w", err)
	}
	if p.Queues <= 1 {
		return addQdisc(h, device, "pfifo", rootHandle, netlink.HANDLE_ROOT)
	}
	if err := addQdisc(h, device, "mq", rootHandle, netlink.HANDLE_ROOT); err != nil {
		return err
	}
	for queue := range p.Queues {
		parent := netlink.MakeHandle(1, uint16(queue+1))
		if err := addQdisc(h, device, "pfifo", 0, parent); err != nil {
			return err
		}
	}
	return nil
}

func addQdisc(h *handle, device netlink.Link, kind string, handle, parent uint32) error {
	qdisc := &netlink.GenericQdisc{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: device.Attrs().Index, Handle: handle, Parent: parent},
		QdiscType:  kind,
	}
	if err := h.QdiscReplace(qdisc); err != nil {
		return fmt.Errorf("adding the queue %s: %w", kind, err)
	}
	return nil
}

func removeTxQueue(h *handle, device netlink.Link) error {
	root, err := txQueue(h, device)
	if err != nil || root == nil {
		return err
	}
	if err := h.QdiscDel(root); err != nil {
		return fmt.Errorf("removing the queue %s: %w", root.Type(), err)
	}
	return nil
}

// txQueue returns the queue that setTxQueue made, nil if there is none.
func txQueue(h *handle, device netlink.Link) (netlink.Qdisc, error) {
	all, err := h.QdiscList(device)
	if err != nil {
		return nil, fmt.Errorf("reading the queues of %s: %w", device.Attrs().Name, err)
	}
	for _, q := range all {
		if q.Attrs().Parent == netlink.HANDLE_ROOT && q.Attrs().Handle == rootHandle {
			return q, nil
		}
	}
	return nil, nil
}

// queueDifference compares a device's queue with the graph's.
func queueDifference(h *handle, device netlink.Link, p testbed.Interface) error {
	root, err := txQueue(h, device)
	switch length := device.Attrs().TxQLen; {
	case err != nil:
		return err
	case root == nil && p.TxQueue > 0:
		return fmt.Errorf("there is no transmit queue of %d packets", p.TxQueue)
	case root != nil && p.TxQueue == 0:
		return fmt.Errorf("there is a transmit queue (%s) that nobody asked for", root.Type())
	case root != nil && length != p.TxQueue:
		return fmt.Errorf("the transmit queue takes %d packets, not %d", length, p.TxQueue)
	}
	return nil
}
