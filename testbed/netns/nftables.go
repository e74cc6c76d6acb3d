package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// What a transaction of nf_tables is made of (linux/netfilter/nf_tables.h): numbers of attributes are big-endian.
const (
	natTable    = "windtunnel"
	preRouting  = "prerouting"
	postRouting = "postrouting"

	// The places of NAT among a hook's chains (linux/netfilter_ipv4.h: NF_IP_PRI_NAT_DST and NF_IP_PRI_NAT_SRC).
	beforeRouting = -100
	afterRouting  = 100

	// Where addresses and ports stand in their headers (RFC 791, section 3.1; RFC 9293, section 3.1; RFC 768).
	sourceAddress      = 12
	destinationAddress = 16
	destinationPort    = 2
)

// answerWithin is how long the kernel may take to say what became of a transaction.
const answerWithin = 5 * time.Second

// publishPorts has ports of TCP and UDP at an address of the calling thread's stack lead to another address, and what comes from
// there by itself leave with an address of this stack.
func publishPorts(address, to netip.Addr, ports []int) error {
	var t transaction
	t.begin()
	// A table that is there is made anew: one that is not could not be deleted.
	table := attribute(unix.NFTA_TABLE_NAME, nl.ZeroTerminated(natTable))
	t.add(unix.NFT_MSG_NEWTABLE, unix.NLM_F_CREATE, table)
	t.add(unix.NFT_MSG_DELTABLE, 0, table)
	t.add(unix.NFT_MSG_NEWTABLE, unix.NLM_F_CREATE, table)
	t.chain(preRouting, unix.NF_INET_PRE_ROUTING, beforeRouting)
	t.chain(postRouting, unix.NF_INET_POST_ROUTING, afterRouting)
	for _, port := range ports {
		for _, protocol := range []byte{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
			t.rule(preRouting, is(header(unix.NFT_PAYLOAD_NETWORK_HEADER, destinationAddress, 4), address.AsSlice()),
				is(expression("meta", number(unix.NFTA_META_KEY, unix.NFT_META_L4PROTO), number(unix.NFTA_META_DREG, unix.NFT_REG_1)), []byte{protocol}),
				is(header(unix.NFT_PAYLOAD_TRANSPORT_HEADER, destinationPort, 2), binary.BigEndian.AppendUint16(nil, uint16(port))),
				rewritten(to))
		}
	}
	t.rule(postRouting, is(header(unix.NFT_PAYLOAD_NETWORK_HEADER, sourceAddress, 4), to.AsSlice()), []*nl.RtAttr{expression("masq")})
	t.end()
	if err := t.commit(); err != nil {
		return fmt.Errorf("publishing ports by nf_tables (the modules nft_chain_nat, nft_nat and nft_masq): %w", err)
	}
	return nil
}

// transaction is a batch of messages: the kernel does all of them, or none.
type transaction struct {
	messages []byte
	answers  int // that are to come
}

func (t *transaction) begin() {
	t.message(unix.NFNL_MSG_BATCH_BEGIN, 0, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES)
}

func (t *transaction) end() {
	t.message(unix.NFNL_MSG_BATCH_END, 0, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES)
}

func (t *transaction) add(kind, flags int, attributes ...*nl.RtAttr) {
	t.message(unix.NFNL_SUBSYS_NFTABLES<<8|kind, flags|unix.NLM_F_ACK, unix.NFPROTO_IPV4, 0, attributes...)
	t.answers++
}

func (t *transaction) message(kind, flags int, family byte, resource uint16, attributes ...*nl.RtAttr) {
	m := nl.NewNetlinkRequest(kind, flags)
	m.AddData(&nl.Nfgenmsg{NfgenFamily: family, Version: unix.NFNETLINK_V0, ResId: nl.Swap16(resource)})
	for _, a := range attributes {
		m.AddData(a)
	}
	t.messages = append(t.messages, m.Serialize()...)
}

func (t *transaction) chain(name string, hook, priority int) {
	at := attribute(unix.NFTA_CHAIN_HOOK|unix.NLA_F_NESTED, nil)
	at.AddChild(number(unix.NFTA_HOOK_HOOKNUM, uint32(hook)))
	at.AddChild(number(unix.NFTA_HOOK_PRIORITY, uint32(int32(priority))))
	t.add(unix.NFT_MSG_NEWCHAIN, unix.NLM_F_CREATE, attribute(unix.NFTA_CHAIN_TABLE, nl.ZeroTerminated(natTable)),
		attribute(unix.NFTA_CHAIN_NAME, nl.ZeroTerminated(name)), at, attribute(unix.NFTA_CHAIN_TYPE, nl.ZeroTerminated("nat")))
}

// rule adds one of expressions, which are evaluated in turn.
func (t *transaction) rule(chain string, parts ...[]*nl.RtAttr) {
	all := attribute(unix.NFTA_RULE_EXPRESSIONS|unix.NLA_F_NESTED, nil)
	for _, part := range parts {
		for _, e := range part {
			all.AddChild(e)
		}
	}
	t.add(unix.NFT_MSG_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_APPEND, attribute(unix.NFTA_RULE_TABLE, nl.ZeroTerminated(natTable)),
		attribute(unix.NFTA_RULE_CHAIN, nl.ZeroTerminated(chain)), all)
}

// commit sends the messages in the calling thread's stack and returns the first refusal.
func (t *transaction) commit() error {
	socket, err := nl.Subscribe(unix.NETLINK_NETFILTER)
	if err != nil {
		return fmt.Errorf("opening a netlink socket: %w", err)
	}
	defer socket.Close()
	limit := unix.NsecToTimeval(answerWithin.Nanoseconds())
	if err := errors.Join(socket.SetSendTimeout(&limit), socket.SetReceiveTimeout(&limit)); err != nil {
		return err
	}
	if err := unix.Sendto(socket.GetFd(), t.messages, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	for t.answers > 0 {
		answers, _, err := socket.Receive()
		if err != nil {
			return fmt.Errorf("waiting for %d answers: %w", t.answers, err)
		}
		for _, a := range answers {
			if a.Header.Type != unix.NLMSG_ERROR || len(a.Data) < 4 {
				continue
			}
			if code := int32(binary.NativeEndian.Uint32(a.Data)); code != 0 {
				return unix.Errno(-code)
			}
			t.answers--
		}
	}
	return nil
}

func attribute(kind int, value []byte) *nl.RtAttr { return nl.NewRtAttr(kind, value) }

func number(kind int, value uint32) *nl.RtAttr { return nl.NewRtAttr(kind, nl.BEUint32Attr(value)) }

// value is a number of bytes, for an expression to use.
func value(kind int, bytes []byte) *nl.RtAttr {
	v := attribute(kind|unix.NLA_F_NESTED, nil)
	v.AddRtAttr(unix.NFTA_DATA_VALUE, bytes)
	return v
}

func expression(name string, attributes ...*nl.RtAttr) *nl.RtAttr {
	e := attribute(unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED, nil)
	e.AddRtAttr(unix.NFTA_EXPR_NAME, nl.ZeroTerminated(name))
	if len(attributes) > 0 {
		data := attribute(unix.NFTA_EXPR_DATA|unix.NLA_F_NESTED, nil)
		for _, a := range attributes {
			data.AddChild(a)
		}
		e.AddChild(data)
	}
	return e
}

// header loads bytes of one.
func header(base, offset, length uint32) *nl.RtAttr {
	return expression("payload", number(unix.NFTA_PAYLOAD_DREG, unix.NFT_REG_1), number(unix.NFTA_PAYLOAD_BASE, base),
		number(unix.NFTA_PAYLOAD_OFFSET, offset), number(unix.NFTA_PAYLOAD_LEN, length))
}

// is lets a packet pass on to the next expression if what was loaded is that.
func is(loaded *nl.RtAttr, bytes []byte) []*nl.RtAttr {
	return []*nl.RtAttr{loaded, expression("cmp", number(unix.NFTA_CMP_SREG, unix.NFT_REG_1), number(unix.NFTA_CMP_OP, unix.NFT_CMP_EQ),
		value(unix.NFTA_CMP_DATA, bytes))}
}

// rewritten gives packets another destination, and answers to them the address that was asked.
func rewritten(to netip.Addr) []*nl.RtAttr {
	return []*nl.RtAttr{
		expression("immediate", number(unix.NFTA_IMMEDIATE_DREG, unix.NFT_REG_1), value(unix.NFTA_IMMEDIATE_DATA, to.AsSlice())),
		expression("nat", number(unix.NFTA_NAT_TYPE, unix.NFT_NAT_DNAT), number(unix.NFTA_NAT_FAMILY, unix.NFPROTO_IPV4),
			number(unix.NFTA_NAT_REG_ADDR_MIN, unix.NFT_REG_1)),
	}
}
