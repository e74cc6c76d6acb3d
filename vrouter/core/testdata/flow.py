#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Writes flow.json: frames of a port in flow mode, in the order in which they come, and what becomes of each.

The form, the node and the MACs are those of golden.py; both sides are made by scapy:
    python3 flow.py > flow.json
The port "sender" has a policy: everything may begin from it; to it only TCP to port 80, and ICMP. So has "left", which is
bridged. To "right", beside it, only UDP to port 9 may begin, and nothing from it. "over6" is open but for UDP to port 53.
"""
import json

from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6MLReport2, ICMPv6MLDMultAddrRec, ICMPv6ND_NA, ICMPv6ND_NS,
    ICMPv6ND_RA, ICMPv6ND_RS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, ICMPv6PacketTooBig, IPv6, IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, PadN, RouterAlert)
from scapy.layers.l2 import ARP, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw

GATEWAY, SENDER = "00:00:5e:00:01:00", "02:00:00:00:01:03"
NODE = ["", "02:00:00:00:00:01", "02:00:00:00:00:02"]
cases = []


def outer(sport, label):
    return UDP(sport=sport, dport=6635, chksum=0) / MPLS(label=label, cos=0, s=1, ttl=64)


def note(name, at, packet, op, out, drop, any_bytes=(34, 35), **more):
    cases.append({"name": name, "at": at, "gso_size": 0, "in": bytes(packet).hex(), "op": op, "drop": drop,
                  "out": bytes(out).hex() if out else "", "any": list(any_bytes) if op in ("tunnel", "bridge_tunnel") else [], **more})


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


LEFT, RIGHT, FAR, ALL = "02:00:00:00:04:03", "02:00:00:00:04:05", "02:00:00:00:04:22", "ff:ff:ff:ff:ff:ff"


def carried(frame, to=2, vni=6001):
    """A whole frame in VXLAN, as it leaves node 1."""
    return (Ether(src=NODE[1], dst="02:00:00:00:00:%02x" % to) / IP(src="10.0.0.1", dst="10.0.0.%d" % to, ttl=64, id=0, flags="DF") /
            UDP(sport=49152, dport=4789, chksum=0) / VXLAN(vni=vni, flags=0x08) / frame)


def brought(frame, vni=6001):
    """The same, as it comes to node 1."""
    return (Ether(src=NODE[2], dst=NODE[1]) / IP(src="10.0.0.2", dst="10.0.0.1", ttl=64, id=0, flags="DF") /
            UDP(sport=50000, dport=4789, chksum=0) / VXLAN(vni=vni, flags=0x08) / frame)


def bridged_far(name, frame, drop="", at="vif5"):
    note(name, at, frame, "drop" if drop else "bridge_tunnel", None if drop else carried(frame), drop)


def bridged_from_far(name, frame, drop=""):
    note(name, "fabric", brought(frame), "drop" if drop else "bridge_decap", None if drop else frame, drop)


def to_all(name, at, frame, ports, fabric=True):
    """A frame for all, of which copies go to some ports and, if a port sent it, to both other nodes."""
    copies = [(p, frame, ()) for p in ports]
    if at != "fabric" and fabric:
        copies += [("fabric", carried(frame), (34, 35)), ("fabric", carried(frame, to=3, vni=6003), (34, 35))]
    note(name, at, brought(frame) if at == "fabric" else frame, "flood" if copies else "drop", copies[-1][1] if copies else None,
         "" if copies else "policy_denied", **({"copies": [{"at": p, "out": bytes(out).hex(), "any": list(a)} for p, out, a in copies]} if copies else {}))
    if copies:
        cases[-1]["any"] = list(copies[-1][2])


class Link(Family):
    """The same packets, bridged: between the port "left" and another node's host."""

    def __init__(self, version):
        super().__init__(version)
        self.here, self.there, self.beside = (("10.0.4.%d" if version == 4 else "fd00:4::%d") % n for n in (3, 22, 5))

    def sent(self, name, payload, drop="", **ip):
        bridged_far("bridged ipv%d: %s" % (self.version, name), Ether(src=LEFT, dst=FAR) / self.ip(self.here, self.there, **ip) / payload, drop)

    def came(self, name, payload, drop="", dst=None, **ip):
        bridged_from_far("bridged ipv%d: %s" % (self.version, name), Ether(src=FAR, dst=LEFT) / self.ip(self.there, dst or self.here, **ip) / payload, drop)


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

for family in (Link(4), Link(6)):
    datagrams(family)
    connections(family)
    echoes(family)
    fragments(family)

# What a link needs crosses any port: "right" takes nothing else but UDP to port 9.
own = Raw(b"another protocol's frame, of which an even number of bytes")
asks = ARP(op=1, hwsrc=FAR, psrc="10.0.4.22", pdst="10.0.4.5")
bridged_from_far("bridged: an arp reply", Ether(src=FAR, dst=RIGHT) / ARP(op=2, hwsrc=FAR, psrc="10.0.4.22", hwdst=RIGHT, pdst="10.0.4.5"))
bridged_far("bridged: an arp reply from the port", Ether(src=RIGHT, dst=FAR) / ARP(op=2, hwsrc=RIGHT, psrc="10.0.4.5", hwdst=FAR, pdst="10.0.4.22"), at="vif6")
to_all("bridged: an arp request", "fabric", Ether(src=FAR, dst=ALL) / asks, ["vif5", "vif6"])
to_all("bridged: an arp request from the port", "vif6", Ether(src=RIGHT, dst=ALL) / ARP(op=1, hwsrc=RIGHT, psrc="10.0.4.5", pdst="10.0.4.22"), ["vif5"])


def six(src, dst, hlim=255):
    return IPv6(src=src, dst=dst, hlim=hlim)


solicits = ICMPv6ND_NS(tgt="fd00:4::5") / ICMPv6NDOptSrcLLAddr(lladdr=FAR)
advertises = ICMPv6ND_NA(tgt="fd00:4::22", R=0) / ICMPv6NDOptDstLLAddr(lladdr=FAR)
listens = ICMPv6MLReport2(records=[ICMPv6MLDMultAddrRec(rtype=4, dst="ff02::1:ff00:22")])
alert = IPv6ExtHdrHopByHop(options=[RouterAlert(), PadN()])
for name, packet, group in (
        ("a solicitation", six("fd00:4::22", "ff02::1:ff00:5") / solicits, "33:33:ff:00:00:05"),
        ("detection of a duplicate address", six("::", "ff02::1:ff00:22") / ICMPv6ND_NS(tgt="fd00:4::22"), "33:33:ff:00:00:22"),
        ("an advertisement to all", six("fd00:4::22", "ff02::1") / advertises, "33:33:00:00:00:01"),
        ("a router solicitation", six("fe80::22", "ff02::2") / ICMPv6ND_RS(), "33:33:00:00:00:02"),
        ("a router advertisement of another node", six("fe80::22", "ff02::1") / ICMPv6ND_RA(), "33:33:00:00:00:01"),
        ("a listener's report", six("fe80::22", "ff02::16", 1) / alert / listens, "33:33:00:00:00:16")):
    to_all("bridged: " + name, "fabric", Ether(src=FAR, dst=group) / packet, ["vif5", "vif6"])
for name, packet, group in (
        ("a listener's report from a router's far side", six("fd00:9::22", "ff02::16", 1) / alert / listens, "33:33:00:00:00:16"),
        ("a solicitation that a router forwarded", six("fd00:4::22", "ff02::1:ff00:5", 254) / solicits, "33:33:ff:00:00:05")):
    to_all("bridged: " + name, "fabric", Ether(src=FAR, dst=group) / packet, ["vif5"])  # as ICMP, which "left" takes
to_all("bridged: a solicitation from the port", "vif6", Ether(src=RIGHT, dst="33:33:ff:00:00:22") / six("fd00:4::5", "ff02::1:ff00:22") /
       ICMPv6ND_NS(tgt="fd00:4::22") / ICMPv6NDOptSrcLLAddr(lladdr=RIGHT), ["vif5"])
bridged_from_far("bridged: an advertisement", Ether(src=FAR, dst=RIGHT) / six("fd00:4::22", "fd00:4::5") / advertises)
bridged_from_far("bridged: an advertisement that a router forwarded", Ether(src=FAR, dst=RIGHT) / six("fd00:4::22", "fd00:4::5", 64) / advertises, "policy_denied")
bridged_from_far("bridged: an advertisement behind an extension", Ether(src=FAR, dst=RIGHT) / six("fd00:4::22", "fd00:4::5") /
                 IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)]) / advertises, "policy_denied")

# What is no IP is what the policy's default says of it.
bridged_from_far("bridged: no ip, to a port", Ether(src=FAR, dst=LEFT, type=0x88b5) / own, "policy_denied")
bridged_far("bridged: no ip, from a port", Ether(src=LEFT, dst=FAR, type=0x88b5) / own, "policy_denied")
to_all("bridged: no ip, to all", "fabric", Ether(src=FAR, dst=ALL, type=0x88b5) / own, [])
to_all("bridged: no ip, from a port to all", "vif5", Ether(src=LEFT, dst=ALL, type=0x88b5) / own, [], fabric=False)


def over6(frame, here=True):
    ends = ("fd00:f::1", "fd00:f::2") if here else ("fd00:f::2", "fd00:f::1")
    nodes = (NODE[1], NODE[2]) if here else (NODE[2], NODE[1])
    sport = 49152 if here else 50000
    return (Ether(src=nodes[0], dst=nodes[1]) / IPv6(src=ends[0], dst=ends[1], hlim=64, fl=sport) /
            UDP(sport=sport, dport=4789, chksum=0) / VXLAN(vni=6006, flags=0x08) / frame)


own_frame = Ether(src=LEFT, dst=FAR, type=0x88b5) / own
note("bridged over ipv6: no ip, from an open port", "vif8", own_frame, "bridge_tunnel", over6(own_frame), "", any_bytes=(54, 55, 16, 17))
own_frame = Ether(src=FAR, dst=LEFT, type=0x88b5) / own
note("bridged over ipv6: no ip, to an open port", "fabric", over6(own_frame, False), "bridge_decap", own_frame, "")
query = Ether(src=FAR, dst=LEFT) / IP(src="10.0.4.22", dst="10.0.4.3") / udp(40000, 53)
note("bridged over ipv6: what an open port denies", "fabric", over6(query, False), "drop", None, "policy_denied")
query = Ether(src=FAR, dst=LEFT) / IP(src="10.0.4.22", dst="10.0.4.3") / udp(40000, 54)
note("bridged over ipv6: what it allows", "fabric", over6(query, False), "bridge_decap", query, "")


# From port to port both policies are asked, and of a frame for all each one that it would come to.
def beside(name, at, frame, drop=""):
    note(name, at, frame, "drop" if drop else "bridge", None if drop else frame, drop)


def left(payload, dst, mac):
    return Ether(src=LEFT, dst=mac) / IP(src="10.0.4.3", dst=dst, id=7) / payload


def right(payload, dst, mac):
    return Ether(src=RIGHT, dst=mac) / IP(src="10.0.4.5", dst=dst, id=7) / payload


beside("bridged beside: what both allow", "vif5", left(udp(40000, 9), "10.0.4.5", RIGHT))
beside("bridged beside: its answer", "vif6", right(udp(9, 40000), "10.0.4.3", LEFT))
beside("bridged beside: what the sender's policy denies", "vif6", right(udp(9, 40001), "10.0.4.3", LEFT), "policy_denied")
bridged_far("bridged: what the sender's policy allows, to another node", left(udp(40000, 10), "10.0.4.5", FAR))
beside("bridged beside: the same, which the receiver's denies", "vif5", left(udp(40000, 10), "10.0.4.5", RIGHT), "policy_denied")
to_all("bridged to all: what the port beside allows", "vif5", left(udp(40000, 9), "10.0.4.255", ALL), ["vif6"])
to_all("bridged to all: what the port beside denies", "vif5", left(udp(40000, 10), "10.0.4.255", ALL), [])
to_all("bridged to all: what the sender's policy denies", "vif6", right(udp(40000, 9), "10.0.4.255", ALL), [], fabric=False)
far = Ether(src=FAR, dst=ALL) / IP(src="10.0.4.22", dst="10.0.4.255", id=7)
to_all("bridged to all from far: what one port allows", "fabric", far / udp(40000, 9), ["vif6"])
to_all("bridged to all from far: what the other allows", "fabric", far / tcp(40000, 80, "S"), ["vif5"])
to_all("bridged to all from far: what both deny", "fabric", far / udp(40000, 10), [])
to_all("bridged to an unknown mac from far: what one port allows", "fabric", Ether(src=FAR, dst="02:00:00:00:04:77") /
       IP(src="10.0.4.22", dst="10.0.4.77", id=7) / udp(40000, 9), ["vif6"])
note("routed on the link: what the receiver allows", "vif5", left(udp(40002, 9), "10.0.4.5", GATEWAY), "encap",
     Ether(src=GATEWAY, dst=RIGHT) / IP(src="10.0.4.3", dst="10.0.4.5", id=7, ttl=63) / udp(40002, 9), "")
beside("routed to it, bridged from it: one flow", "vif6", right(udp(9, 40002), "10.0.4.3", LEFT))


# What is behind a packet's end tells no flow.
def tunnelled(packet):
    return Ether(src=NODE[2], dst=NODE[1]) / IP(src="10.0.0.2", dst="10.0.0.1", ttl=64, id=0, flags="DF") / outer(50000, 16) / packet


for f in (Family(4), Family(6)):
    name = "ipv%d: " % f.version
    f.sent("a query before an error", udp(40003, 53))
    quote = f.unreachable(f.here, f.there, udp(40003, 53))
    f.came("an error about the query", quote)
    for what, length in (("behind the end", 8), ("that ends before its ports do", 8 + (20 if f.version == 4 else 40) + 4)):
        cut = f.ip(f.there, f.here, 63)
        if f.version == 4:
            cut.len, cut.proto = 20 + length, 1
        else:
            cut.plen, cut.nh = length, 58
        note(name + "an error about a packet " + what, "fabric", tunnelled(cut / quote), "drop", None, "icmp_unrelated")
hides = IPv6(src="fd00:1::4", dst="fd00:1::3", hlim=63, plen=16, nh=44) / IPv6ExtHdrFragment(m=1, id=7, nh=60) / Raw(bytes.fromhex("0600010400000000"))
note("a fragment whose port is behind its end", "fabric", tunnelled(hides / tcp(50000, 80, "S")), "drop", None, "inner_bad_header")
rest = IPv6(src="fd00:1::4", dst="fd00:1::3", hlim=63) / IPv6ExtHdrFragment(offset=1, id=7, nh=60) / Raw(bytes(tcp(50000, 22, "S")))
note("the fragment that it was to let in", "fabric", tunnelled(rest), "drop", None, "fragment_unknown")

print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
