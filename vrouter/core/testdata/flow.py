#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Writes flow.json: frames of a port in flow mode, in the order in which they come, and what becomes of each.

The form, the node and the MACs are those of golden.py; both sides are made by scapy:
    python3 flow.py > flow.json
The port "sender" has a policy: everything may begin from it; to it only TCP to port 80, and ICMP.
"""
import json

from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6PacketTooBig, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, PadN)
from scapy.layers.l2 import Ether
from scapy.packet import Raw

GATEWAY, SENDER = "00:00:5e:00:01:00", "02:00:00:00:01:03"
NODE = ["", "02:00:00:00:00:01", "02:00:00:00:00:02"]
cases = []


def outer(sport, label):
    return UDP(sport=sport, dport=6635, chksum=0) / MPLS(label=label, cos=0, s=1, ttl=64)


def note(name, at, packet, op, out, drop):
    cases.append({"name": name, "at": at, "gso_size": 0, "in": bytes(packet).hex(), "op": op, "drop": drop,
                  "out": bytes(out).hex() if out else "", "any": [34, 35] if op == "tunnel" else []})


class Family:
    """The packets of a family, and what becomes of them."""

    def __init__(self, version):
        self.version = version
        self.here, self.there, self.beside = ("10.0.1.%d" if version == 4 else "fd00:1::%d") % 3, *(
            ("10.0.1.%d" if version == 4 else "fd00:1::%d") % n for n in (4, 5))

    def ip(self, src, dst, ttl=64, fragment=None, ident=7, options=False):
        """fragment: what of a packet, in bytes, and whether more follows."""
        if self.version == 4:
            if fragment:  # Raw would make it protocol 0
                return IP(proto=17, src=src, dst=dst, ttl=ttl, id=ident, frag=fragment[0] // 8, flags="MF" if fragment[1] else 0)
            return IP(src=src, dst=dst, ttl=ttl, id=ident)
        head = IPv6(src=src, dst=dst, hlim=ttl)
        if options:
            head = head / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)])
        if fragment:
            head = head / IPv6ExtHdrFragment(nh=17, offset=fragment[0] // 8, m=int(fragment[1]), id=ident << 20 | ident)
        return head

    def sent(self, name, payload, drop="", **ip):
        """From the container."""
        def packet(ttl):
            return self.ip(self.here, self.there, ttl, **ip) / payload
        name = "ipv%d: %s" % (self.version, name)
        out = (Ether(src=NODE[1], dst=NODE[2]) / IP(src="10.0.0.1", dst="10.0.0.2", ttl=64, id=0, flags="DF") / outer(49152, 17) /
               packet(63))
        note(name, "vif1", Ether(src=SENDER, dst=GATEWAY) / packet(64), "drop" if drop else "tunnel", None if drop else out, drop)

    def came(self, name, payload, drop="", dst=None, **ip):
        """To the container, in a tunnel."""
        packet = self.ip(self.there, dst or self.here, 63, **ip) / payload
        frame = (Ether(src=NODE[2], dst=NODE[1]) / IP(src="10.0.0.2", dst="10.0.0.1", ttl=64, id=0, flags="DF") / outer(50000, 16) / packet)
        name = "ipv%d: %s" % (self.version, name)
        note(name, "fabric", frame, "drop" if drop else "decap", None if drop else Ether(src=GATEWAY, dst=SENDER) / packet, drop)

    def echo(self, reply, ident):
        if self.version == 4:
            return ICMP(type=0 if reply else 8, id=ident, seq=1) / Raw(b"p" * 16)
        return (ICMPv6EchoReply if reply else ICMPv6EchoRequest)(id=ident, seq=1, data=b"p" * 16)

    def unreachable(self, src, dst, payload, quoted=28, **ip):
        """An error with the beginning of a packet: its header and 8 bytes at least."""
        packet = bytes(self.ip(src, dst, 60, **ip) / payload)
        if self.version == 4:
            return ICMP(type=3, code=3) / Raw(packet[:quoted])
        return ICMPv6DestUnreach(code=4) / Raw(packet[:quoted + 20 + (8 if ip.get("options") or ip.get("fragment") else 0)])

    def too_big(self, payload):
        packet = bytes(self.ip(self.here, self.there, 60) / payload)
        if self.version == 4:
            return ICMP(type=3, code=4, nexthopmtu=1400) / Raw(packet[:28])
        return ICMPv6PacketTooBig(mtu=1400) / Raw(packet[:48])


def udp(sport, dport, size=40):
    return UDP(sport=sport, dport=dport) / Raw(b"u" * size)


def tcp(sport, dport, flags, seq=1):
    return TCP(sport=sport, dport=dport, flags=flags, seq=seq, ack=0 if flags == "S" else 1) / Raw(b"" if "S" in flags else b"t" * 10)


def pieces(f, sport, dport):
    """The two fragments of a datagram of 64 bytes, from a side to the other."""
    whole = bytes((f.ip(f.here, f.there) / udp(sport, dport, 56)).payload)
    return Raw(whole[:32]), Raw(whole[32:])


def piece(which, ident=9):
    return {"fragment": (32, False) if which else (0, True), "ident": ident}


def datagrams(f):
    query, answer = udp(40000, 53), udp(53, 40000)
    f.came("an answer that nobody asked for", answer, "policy_denied")
    f.came("an error about what nobody sent", f.unreachable(f.here, f.there, query), "icmp_unrelated")
    f.sent("a query", query)
    f.came("its answer", answer)
    f.came("the answer from another port", udp(54, 40000), "policy_denied")
    f.came("an error about the query", f.unreachable(f.here, f.there, query))
    f.came("packet too big, about the query", f.too_big(query))
    f.came("an error that quotes another port", f.unreachable(f.here, f.there, udp(40000, 54)), "icmp_unrelated")
    f.came("an error that quotes what the other side sent", f.unreachable(f.there, f.here, answer), "icmp_unrelated")
    f.came("an error to somebody else about the query", f.unreachable(f.here, f.there, query), "icmp_unrelated", dst=f.beside)
    f.came("an error about an error", f.unreachable(f.here, f.there, f.unreachable(f.there, f.here, answer)), "icmp_unrelated")
    f.came("an error that quotes too little", f.unreachable(f.here, f.there, query, quoted=24), "icmp_unrelated")
    f.sent("an error about the answer", f.unreachable(f.there, f.here, answer))
    f.sent("an error about what never came", f.unreachable(f.there, f.here, udp(53, 40001)), "icmp_unrelated")


def connections(f):
    f.came("a connection to port 80", tcp(50000, 80, "S"))
    f.sent("it is accepted", tcp(80, 50000, "SA"))
    f.came("its handshake ends", tcp(50000, 80, "A"))
    f.came("a connection to port 81", tcp(50000, 81, "S"), "policy_denied")
    f.sent("a connection from the port", tcp(40000, 443, "S"))
    f.came("it is refused", tcp(443, 40000, "RA"))
    f.came("the other side takes it up again", tcp(443, 40000, "S"), "policy_denied")
    f.sent("the port takes it up again", tcp(40000, 443, "S", seq=9))
    f.came("now it is accepted", tcp(443, 40000, "SA"))


def echoes(f):
    f.came("a reply to no echo", f.echo(True, 1), "policy_denied")
    f.came("an echo", f.echo(False, 2))
    f.sent("its reply", f.echo(True, 2))
    f.sent("an echo from the port", f.echo(False, 3))
    f.came("the reply to it", f.echo(True, 3))
    f.came("an error about the echo", f.unreachable(f.here, f.there, f.echo(False, 3)))
    f.came("an error about an echo that never was", f.unreachable(f.here, f.there, f.echo(False, 4)), "icmp_unrelated")


def fragments(f):
    first, later = pieces(f, 40000, 53)
    back, rest = pieces(f, 53, 40000)
    alien, more = pieces(f, 53, 41000)

    f.sent("a later fragment before its first", later, "fragment_unknown", **piece(1))
    f.sent("a first fragment", first, **piece(0))
    f.sent("the fragment behind it", later, **piece(1))
    f.sent("a fragment of another packet", later, "fragment_unknown", **piece(1, 10))
    f.came("a fragment of the other direction", rest, "fragment_unknown", **piece(1))
    f.came("the answer's first fragment", back, **piece(0))
    f.came("and the one behind it", rest, **piece(1))
    f.came("a first fragment that nobody asked for", alien, "policy_denied", **piece(0, 11))
    f.came("what follows it", more, "fragment_unknown", **piece(1, 11))
    f.came("an error about the first fragment", f.unreachable(f.here, f.there, first, **piece(0)))
    f.came("an error about the later one", f.unreachable(f.here, f.there, later, **piece(1)))
    f.came("an error about a fragment that never was", f.unreachable(f.here, f.there, later, **piece(1, 10)), "icmp_unrelated")


for family in (Family(4), Family(6)):
    datagrams(family)
    connections(family)
    echoes(family)
    fragments(family)
six = Family(6)
six.sent("an extension changes nothing", udp(40000, 53), options=True)
six.came("an error that quotes an extension", six.unreachable(six.here, six.there, udp(40000, 53), options=True))
six.sent("a fragment that is the whole packet", udp(40000, 53), fragment=(0, False), ident=12)
six.sent("nothing follows it", Raw(b"u" * 16), "fragment_unknown", fragment=(32, False), ident=12)

print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
