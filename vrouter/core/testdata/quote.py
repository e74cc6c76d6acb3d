#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Writes quote.json: packets of flows to an address with several ways, each with an ICMP error that quotes the flow's answer.

Both are made by scapy; the node and the MACs are those of golden.py:
    python3 quote.py > quote.json
Where "same" says so, the error must have the flow's way. "at" is where both are received: those of the fabric
come under the network's own label. A kind has eight flows, so that no other rule gives all of them the right way.
"""
import json

from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6PacketTooBig, ICMPv6ParamProblem, ICMPv6TimeExceeded, IPv6, IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, PadN)
from scapy.layers.l2 import GRE, Ether
from scapy.packet import Raw

GATEWAY, SENDER = "00:00:5e:00:01:00", "02:00:00:00:01:03"
NODE = ["", "02:00:00:00:00:01", "02:00:00:00:00:02"]
# Who asks, the address that many serve, and a router on the way back. What a container sends is its own.
VIF = {4: ("10.0.1.3", "10.7.0.1", "10.0.1.3"), 6: ("fd00:1::3", "fd00:7::1", "fd00:1::3")}
FABRIC = {4: ("10.0.1.4", "10.7.0.2", "198.51.100.7"), 6: ("fd00:1::4", "fd00:7::2", "2001:db8::7")}
pairs = []


class Place:
    """Where a flow is received, and by which family."""

    def __init__(self, at, version):
        self.at, self.version = at, version
        self.client, self.service, self.router = (VIF if at == "vif1" else FABRIC)[version]

    def ip(self, src, dst, *between, proto=None, **fields):
        if self.version == 4:
            return IP(src=src, dst=dst, id=7, **fields, **({"proto": proto} if proto is not None else {}))
        head = IPv6(src=src, dst=dst, hlim=64)
        for extension in between:
            head = head / extension
        return head

    def frame(self, packet):
        if self.at == "vif1":
            return Ether(src=SENDER, dst=GATEWAY) / packet
        return (Ether(src=NODE[2], dst=NODE[1]) / IP(src="10.0.0.2", dst="10.0.0.1", ttl=64, id=0, flags="DF") /
                UDP(sport=50000, dport=6635, chksum=0) / MPLS(label=40, cos=0, s=1, ttl=64) / packet)

    def error(self, answer, quoted=None, kind=0, before=(), **fields):
        """About an answer of the service, as a router saw it, which had counted down its time to live."""
        text = bytearray(bytes(answer))
        text[8 if self.version == 4 else 7] -= 3
        text = Raw(bytes(text[:quoted]))
        if self.version == 4:
            icmp = [ICMP(type=3, code=4, nexthopmtu=1400), ICMP(type=11), ICMP(type=12, ptr=1)][kind]
        else:
            icmp = [ICMPv6PacketTooBig(mtu=1400), ICMPv6TimeExceeded(), ICMPv6ParamProblem(ptr=1), ICMPv6DestUnreach(code=4)][kind]
        return self.ip(self.router, self.service, *before, **fields) / icmp / text

    def pair(self, name, flow, error, same=True):
        pairs.append({"name": "%s, ipv%d: %s" % (self.at, self.version, name), "at": self.at, "same": same,
                      "flow": bytes(self.frame(flow)).hex(), "error": bytes(self.frame(error)).hex()})

    def both(self, ask, answer, *between, **fields):
        """A packet of the flow, and its answer."""
        return (self.ip(self.client, self.service) / ask, self.ip(self.service, self.client, *between, **fields) / answer)

    def ports(self, i):
        """What has ports, and errors of each kind about it."""
        header = 28 if self.version == 4 else 48
        port = 20000 + 977 * i
        ask, answer = self.both(TCP(sport=port, dport=443, flags="A"), TCP(sport=443, dport=port, flags="PA") / Raw(b"t" * 60))
        self.pair("tcp %d" % i, ask, self.error(answer))
        self.pair("tcp %d, of which eight bytes are quoted" % i, ask, self.error(answer, quoted=header))
        self.pair("tcp %d, whose time is over" % i, ask, self.error(answer, kind=1))
        self.pair("tcp %d, with a problem" % i, ask, self.error(answer, kind=2))
        ask, answer = self.both(UDP(sport=port, dport=53) / Raw(b"q" * 30), UDP(sport=53, dport=port) / Raw(b"a" * 90))
        self.pair("udp %d" % i, ask, self.error(answer))
        # Of no flow: what an echo carries is anything.
        echo = ICMP(id=i, seq=1) if self.version == 4 else ICMPv6EchoRequest(id=i, seq=1)
        self.pair("udp %d in an echo" % i, ask, self.ip(self.client, self.service) / echo / Raw(bytes(answer)), same=False)

    def headers(self, i):
        """What stands between, in the error and in what it quotes."""
        port = 20000 + 977 * i
        tcp = TCP(sport=port, dport=443, flags="A"), TCP(sport=443, dport=port, flags="PA") / Raw(b"t" * 40)
        if self.version == 4:
            ask, answer = self.both(*tcp, options=[IPOption_NOP()] * 8)
            self.pair("tcp %d, quoted with options" % i, ask, self.error(answer))
            self.pair("tcp %d, in an error with options" % i, ask, self.error(answer, options=[IPOption_NOP()] * 40))
            return
        pad = [IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)]), IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 28)])]
        ask, answer = self.both(*tcp, *pad)
        self.pair("tcp %d, quoted with extensions" % i, ask, self.error(answer))
        self.pair("tcp %d, unreachable, in an error with extensions" % i, ask, self.error(answer, kind=3, before=pad))

    def without(self, i):
        """What has no ports, and what does not show them."""
        port = 20000 + 977 * i
        udp = UDP(sport=53, dport=port, len=1408) / Raw(b"a" * 92)
        ask = self.ip(self.client, self.service) / UDP(sport=port, dport=53) / Raw(b"q" * 30)
        if self.version == 4:
            first, later = self.ip(self.service, self.client, flags="MF", proto=17) / udp, self.ip(
                self.service, self.client, frag=100, proto=17) / Raw(b"l" * 40)
            piece = self.ip(self.client, self.service, frag=100, proto=17) / Raw(b"l" * 40)
            echo = self.both(ICMP(type=8, id=i, seq=1), ICMP(type=0, id=i, seq=1))
        else:
            first = self.ip(self.service, self.client, IPv6ExtHdrFragment(nh=17, offset=0, m=1, id=i)) / udp
            later = self.ip(self.service, self.client, IPv6ExtHdrFragment(nh=17, offset=100, id=i)) / Raw(b"l" * 40)
            piece = self.ip(self.client, self.service, IPv6ExtHdrFragment(nh=17, offset=100, id=i)) / Raw(b"l" * 40)
            echo = self.both(ICMPv6EchoRequest(id=i, seq=1), ICMPv6EchoReply(id=i, seq=1))
        self.pair("the first fragment of udp %d" % i, ask, self.error(first))
        self.pair("a later fragment of udp %d" % i, piece, self.error(later))
        self.pair("echo %d" % i, echo[0], self.error(echo[1]))
        gre = self.both(GRE(proto=0x0800) / Raw(b"g" * 40), GRE(proto=0x0800) / Raw(b"r" * 40))
        self.pair("gre %d" % i, gre[0], self.error(gre[1]))


for at in ("vif1", "fabric"):
    for version in (4, 6):
        place = Place(at, version)
        for i in range(8):
            place.ports(i)
            place.headers(i)
            place.without(i)
print("[\n" + ",\n".join(json.dumps(p) for p in pairs) + "\n]")
