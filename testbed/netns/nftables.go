package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

const (
	natTable    = "windtunnel"
	preRouting  = "prerouting"
	postRouting = "postrouting"

	// Where addresses and ports stand in their headers (RFC 791, section 3.1; RFC 9293, section 3.1; RFC 768).
	sourceAddress      = 12
	destinationAddress = 16
	destinationPort    = 2
)

const (
	// answerWithin is how long the kernel may take to say what became of a transaction.
	answerWithin = 5 * time.Second
	// answerBuffer has room for what it says of the most pairs' ports, each of whose rules it also repeats: all of it comes before
	// the first word can be read.
	answerBuffer = 4 << 20
)

// publishPorts has ports of TCP and UDP at an address of the calling thread's stack lead to another address, and what comes from
// there by itself leave with an address of this stack. The kernel does all of it, or none.
func publishPorts(address, to netip.Addr, ports []int) error {
	// A kernel without nf_tables answers once, and not for each part (net/netfilter/nfnetlink.c, nfnetlink_rcv_batch): the
	// others would be waited for without end.
	bounded := func(c *netlink.Conn) error {
		return errors.Join(c.SetDeadline(time.Now().Add(answerWithin)), c.SetReadBuffer(answerBuffer))
	}
	c, err := nftables.New(nftables.WithSockOptions(bounded))
	if err != nil {
		return fmt.Errorf("opening a netlink socket: %w", err)
	}
	// A table that is there is made anew: one that is not could not be deleted.
	table := &nftables.Table{Name: natTable, Family: nftables.TableFamilyIPv4}
	c.AddTable(table)
	c.DelTable(table)
	c.AddTable(table)
	before := c.AddChain(&nftables.Chain{Name: preRouting, Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityNATDest})
	after := c.AddChain(&nftables.Chain{Name: postRouting, Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource})
	for _, port := range ports {
		for _, protocol := range []byte{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
			c.AddRule(&nftables.Rule{Table: table, Chain: before, Exprs: published(address, to, protocol, uint16(port))})
		}
	}
	c.AddRule(&nftables.Rule{Table: table, Chain: after, Exprs: append(
		is(header(expr.PayloadBaseNetworkHeader, sourceAddress, 4), to.AsSlice()), &expr.Masq{})})
	if err := refusal(c.Flush()); err != nil {
		return fmt.Errorf("publishing ports by nf_tables (the modules nft_chain_nat, nft_nat and nft_masq): %w", err)
	}
	return nil
}

// refusal is the kernel's own reason among those of a transaction, which has one for each part.
func refusal(err error) error {
	if reason := unix.Errno(0); errors.As(err, &reason) {
		return reason
	}
	return err
}

// published gives packets to a port of an address another destination, and answers to them the address that was asked.
func published(address, to netip.Addr, protocol byte, port uint16) []expr.Any {
	var all []expr.Any
	all = append(all, is(header(expr.PayloadBaseNetworkHeader, destinationAddress, 4), address.AsSlice())...)
	all = append(all, is(&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: unix.NFT_REG_1}, []byte{protocol})...)
	all = append(all, is(header(expr.PayloadBaseTransportHeader, destinationPort, 2), binary.BigEndian.AppendUint16(nil, port))...)
	return append(all, &expr.Immediate{Register: unix.NFT_REG_1, Data: to.AsSlice()},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: unix.NFT_REG_1})
}

// header loads bytes of one.
func header(base expr.PayloadBase, offset, length uint32) expr.Any {
	return &expr.Payload{DestRegister: unix.NFT_REG_1, Base: base, Offset: offset, Len: length}
}

// is lets a packet pass on to the next expression if what was loaded is that.
func is(loaded expr.Any, bytes []byte) []expr.Any {
	return []expr.Any{loaded, &expr.Cmp{Op: expr.CmpOpEq, Register: unix.NFT_REG_1, Data: bytes}}
}
