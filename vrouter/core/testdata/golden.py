#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Writes golden.json: frames that come to the node of node.json, and what becomes of them.

Both sides are made by scapy (python3-scapy, or pip install scapy), none by the vRouter:
    python3 golden.py > golden.json
Every checksum and length below is scapy's. "any" lists the bytes that only have a range: the outer
UDP source port and, over IPv6, the flow label. MACs of the underlay: node 10.0.0.N, which is fd00:f::N
as well, has 02:00:00:00:00:0N; 10.0.0.9 is unresolved.
"""
import json

from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6MLReport2, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6ND_Redirect, ICMPv6ND_RS,
    ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, ICMPv6PacketTooBig, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting, PadN, RouterAlert)
from scapy.layers.l2 import ARP, GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Padding, Raw

GATEWAY = "00:00:5e:00:01:00"
SENDER, BESIDE, OTHER, FLAT = ("02:00:00:00:01:03", "02:00:00:00:01:05", "02:00:00:00:02:03", "02:00:00:00:03:03")
NODE = ["", "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"]
SPORT = [34, 35]
cases = []


def frame(p):
    return bytes(p).hex()


def flood(name, at, packet, copies, gso=0, any_bytes=SPORT):
    """One frame, and a copy for each: (where, frame), the last of which is the packet itself."""
    case(name, at, packet, "flood", copies[-1][1], gso=gso, any_bytes=any_bytes if copies[-1][0] == "fabric" else ())
    cases[-1]["copies"] = [{"at": where, "out": frame(copy), "any": list(any_bytes) if where == "fabric" else []} for where, copy in copies]


def case(name, at, packet, op, out=None, drop="", gso=0, any_bytes=()):
    cases.append({"name": name, "at": at, "gso_size": gso, "in": frame(packet), "op": op, "drop": drop,
                  "out": frame(out) if out is not None else "", "any": list(any_bytes)})


def drop(name, at, packet, reason, gso=0):
    case(name, at, packet, "drop", drop=reason, gso=gso)


def inner(ttl=64, src="10.0.1.3", dst="10.0.1.4", **ip):
    return IP(src=src, dst=dst, ttl=ttl, id=7, **ip)


def from_sender(p, mac=SENDER, to=GATEWAY):
    return Ether(src=mac, dst=to) / p


def tunnel(p, label, to=2, tos=0, **mpls):
    """What leaves node 1, or comes to it: RFC 7510."""
    return (Ether(src=NODE[1], dst=NODE[to]) / IP(src="10.0.0.1", dst="10.0.0.%d" % to, ttl=64, id=0, flags="DF", tos=tos) /
            UDP(sport=49152, dport=6635, chksum=0) / MPLS(label=label, cos=0, s=1, ttl=64, **mpls) / p)


def arriving(p, label, tos=0, dport=6635, s=1, ttl=64, dst="10.0.0.1"):
    return (Ether(src=NODE[2], dst=NODE[1]) / IP(src="10.0.0.2", dst=dst, ttl=64, id=0, flags="DF", tos=tos) /
            UDP(sport=50000, dport=dport, chksum=0) / MPLS(label=label, cos=0, s=s, ttl=ttl) / p)


def outer(to=2, tos=0, **ip):
    return Ether(src=NODE[1], dst=NODE[to]) / IP(src="10.0.0.1", dst="10.0.0.%d" % to, ttl=64, id=0, flags="DF", tos=tos, **ip)


def gre(p, label=33, **kw):
    """RFC 4023: GRE without options, then the label."""
    return outer(proto=47, **kw) / GRE(proto=0x8847) / MPLS(label=label, cos=0, s=1, ttl=64) / p


def vxlan(p, vni=5001, mac=GATEWAY, **kw):
    """RFC 7348."""
    return outer(**kw) / UDP(sport=49152, dport=4789, chksum=0) / VXLAN(vni=vni, flags=0x08) / Ether(src=GATEWAY, dst=mac) / p


def reached(tos=0, dst="10.0.0.1", **ip):
    return Ether(src=NODE[2], dst=NODE[1]) / IP(src="10.0.0.2", dst=dst, ttl=64, id=0, flags="DF", tos=tos, **ip)


def arriving_gre(p, label=16, head=None, s=1, ttl=64, **kw):
    return reached(proto=47, **kw) / (head or GRE(proto=0x8847)) / MPLS(label=label, cos=0, s=s, ttl=ttl) / p


def arriving_vxlan(p, vni=5001, flags=0x08, mac=GATEWAY, dport=4789, chksum=0, **kw):
    return (reached(**kw) / UDP(sport=50000, dport=dport, chksum=chksum) / VXLAN(vni=vni, flags=flags) /
            Ether(src="02:00:00:00:99:99", dst=mac) / p)


def delivered(p, mac=SENDER):
    return Ether(src=GATEWAY, dst=mac) / p


tcp = TCP(sport=40000, dport=5201, seq=1000, ack=2000, flags="A", window=500) / Raw(b"windtunnel" * 10)
udp = UDP(sport=40000, dport=53) / Raw(b"x" * 33)

# From a container into tunnels.
case("tcp into a tunnel", "vif1", from_sender(inner() / tcp), "tunnel", tunnel(inner(63) / tcp, 17), any_bytes=SPORT)
case("udp into a tunnel", "vif1", from_sender(inner() / udp), "tunnel", tunnel(inner(63) / udp, 17), any_bytes=SPORT)
case("icmp into a tunnel", "vif1", from_sender(inner() / ICMP(id=1, seq=1) / Raw(b"p" * 56)), "tunnel",
     tunnel(inner(63) / ICMP(id=1, seq=1) / Raw(b"p" * 56), 17), any_bytes=SPORT)
case("the longest prefix wins, the largest label", "vif1", from_sender(inner(dst="10.0.1.200") / udp), "tunnel",
     tunnel(inner(63, dst="10.0.1.200") / udp, 1048575, to=3), any_bytes=SPORT)
case("the same addresses in another network", "vif3", from_sender(inner() / udp, mac=OTHER), "tunnel",
     tunnel(inner(63) / udp, 55), any_bytes=SPORT)
case("ip options", "vif1", from_sender(inner(options=[IPOption_NOP()] * 4) / udp), "tunnel",
     tunnel(inner(63, options=[IPOption_NOP()] * 4) / udp, 17), any_bytes=SPORT)
case("a first fragment", "vif1", from_sender(inner(flags="MF") / udp), "tunnel", tunnel(inner(63, flags="MF") / udp, 17), any_bytes=SPORT)
for ecn in (1, 2, 3):
    case("ecn %d is copied out, dscp is not" % ecn, "vif1", from_sender(inner(tos=0xb8 | ecn) / udp), "tunnel",
         tunnel(inner(63, tos=0xb8 | ecn) / udp, 17, tos=ecn), any_bytes=SPORT)
case("ttl 2 is the last that passes", "vif1", from_sender(inner(2) / udp), "tunnel", tunnel(inner(1) / udp, 17), any_bytes=SPORT)
case("ttl 256 to 255 carries into the checksum", "vif1", from_sender(inner(255) / udp), "tunnel", tunnel(inner(254) / udp, 17), any_bytes=SPORT)

# MTU edges: 1500 outside is 1468 inside.
fits = Raw(b"f" * (1468 - 20 - 8))
case("exactly the mtu", "vif1", from_sender(inner(flags="DF") / UDP(sport=1, dport=2) / fits), "tunnel",
     tunnel(inner(63, flags="DF") / UDP(sport=1, dport=2) / fits, 17), any_bytes=SPORT)
big = inner(flags="DF") / UDP(sport=1, dport=2) / Raw(b"f" * (1469 - 20 - 8))
case("one more than the mtu, df", "vif1", from_sender(big), "too_big",
     delivered(IP(src="10.0.1.254", dst="10.0.1.3", ttl=64, id=0, flags="DF") /
               ICMP(type=3, code=4, nexthopmtu=1468) / Raw(bytes(big)[:40])))
drop("one more than the mtu, no df", "vif1", from_sender(inner() / UDP(sport=1, dport=2) / Raw(b"f" * (1469 - 28))), "mtu_exceeded")
# What follows the IP packet in its frame leaves with it, though no header counts it.
behind = Padding(b"p" * 1441)
drop("bytes behind the packet, one more than the mtu", "vif1", from_sender(inner() / UDP(sport=1, dport=2) / behind), "mtu_exceeded")
longer = inner(flags="DF") / UDP(sport=1, dport=2) / Raw(b"f" * 40) / Padding(b"p" * 1401)
case("bytes behind the packet, one more than the mtu, df", "vif1", from_sender(longer), "too_big",
     delivered(IP(src="10.0.1.254", dst="10.0.1.3", ttl=64, id=0, flags="DF") /
               ICMP(type=3, code=4, nexthopmtu=1468) / Raw(bytes(longer)[:40])))
drop("bytes behind the inner packet, one more than the port's mtu", "fabric",
     arriving(inner(63, src="10.0.1.4", dst="10.0.1.5") / UDP(sport=1, dport=2) / Raw(b"f" * 40) / Padding(b"p" * 1333), 18), "mtu_exceeded")
aggregate = Raw(b"g" * 3000)
head = TCP(sport=40000, dport=5201, seq=1000, flags="A")
case("an aggregate whose segments fit", "vif1", from_sender(inner(flags="DF") / head / aggregate), "tunnel",
     tunnel(inner(63, flags="DF") / head / aggregate, 17), gso=1428, any_bytes=SPORT)
whole = inner(flags="DF") / head / aggregate
case("an aggregate whose segments do not fit", "vif1", from_sender(whole), "too_big",
     delivered(IP(src="10.0.1.254", dst="10.0.1.3", ttl=64, id=0, flags="DF") /
               ICMP(type=3, code=4, nexthopmtu=1468) / Raw(bytes(whole)[:40])), gso=1429)

# The maximum segment size of a SYN.
def syn(mss, flags="S", before=()):
    return TCP(sport=40000, dport=5201, seq=1, flags=flags, options=[*before, ("MSS", mss), ("SAckOK", b""), ("Timestamp", (7, 0)), ("NOP", None), ("WScale", 7)])


for flags in ("S", "SA"):
    case("a size that does not fit, " + flags, "vif1", from_sender(inner(flags="DF") / syn(1460, flags)), "tunnel",
         tunnel(inner(63, flags="DF") / syn(1428, flags), 17), any_bytes=SPORT)
case("a size that just fits", "vif1", from_sender(inner() / syn(1428)), "tunnel", tunnel(inner(63) / syn(1428), 17), any_bytes=SPORT)
case("a size that does not fit into gre", "vif1", from_sender(inner(dst="10.0.1.65") / syn(1433)), "tunnel", gre(inner(63, dst="10.0.1.65") / syn(1432)))
case("a size that does not fit into vxlan", "vif1", from_sender(inner(dst="10.0.1.97") / syn(9000)), "tunnel",
     vxlan(inner(63, dst="10.0.1.97") / syn(1410), vni=77777, mac="02:00:00:00:77:77"), any_bytes=SPORT)
case("a size that does not fit the container beside", "vif1", from_sender(inner(dst="10.0.1.5") / syn(1460)), "encap",
     delivered(inner(63, dst="10.0.1.5") / syn(1360), BESIDE))
case("a size at an odd place", "vif1", from_sender(inner() / syn(1460, before=[("NOP", None)])), "tunnel",
     tunnel(inner(63) / syn(1428, before=[("NOP", None)]), 17), any_bytes=SPORT)
case("a size behind ip options", "vif1", from_sender(inner(options=[IPOption_NOP()] * 40) / syn(1460)), "tunnel",
     tunnel(inner(63, options=[IPOption_NOP()] * 40) / syn(1428), 17), any_bytes=SPORT)
case("a syn without a size", "vif1", from_sender(inner() / TCP(flags="S")), "tunnel", tunnel(inner(63) / TCP(flags="S"), 17), any_bytes=SPORT)
case("a size in what is no syn", "vif1", from_sender(inner() / syn(1460, "A")), "tunnel", tunnel(inner(63) / syn(1460, "A"), 17), any_bytes=SPORT)
case("a network without the clamp", "vif4", from_sender(inner(src="10.0.3.3", dst="10.0.3.4") / syn(9000), mac=FLAT), "encap",
     Ether(src=NODE[1], dst=NODE[2]) / inner(63, src="10.0.3.3", dst="10.0.3.4") / syn(9000))

# MPLS in GRE and VXLAN. GRE has no port, so no byte is open.
for name, p in {"tcp": tcp, "udp": udp, "icmp": ICMP(id=1, seq=1) / Raw(b"p" * 57)}.items():
    case(name + " into gre", "vif1", from_sender(inner(dst="10.0.1.65") / p), "tunnel", gre(inner(63, dst="10.0.1.65") / p))
    case(name + " into vxlan", "vif1", from_sender(inner(dst="10.0.1.81") / p), "tunnel", vxlan(inner(63, dst="10.0.1.81") / p, to=3), any_bytes=SPORT)
case("vxlan with the route's own vni and mac", "vif1", from_sender(inner(dst="10.0.1.97") / tcp), "tunnel",
     vxlan(inner(63, dst="10.0.1.97") / tcp, vni=77777, mac="02:00:00:00:77:77"), any_bytes=SPORT)
for ecn in (1, 2, 3):
    case("ecn %d into gre" % ecn, "vif1", from_sender(inner(dst="10.0.1.65", tos=0x28 | ecn) / udp), "tunnel",
         gre(inner(63, dst="10.0.1.65", tos=0x28 | ecn) / udp, tos=ecn))
    case("ecn %d into vxlan" % ecn, "vif1", from_sender(inner(dst="10.0.1.81", tos=0x28 | ecn) / udp), "tunnel",
         vxlan(inner(63, dst="10.0.1.81", tos=0x28 | ecn) / udp, to=3, tos=ecn), any_bytes=SPORT)
for name, dst, mtu, wrap in (("gre", "10.0.1.65", 1472, gre), ("vxlan", "10.0.1.97", 1450, lambda p: vxlan(p, vni=77777, mac="02:00:00:00:77:77"))):
    fits = UDP(sport=1, dport=2) / Raw(b"f" * (mtu - 28))
    case("exactly the mtu of " + name, "vif1", from_sender(inner(dst=dst, flags="DF") / fits), "tunnel",
         wrap(inner(63, dst=dst, flags="DF") / fits), any_bytes=[] if name == "gre" else SPORT)
    big = inner(dst=dst, flags="DF") / UDP(sport=1, dport=2) / Raw(b"f" * (mtu - 27))
    case("one more than the mtu of " + name, "vif1", from_sender(big), "too_big",
         delivered(IP(src="10.0.1.254", dst="10.0.1.3", ttl=64, id=0, flags="DF") /
                   ICMP(type=3, code=4, nexthopmtu=mtu) / Raw(bytes(big)[:40])))

# Tunnels are for nodes.
for name, p in {"mpls in udp": UDP(sport=50000, dport=6635) / MPLS(label=16, s=1, ttl=64) / inner(),
                "vxlan": UDP(sport=50000, dport=4789) / VXLAN(vni=5001, flags=0x08) / Ether(src=SENDER, dst=GATEWAY) / inner()}.items():
    drop("a container sends " + name, "vif1", from_sender(inner() / p / udp), "tenant_tunnel")
    drop("a container sends the first fragment of " + name, "vif1", from_sender(inner(flags="MF") / p / udp), "tenant_tunnel")
    drop("a container hides %s behind options" % name, "vif1", from_sender(inner(options=[IPOption_NOP()] * 40) / p / udp), "tenant_tunnel")
    drop(name + " inside mpls in udp", "fabric", arriving(inner(63, src="10.0.1.4", dst="10.0.1.3") / p / udp, 16), "inner_tunnel")
    drop(name + " inside mpls in gre", "fabric", arriving_gre(inner(63, src="10.0.1.4", dst="10.0.1.3") / p / udp), "inner_tunnel")
    drop(name + " inside vxlan", "fabric", arriving_vxlan(inner(63, src="10.0.1.4", dst="10.0.1.3") / p / udp), "inner_tunnel")
nested = GRE(proto=0x8847) / MPLS(label=16, s=1, ttl=64) / inner() / udp
drop("a container sends mpls in gre", "vif1", from_sender(inner(proto=47) / nested), "tenant_tunnel")
drop("mpls in gre inside vxlan", "fabric", arriving_vxlan(inner(63, src="10.0.1.4", dst="10.0.1.3", proto=47) / nested), "inner_tunnel")
case("a container's other gre", "vif1", from_sender(inner() / GRE(proto=0x800) / inner() / udp), "tunnel",
     tunnel(inner(63) / GRE(proto=0x800) / inner() / udp, 17), any_bytes=SPORT)
drop("udp without its header", "vif1", from_sender(inner(proto=17) / Raw(b"1234567")), "truncated")

# Between containers of one node.
case("to the container beside", "vif1", from_sender(inner(dst="10.0.1.5") / udp), "encap",
     delivered(inner(63, dst="10.0.1.5") / udp, BESIDE))
drop("the container beside has a smaller mtu", "vif1", from_sender(inner(dst="10.0.1.5") / UDP() / Raw(b"f" * (1401 - 28))), "mtu_exceeded")

# Without encapsulation.
case("flat, out", "vif4", from_sender(inner(src="10.0.3.3", dst="10.0.3.4") / tcp, mac=FLAT), "encap",
     Ether(src=NODE[1], dst=NODE[2]) / inner(63, src="10.0.3.3", dst="10.0.3.4") / tcp)
case("flat, in", "fabric", Ether(src=NODE[2], dst=NODE[1]) / inner(63, src="10.0.3.4", dst="10.0.3.3") / tcp, "encap",
     delivered(inner(63, src="10.0.3.4", dst="10.0.3.3") / tcp, FLAT))

# Answers.
ask = ARP(op=1, hwsrc=SENDER, psrc="10.0.1.3", pdst="10.0.1.4")
case("arp for a peer", "vif1", Ether(src=SENDER, dst="ff:ff:ff:ff:ff:ff") / ask, "arp",
     Ether(src=GATEWAY, dst=SENDER, type=0x806) / ARP(op=2, hwsrc=GATEWAY, psrc="10.0.1.4", hwdst=SENDER, pdst="10.0.1.3"))
case("arp for the gateway", "vif1", Ether(src=SENDER, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=SENDER, psrc="10.0.1.3", pdst="10.0.1.254"),
     "arp", Ether(src=GATEWAY, dst=SENDER, type=0x806) / ARP(op=2, hwsrc=GATEWAY, psrc="10.0.1.254", hwdst=SENDER, pdst="10.0.1.3"))
drop("arp for itself", "vif1", Ether(src=SENDER, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=SENDER, psrc="0.0.0.0", pdst="10.0.1.3"), "arp_own_address")
drop("arp outside the network", "vif1", Ether(src=SENDER, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=SENDER, psrc="10.0.1.3", pdst="10.0.2.4"), "arp_outside")
drop("arp reply", "vif1", Ether(src=SENDER, dst=GATEWAY) / ARP(op=2, hwsrc=SENDER, psrc="10.0.1.3", hwdst=GATEWAY, pdst="10.0.1.254"), "arp_not_request")
drop("arp in another's name", "vif1", Ether(src=SENDER, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=SENDER, psrc="10.0.1.9", pdst="10.0.1.4"), "spoofed_address")
drop("arp of another hardware", "vif1", Ether(src=SENDER, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwtype=6, hwsrc=SENDER, psrc="10.0.1.3", pdst="10.0.1.4"), "arp_malformed")
case("echo to the gateway", "vif1", from_sender(inner(dst="10.0.1.254") / ICMP(type=8, id=3, seq=9) / Raw(b"e" * 56)), "echo",
     delivered(inner(src="10.0.1.254", dst="10.0.1.3") / ICMP(type=0, id=3, seq=9) / Raw(b"e" * 56)))
drop("anything else to the gateway", "vif1", from_sender(inner(dst="10.0.1.254") / tcp), "gateway")

# Drops at a vif.
drop("spoofed address", "vif1", from_sender(inner(src="10.0.1.5") / udp), "spoofed_address")
drop("spoofed mac", "vif1", from_sender(inner() / udp, mac=BESIDE), "spoofed_mac")
drop("not to the gateway's mac", "vif1", from_sender(inner() / udp, to=BESIDE), "not_gateway_mac")
drop("broadcast", "vif1", from_sender(inner(dst="255.255.255.255") / udp, to="ff:ff:ff:ff:ff:ff"), "multicast")
drop("multicast", "vif1", from_sender(inner(dst="224.0.0.251") / udp, to="01:00:5e:00:00:fb"), "multicast")
drop("ttl 1", "vif1", from_sender(inner(1) / udp), "ttl_expired")
drop("ttl 0", "vif1", from_sender(inner(0) / udp), "ttl_expired")
drop("no route", "vif1", from_sender(inner(dst="10.0.7.1") / udp), "no_route")
drop("no route in this network, though in another", "vif4", from_sender(inner(src="10.0.3.3", dst="10.0.1.4") / udp, mac=FLAT), "no_route")
drop("unresolved", "vif1", from_sender(inner(dst="10.9.1.2") / udp), "unresolved")
drop("ipv6 at a port without", "vif4", from_sender(IPv6(src="fe80::1", dst="ff02::2") / ICMPv6ND_RS(), mac=FLAT, to="33:33:00:00:00:02"), "no_ipv6")
drop("neither ip nor arp", "vif1", from_sender(Raw(b"r" * 46)), "not_ip")
drop("vlan", "vif1", Ether(src=SENDER, dst=GATEWAY) / Dot1Q(vlan=3) / inner() / udp, "vlan")
drop("wrong header checksum", "vif1", from_sender(inner(chksum=0x1234) / udp), "bad_checksum")
drop("wrong version", "vif1", from_sender(inner(version=6) / udp), "bad_header")
drop("longer than the frame", "vif1", from_sender(inner(len=1400) / udp), "bad_header")
drop("shorter than its header", "vif1", from_sender(inner(len=19) / udp), "bad_header")

# From the fabric.
case("tunnel to the sender", "fabric", arriving(inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp, 16), "decap",
     delivered(inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp))
case("the label decides, not the address", "fabric", arriving(inner(63, src="10.0.1.4", dst="10.0.1.3") / udp, 19), "decap",
     delivered(inner(63, src="10.0.1.4", dst="10.0.1.3") / udp, OTHER))
case("congestion marked outside", "fabric", arriving(inner(63, src="10.0.1.4", dst="10.0.1.3", tos=2) / tcp, 16, tos=3), "decap",
     delivered(inner(63, src="10.0.1.4", dst="10.0.1.3", tos=3) / tcp))
case("ect(1) outside, ect(0) inside", "fabric", arriving(inner(63, src="10.0.1.4", dst="10.0.1.3", tos=0xba) / tcp, 16, tos=1), "decap",
     delivered(inner(63, src="10.0.1.4", dst="10.0.1.3", tos=0xb9) / tcp))
drop("congestion marked on what cannot carry it", "fabric", arriving(inner(63, dst="10.0.1.3") / tcp, 16, tos=3), "ecn")
drop("unknown label", "fabric", arriving(inner(63, dst="10.0.1.3") / tcp, 4242), "unknown_label")
drop("a label above the table", "fabric", arriving(inner(63, dst="10.0.1.3") / tcp, 1048575), "unknown_label")
drop("two labels", "fabric", arriving(MPLS(label=16, s=1, ttl=64) / inner(63, dst="10.0.1.3") / tcp, 99, s=0), "label_stack")
drop("label ttl", "fabric", arriving(inner(63, dst="10.0.1.3") / tcp, 16, ttl=0), "label_ttl")
drop("neither ipv4 nor ipv6 inside", "fabric", arriving(Raw(b"\x50" * 60), 16), "inner_not_ip")
drop("a wrong checksum inside", "fabric", arriving(inner(63, dst="10.0.1.3", chksum=1) / tcp, 16), "inner_bad_header")
drop("a wrong length inside", "fabric", arriving(inner(63, dst="10.0.1.3", len=1400) / tcp, 16), "inner_bad_header")
drop("too large for the container", "fabric", arriving(inner(63, dst="10.0.1.5", src="10.0.1.4") / UDP() / Raw(b"f" * (1401 - 28)), 18), "mtu_exceeded")

for wrap, name in ((arriving_gre, "gre"), (arriving_vxlan, "vxlan")):
    for kind, p in {"tcp": tcp, "udp": udp}.items():
        case("%s out of %s" % (kind, name), "fabric", wrap(inner(63, src="10.0.1.4", dst="10.0.1.3") / p), "decap",
             delivered(inner(63, src="10.0.1.4", dst="10.0.1.3") / p))
    case("congestion marked outside of " + name, "fabric", wrap(inner(63, src="10.0.1.4", dst="10.0.1.3", tos=1) / tcp, tos=3), "decap",
         delivered(inner(63, src="10.0.1.4", dst="10.0.1.3", tos=3) / tcp))
    drop("congestion that cannot be carried, in " + name, "fabric", wrap(inner(63, dst="10.0.1.3") / tcp, tos=3), "ecn")
    drop("a wrong checksum inside " + name, "fabric", wrap(inner(63, dst="10.0.1.3", chksum=1) / tcp), "inner_bad_header")
    drop("a wrong length inside " + name, "fabric", wrap(inner(63, dst="10.0.1.3", len=1400) / tcp), "inner_bad_header")
    drop("options outside of " + name, "fabric", wrap(inner(63, dst="10.0.1.3") / tcp, options=[IPOption_NOP()] * 4), "bad_header")
drop("the label of nobody in gre", "fabric", arriving_gre(inner(63, dst="10.0.1.3") / tcp, label=4242), "unknown_label")
drop("two labels in gre", "fabric", arriving_gre(MPLS(label=16, s=1, ttl=64) / inner(63, dst="10.0.1.3") / tcp, label=99, s=0), "label_stack")
drop("label ttl in gre", "fabric", arriving_gre(inner(63, dst="10.0.1.3") / tcp, ttl=0), "label_ttl")
for name, bits in {"checksum": GRE(proto=0x8847, chksum_present=1), "key": GRE(proto=0x8847, key_present=1, key=7),
                   "sequence number": GRE(proto=0x8847, seqnum_present=1, seqence_number=7), "version": GRE(proto=0x8847, version=1)}.items():
    drop("gre with a " + name, "fabric", arriving_gre(inner(63, dst="10.0.1.3") / tcp, head=bits), "gre_flags")
case("vxlan to the port's own mac", "fabric", arriving_vxlan(inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp, mac=SENDER), "decap",
     delivered(inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp))
case("the vni decides whose address it is", "fabric", arriving_vxlan(inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp, vni=16777215), "decap",
     delivered(inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp, OTHER))
case("vxlan's reserved bits are ignored", "fabric", reached() / UDP(sport=50000, dport=4789, chksum=0) /
     Raw(bytes.fromhex("ff5a5a5a0013895a")) / Ether(src="02:00:00:00:99:99", dst=GATEWAY) / inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp, "decap",
     delivered(inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp))
case("vxlan's checksum is not looked at", "fabric", arriving_vxlan(inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp, chksum=0x1234), "decap",
     delivered(inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp))
drop("vxlan without a valid vni", "fabric", arriving_vxlan(inner(63, dst="10.0.1.3") / tcp, flags=0xf7), "vxlan_flags")
drop("the vni of nobody", "fabric", arriving_vxlan(inner(63, dst="10.0.1.3") / tcp, vni=5002), "unknown_vni")
drop("vxlan to another mac", "fabric", arriving_vxlan(inner(63, dst="10.0.1.3") / tcp, mac=OTHER), "inner_wrong_mac")
drop("vxlan to everybody", "fabric", arriving_vxlan(inner(63, dst="10.0.1.3") / tcp, mac="ff:ff:ff:ff:ff:ff"), "inner_wrong_mac")
drop("vxlan to an address without a route", "fabric", arriving_vxlan(inner(63, dst="10.0.7.3") / tcp), "not_here")
drop("vxlan to a third node", "fabric", arriving_vxlan(inner(63, dst="10.0.1.4") / tcp), "not_here")
drop("vxlan to the gateway", "fabric", arriving_vxlan(inner(63, dst="10.0.1.254") / ICMP()), "not_here")
drop("a vlan in vxlan", "fabric", arriving_vxlan(Dot1Q(vlan=3) / inner(63, dst="10.0.1.3") / tcp), "inner_not_ip")
drop("arp in vxlan", "fabric", arriving_vxlan(ARP(op=1, psrc="10.0.1.4", pdst="10.0.1.3"), mac="ff:ff:ff:ff:ff:ff"), "inner_not_ip")

# IPv6 from a container.
ALL_NODES = "33:33:00:00:00:01"


def inner6(hlim=64, src="fd00:1::3", dst="fd00:1::4", **ip):
    return IPv6(src=src, dst=dst, hlim=hlim, fl=0x12345, **ip)


for name, p in {"tcp": tcp, "udp": udp, "icmp": ICMPv6EchoRequest(id=1, seq=1, data=b"p" * 57)}.items():
    case("ipv6 %s into a tunnel" % name, "vif1", from_sender(inner6() / p), "tunnel", tunnel(inner6(63) / p, 17), any_bytes=SPORT)
    case("ipv6 %s into gre" % name, "vif1", from_sender(inner6(dst="fd00:1::40:1") / p), "tunnel", gre(inner6(63, dst="fd00:1::40:1") / p))
    case("ipv6 %s into vxlan" % name, "vif1", from_sender(inner6(dst="fd00:1::50:1") / p), "tunnel",
         vxlan(inner6(63, dst="fd00:1::50:1") / p, to=3), any_bytes=SPORT)
for ecn in (1, 2, 3):
    case("ipv6 ecn %d" % ecn, "vif1", from_sender(inner6(tc=0xb8 | ecn) / udp), "tunnel", tunnel(inner6(63, tc=0xb8 | ecn) / udp, 17, tos=ecn), any_bytes=SPORT)
case("ipv6 to the container beside", "vif1", from_sender(inner6(dst="fd00:1::5") / udp), "encap", delivered(inner6(63, dst="fd00:1::5") / udp, BESIDE))
case("an ipv6 size that does not fit", "vif1", from_sender(inner6() / syn(1440)), "tunnel", tunnel(inner6(63) / syn(1408), 17), any_bytes=SPORT)
fits6 = UDP(sport=1, dport=2) / Raw(b"f" * (1468 - 48))
case("ipv6, exactly the mtu", "vif1", from_sender(inner6() / fits6), "tunnel", tunnel(inner6(63) / fits6, 17), any_bytes=SPORT)
big6 = inner6() / UDP(sport=1, dport=2) / Raw(b"f" * (1469 - 48))
case("ipv6, one more than the mtu", "vif1", from_sender(big6), "too_big",
     delivered(IPv6(src="fd00:1::fe", dst="fd00:1::3", hlim=64) / ICMPv6PacketTooBig(mtu=1468) / Raw(bytes(big6)[:60])))
drop("an ipv6 error that is too big", "vif1", from_sender(inner6() / ICMPv6DestUnreach() / Raw(b"f" * 1500)), "mtu_exceeded")
whole6 = inner6() / head / aggregate
case("an ipv6 aggregate whose segments do not fit", "vif1", from_sender(whole6), "too_big",
     delivered(IPv6(src="fd00:1::fe", dst="fd00:1::3", hlim=64) / ICMPv6PacketTooBig(mtu=1468) / Raw(bytes(whole6)[:60])), gso=1409)
case("an ipv6 aggregate whose segments fit", "vif1", from_sender(whole6), "tunnel", tunnel(inner6(63) / head / aggregate, 17), gso=1408, any_bytes=SPORT)
for name, extension in {"hop by hop": IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)]), "a first fragment": IPv6ExtHdrFragment(m=1, id=7),
                        "destination options": IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 20)]),
                        "three extensions": IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / IPv6ExtHdrFragment(m=0)}.items():
    case("ipv6 with " + name, "vif1", from_sender(inner6() / extension / udp), "tunnel", tunnel(inner6(63) / extension / udp, 17), any_bytes=SPORT)
    drop("a tunnel behind " + name, "vif1", from_sender(inner6() / extension / UDP(dport=6635) / udp), "tenant_tunnel")
later = IPv6ExtHdrFragment(offset=5, m=1, nh=17) / Raw(b"\x00\x35\x19\xeb" * 10)
case("a later ipv6 fragment", "vif1", from_sender(inner6() / later), "tunnel", tunnel(inner6(63) / later, 17), any_bytes=SPORT)
drop("four extensions", "vif1", from_sender(inner6() / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / IPv6ExtHdrRouting() / IPv6ExtHdrDestOpt() / udp), "extensions")
drop("a long extension", "vif1", from_sender(inner6() / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 130)]) / udp), "extensions")
drop("an extension that is cut off", "vif1", from_sender(inner6(nh=60) / Raw(b"1234")), "truncated")
for name, p in {"mpls in udp": UDP(dport=6635) / udp, "vxlan": UDP(dport=4789) / udp, "mpls in gre": GRE(proto=0x8847) / udp}.items():
    drop("a container sends %s over ipv6" % name, "vif1", from_sender(inner6() / p), "tenant_tunnel")
drop("ipv6 hop limit", "vif1", from_sender(inner6(1) / udp), "ttl_expired")
drop("ipv6 without a route", "vif1", from_sender(inner6(dst="fd00:9::1") / udp), "no_route")
drop("ipv6 spoofed", "vif1", from_sender(inner6(src="fd00:1::5") / udp), "spoofed_address")
drop("ipv6 from nobody", "vif1", from_sender(inner6(src="::") / udp), "spoofed_address")
drop("ipv6 link-local source", "vif1", from_sender(inner6(src="fe80::3") / udp), "link_local")
drop("ipv6 multicast", "vif1", from_sender(inner6(dst="ff02::fb") / udp, to="33:33:00:00:00:fb"), "multicast")
drop("ipv6 longer than the frame", "vif1", from_sender(inner6(plen=1400) / udp), "bad_header")
drop("ipv4 in an ipv6 frame", "vif1", Ether(src=SENDER, dst=GATEWAY, type=0x86dd) / inner() / udp, "bad_header")
case("echo to the ipv6 gateway", "vif1", from_sender(inner6(dst="fd00:1::fe") / ICMPv6EchoRequest(id=3, seq=9, data=b"e" * 56)), "echo",
     delivered(inner6(src="fd00:1::fe", dst="fd00:1::3") / ICMPv6EchoReply(id=3, seq=9, data=b"e" * 56)))
drop("anything else to the ipv6 gateway", "vif1", from_sender(inner6(dst="fd00:1::fe") / tcp), "gateway")


# Neighbours.
def solicit(target, src="fd00:1::3", hlim=255, option=True, **nd):
    ns = Ether(src=SENDER, dst="33:33:ff:00:00:04") / IPv6(src=src, dst="ff02::1:ff00:4", hlim=hlim) / ICMPv6ND_NS(tgt=target, **nd)
    return ns / ICMPv6NDOptSrcLLAddr(lladdr=SENDER) if option else ns


def advertise(target, dst="fd00:1::3"):
    return (Ether(src=GATEWAY, dst=SENDER) / IPv6(src=target, dst=dst, hlim=255) / ICMPv6ND_NA(tgt=target, R=1, S=1, O=1) /
            ICMPv6NDOptDstLLAddr(lladdr=GATEWAY))


case("solicitation for a peer", "vif1", solicit("fd00:1::4"), "nd", advertise("fd00:1::4"))
case("solicitation for the gateway", "vif1", solicit("fd00:1::fe"), "nd", advertise("fd00:1::fe"))
case("solicitation from a link-local address", "vif1", solicit("fd00:1::fe", src="fe80::3"), "nd", advertise("fd00:1::fe", dst="fe80::3"))
case("solicitation without a source mac", "vif1", solicit("fd00:1::4", option=False), "nd", advertise("fd00:1::4"))
case("solicitation with more options", "vif1", solicit("fd00:1::4") / ICMPv6NDOptSrcLLAddr(lladdr=SENDER), "nd", advertise("fd00:1::4"))
drop("solicitation for itself", "vif1", solicit("fd00:1::3"), "nd_own_address")
drop("duplicate address detection", "vif1", solicit("fd00:1::3", src="::", option=False), "nd_probe")
drop("duplicate address detection, link-local", "vif1", solicit("fe80::3", src="::", option=False), "nd_probe")
drop("solicitation outside the network", "vif1", solicit("fd00:2::4"), "nd_outside")
drop("solicitation for a link-local address", "vif1", solicit("fe80::4"), "nd_outside")
drop("solicitation in another's name", "vif1", solicit("fd00:1::4", src="fd00:1::5"), "spoofed_address")
drop("solicitation that a router forwarded", "vif1", solicit("fd00:1::4", hlim=254), "nd_malformed")
drop("solicitation with a code", "vif1", solicit("fd00:1::4", code=1), "nd_malformed")
drop("solicitation that is too short", "vif1", Ether(src=SENDER, dst=GATEWAY) / IPv6(src="fd00:1::3", dst="fd00:1::4", hlim=255, nh=58) /
     Raw(bytes(ICMPv6ND_NS(tgt="fd00:1::4"))[:20]), "nd_malformed")
for name, p, reason in (("advertisement", ICMPv6ND_NA(tgt="fd00:1::4"), "nd_not_solicitation"), ("router advertisement", ICMPv6ND_RA(), "nd_not_solicitation"),
                        ("router solicitation", ICMPv6ND_RS(), "router_solicitation")):
    drop(name, "vif1", Ether(src=SENDER, dst=ALL_NODES) / IPv6(src="fe80::3", dst="ff02::1", hlim=255) / p, reason)
drop("listener report", "vif1", Ether(src=SENDER, dst="33:33:00:00:00:16") / IPv6(src="::", dst="ff02::16", hlim=1) /
     IPv6ExtHdrHopByHop(options=[RouterAlert()]) / ICMPv6MLReport2(), "mld")

# IPv6 from the fabric.
for wrap, name in ((lambda p, **kw: arriving(p, 16, **kw), "a tunnel"), (arriving_gre, "gre"), (arriving_vxlan, "vxlan")):
    for kind, p in {"tcp": tcp, "udp": udp}.items():
        case("ipv6 %s out of %s" % (kind, name), "fabric", wrap(inner6(63, src="fd00:1::4", dst="fd00:1::3") / p), "decap",
             delivered(inner6(63, src="fd00:1::4", dst="fd00:1::3") / p))
    case("congestion marked on ipv6 outside of " + name, "fabric", wrap(inner6(63, src="fd00:1::4", dst="fd00:1::3", tc=0xba) / tcp, tos=3), "decap",
         delivered(inner6(63, src="fd00:1::4", dst="fd00:1::3", tc=0xbb) / tcp))
    drop("congestion that ipv6 cannot carry, in " + name, "fabric", wrap(inner6(63, dst="fd00:1::3") / tcp, tos=3), "ecn")
    drop("a wrong ipv6 length inside " + name, "fabric", wrap(inner6(63, dst="fd00:1::3", plen=1400) / tcp), "inner_bad_header")
    drop("a tunnel in ipv6 in " + name, "fabric", wrap(inner6(63, dst="fd00:1::3") / UDP(dport=4789) / udp), "inner_tunnel")
drop("ipv6 that vxlan calls ipv4", "fabric", reached() / UDP(sport=50000, dport=4789, chksum=0) / VXLAN(vni=5001, flags=0x08) /
     Ether(src="02:00:00:00:99:99", dst=GATEWAY, type=0x800) / inner6(63, dst="fd00:1::3") / tcp, "inner_not_ip")
drop("vxlan to an ipv6 address of nobody", "fabric", arriving_vxlan(inner6(63, dst="fd00:1::77") / tcp), "not_here")

# Tunnels over IPv6. The flow label is the source port's number, also in front of GRE.
FLOW = [16, 17]
FLOW_SPORT = [16, 17, 54, 55]


def outer6(to=2, tos=0, **ip):
    return Ether(src=NODE[1], dst=NODE[to]) / IPv6(src="fd00:f::1", dst="fd00:f::%d" % to, hlim=64, tc=tos, fl=0xc000, **ip)


def tunnel6(p, label=17, **kw):
    return outer6(**kw) / UDP(sport=49152, dport=6635, chksum=0) / MPLS(label=label, cos=0, s=1, ttl=64) / p


def gre6(p, label=33, **kw):
    return outer6(nh=47, **kw) / GRE(proto=0x8847) / MPLS(label=label, cos=0, s=1, ttl=64) / p


def vxlan6(p, vni=5001, mac=GATEWAY, to=3, **kw):
    return outer6(to=to, **kw) / UDP(sport=49152, dport=4789, chksum=0) / VXLAN(vni=vni, flags=0x08) / Ether(src=GATEWAY, dst=mac) / p


def reached6(tos=0, src="fd00:f::2", dst="fd00:f::1", fl=0, before=None, **ip):
    head = Ether(src=NODE[2], dst=NODE[1]) / IPv6(src=src, dst=dst, hlim=64, tc=tos, fl=fl, **ip)
    return head / before if before else head


def arriving6(p, label=16, s=1, ttl=64, dport=6635, chksum=0, **kw):
    return reached6(**kw) / UDP(sport=50000, dport=dport, chksum=chksum) / MPLS(label=label, cos=0, s=s, ttl=ttl) / p


def arriving_gre6(p, label=16, before=None, **kw):
    head = reached6(before=before, **kw) if before else reached6(nh=47, **kw)
    return head / GRE(proto=0x8847) / MPLS(label=label, cos=0, s=1, ttl=64) / p


def arriving_vxlan6(p, vni=5001, flags=0x08, mac=GATEWAY, chksum=0, **kw):
    return (reached6(**kw) / UDP(sport=50000, dport=4789, chksum=chksum) / VXLAN(vni=vni, flags=flags) /
            Ether(src="02:00:00:00:99:99", dst=mac) / p)


for way, net, any6, mtu, wrap in (("a tunnel", 1, FLOW_SPORT, 1448, tunnel6), ("gre", 2, FLOW, 1452, gre6), ("vxlan", 3, FLOW_SPORT, 1430, vxlan6)):
    v4, v6 = "10.6.%d.1" % net, "fd00:6:%d::1" % net
    for kind, p in {"tcp": tcp, "udp": udp}.items():
        case("%s into %s over ipv6" % (kind, way), "vif1", from_sender(inner(dst=v4) / p), "tunnel", wrap(inner(63, dst=v4) / p), any_bytes=any6)
        case("ipv6 %s into %s over ipv6" % (kind, way), "vif1", from_sender(inner6(dst=v6) / p), "tunnel", wrap(inner6(63, dst=v6) / p), any_bytes=any6)
    for ecn in (1, 2, 3):
        case("ecn %d into %s over ipv6" % (ecn, way), "vif1", from_sender(inner(dst=v4, tos=0xb8 | ecn) / udp), "tunnel",
             wrap(inner(63, dst=v4, tos=0xb8 | ecn) / udp, tos=ecn), any_bytes=any6)
    fits = UDP(sport=1, dport=2) / Raw(b"f" * (mtu - 28))
    case("exactly the mtu of %s over ipv6" % way, "vif1", from_sender(inner(dst=v4, flags="DF") / fits), "tunnel",
         wrap(inner(63, dst=v4, flags="DF") / fits), any_bytes=any6)
    big = inner(dst=v4, flags="DF") / UDP(sport=1, dport=2) / Raw(b"f" * (mtu - 27))
    case("one more than the mtu of %s over ipv6" % way, "vif1", from_sender(big), "too_big",
         delivered(IP(src="10.0.1.254", dst="10.0.1.3", ttl=64, id=0, flags="DF") / ICMP(type=3, code=4, nexthopmtu=mtu) / Raw(bytes(big)[:40])))
    whole = inner(dst=v4, flags="DF") / head / aggregate
    case("an aggregate whose segments fit %s over ipv6" % way, "vif1", from_sender(whole), "tunnel",
         wrap(inner(63, dst=v4, flags="DF") / head / aggregate), gso=mtu - 40, any_bytes=any6)
    case("an aggregate whose segments do not fit %s over ipv6" % way, "vif1", from_sender(whole), "too_big",
         delivered(IP(src="10.0.1.254", dst="10.0.1.3", ttl=64, id=0, flags="DF") / ICMP(type=3, code=4, nexthopmtu=mtu) /
                   Raw(bytes(whole)[:40])), gso=mtu - 39)
    case("a size that does not fit %s over ipv6" % way, "vif1", from_sender(inner(dst=v4) / syn(9000)), "tunnel",
         wrap(inner(63, dst=v4) / syn(mtu - 40)), any_bytes=any6)
case("flat by an ipv6 neighbour", "vif4", from_sender(inner(src="10.0.3.3", dst="10.0.3.6") / tcp, mac=FLAT), "encap",
     Ether(src=NODE[1], dst=NODE[2]) / inner(63, src="10.0.3.3", dst="10.0.3.6") / tcp)

there4, there6 = inner(63, src="10.6.1.1", dst="10.0.1.3"), inner6(63, src="fd00:6:1::1", dst="fd00:1::3")
for wrap, way in ((arriving6, "a tunnel"), (arriving_gre6, "gre"), (arriving_vxlan6, "vxlan")):
    for kind, p in {"tcp": tcp, "udp": udp}.items():
        case("%s out of %s over ipv6" % (kind, way), "fabric", wrap(there4 / p), "decap", delivered(there4 / p))
        case("ipv6 %s out of %s over ipv6" % (kind, way), "fabric", wrap(there6 / p), "decap", delivered(there6 / p))
    case("any flow label, %s over ipv6" % way, "fabric", wrap(there4 / tcp, fl=0xfffff), "decap", delivered(there4 / tcp))
    case("congestion marked outside of %s over ipv6" % way, "fabric", wrap(inner(63, dst="10.0.1.3", tos=0xba) / tcp, tos=0xb3), "decap",
         delivered(inner(63, dst="10.0.1.3", tos=0xbb) / tcp))
    drop("congestion that cannot be carried, in %s over ipv6" % way, "fabric", wrap(there4 / tcp, tos=3), "ecn")
    drop("a wrong checksum inside %s over ipv6" % way, "fabric", wrap(inner(63, dst="10.0.1.3", chksum=1) / tcp), "inner_bad_header")
    drop("a tunnel inside %s over ipv6" % way, "fabric", wrap(there4 / UDP(dport=6635) / udp), "inner_tunnel")
    for extension, e in {"hop by hop options": IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)]),
                         "destination options": IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)]), "a routing header": IPv6ExtHdrRouting()}.items():
        if wrap is arriving_gre6:
            e.nh = 47
        drop("%s in front of %s over ipv6" % (extension, way), "fabric", wrap(there4 / tcp, before=e), "outer_extensions")
    fragment = IPv6ExtHdrFragment(m=1, id=7, nh=47 if wrap is arriving_gre6 else 17)
    case("a fragment of %s over ipv6" % way, "fabric", wrap(there4 / tcp, before=fragment), "pass", wrap(there4 / tcp, before=fragment))
    elsewhere = wrap(there4 / tcp, dst="fd00:f::7")
    case("%s over ipv6 to another node" % way, "fabric", elsewhere, "pass", elsewhere)
drop("unknown label over ipv6", "fabric", arriving6(there4 / tcp, 4242), "unknown_label")
drop("two labels over ipv6", "fabric", arriving6(MPLS(label=16, s=1, ttl=64) / there4 / tcp, 99, s=0), "label_stack")
drop("the vni of nobody over ipv6", "fabric", arriving_vxlan6(there4 / tcp, vni=5002), "unknown_vni")
for name, packet in {"an outer checksum": arriving6(there4 / tcp, chksum=None), "a wrong outer checksum": arriving_vxlan6(there4 / tcp, chksum=0x1234)}.items():
    case(name + " over ipv6", "fabric", packet, "decap", delivered(there4 / tcp))
for name, wrap in {"mpls in udp": arriving6, "vxlan": arriving_vxlan6}.items():
    drop(name + " of a stranger over ipv6", "fabric", wrap(there4 / tcp, src="fd00:f::9"), "unknown_peer")
    drop(name + " of an address that is damaged", "fabric", wrap(there4 / tcp, src="fd00:f::8002"), "unknown_peer")
    case(name + " of a stranger with a checksum", "fabric", wrap(there4 / tcp, src="fd00:f::9", chksum=None), "decap", delivered(there4 / tcp))
    case(name + " of a peer's subnet", "fabric", wrap(there4 / tcp, src="fd00:f:5::1234"), "decap", delivered(there4 / tcp))
case("mpls in gre of a stranger over ipv6", "fabric", arriving_gre6(there4 / tcp, src="fd00:f::9"), "decap", delivered(there4 / tcp))
for name, packet in {
        "another port over ipv6": arriving6(there4 / tcp, dport=8472),
        "no checksum, and no tunnel": reached6() / UDP(sport=1, dport=53, chksum=0) / Raw(b"x" * 33),
        "echo to the node over ipv6": reached6() / ICMPv6EchoRequest(id=1, seq=1),
        "a neighbour that asks for the node": Ether(src=NODE[2], dst="33:33:ff:00:00:01") / IPv6(src="fd00:f::2", dst="ff02::1:ff00:1", hlim=255) /
        ICMPv6ND_NS(tgt="fd00:f::1") / ICMPv6NDOptSrcLLAddr(lladdr=NODE[2]),
}.items():
    case(name, "fabric", packet, "pass", packet)
# Several ways: 10.0.0.9 is unresolved, so each of these has one that can be used.
case("the one way that is resolved", "vif1", from_sender(inner(dst="10.0.1.32") / tcp), "tunnel", tunnel(inner(63, dst="10.0.1.32") / tcp, 22), any_bytes=SPORT)
case("a fragment has a way, too", "vif1", from_sender(inner(dst="10.0.1.32", frag=5) / Raw(b"f" * 40)), "tunnel",
     tunnel(inner(63, dst="10.0.1.32", frag=5) / Raw(b"f" * 40), 22), any_bytes=SPORT)
case("the port beside is the way", "vif1", from_sender(inner(dst="10.0.1.33") / tcp), "encap", delivered(inner(63, dst="10.0.1.33") / tcp, BESIDE))
case("an address that the port has itself", "vif1", from_sender(inner(dst="10.0.1.34") / tcp), "encap", delivered(inner(63, dst="10.0.1.34") / tcp))
case("one way alone", "vif1", from_sender(inner(dst="10.0.1.36") / udp), "tunnel", gre(inner(63, dst="10.0.1.36") / udp, label=23, to=3))
case("an ipv6 way", "vif1", from_sender(inner6(dst="fd00:1::32") / tcp), "tunnel", vxlan(inner6(63, dst="fd00:1::32") / tcp, to=3), any_bytes=SPORT)
case("the size of the way that is taken", "vif1", from_sender(inner(dst="10.0.1.36", flags="DF") / syn(1460)), "tunnel",
     gre(inner(63, dst="10.0.1.36", flags="DF") / syn(1432), label=23, to=3))
case("a way over ipv6", "vif1", from_sender(inner(dst="10.0.1.37") / tcp), "tunnel", tunnel6(inner(63, dst="10.0.1.37") / tcp, label=24), any_bytes=FLOW_SPORT)
drop("no way is resolved", "vif1", from_sender(inner(dst="10.0.1.35") / tcp), "unresolved")
for name, wrap in (("vxlan", arriving_vxlan), ("the network's label", lambda p, **kw: arriving(p, 40, **kw))):
    case(name + " to one of several ports", "fabric", wrap(inner(63, src="10.0.1.4", dst="10.0.1.33") / tcp), "decap",
         delivered(inner(63, src="10.0.1.4", dst="10.0.1.33") / tcp, BESIDE))
    case(name + " to one of several ports by ipv6", "fabric", wrap(inner6(63, src="fd00:1::4", dst="fd00:1::33") / tcp), "decap",
         delivered(inner6(63, src="fd00:1::4", dst="fd00:1::33") / tcp))
    drop(name + " goes into no further tunnel", "fabric", wrap(inner(63, src="10.0.1.4", dst="10.0.1.32") / tcp), "not_here")
# Of those addresses a port may be the source, and is the only one.
case("a source that the routes lead to", "vif1", from_sender(inner(src="10.0.1.34") / tcp), "tunnel", tunnel(inner(63, src="10.0.1.34") / tcp, 17), any_bytes=SPORT)
case("an ipv6 source that the routes lead to", "vif1", from_sender(inner6(src="fd00:1::33") / tcp), "tunnel", tunnel(inner6(63, src="fd00:1::33") / tcp, 17), any_bytes=SPORT)
drop("a source that leads to the port beside", "vif1", from_sender(inner(src="10.0.1.33") / tcp), "spoofed_address")
drop("a source that leads to other nodes", "vif1", from_sender(inner(src="10.0.1.32") / tcp), "spoofed_address")
drop("an ipv6 source that leads to other nodes", "vif1", from_sender(inner6(src="fd00:1::32") / tcp), "spoofed_address")
drop("a source of another network", "vif1", from_sender(inner(src="10.0.5.4") / tcp), "spoofed_address")
case("arp from that address", "vif1", Ether(src=SENDER, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=SENDER, psrc="10.0.1.34", pdst="10.0.1.254"), "arp",
     Ether(src=GATEWAY, dst=SENDER, type=0x806) / ARP(op=2, hwsrc=GATEWAY, psrc="10.0.1.254", hwdst=SENDER, pdst="10.0.1.34"))
drop("arp for that address", "vif1", Ether(src=SENDER, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=SENDER, psrc="10.0.1.3", pdst="10.0.1.34"), "arp_own_address")
case("solicitation from that address", "vif1", solicit("fd00:1::4", src="fd00:1::33"), "nd", advertise("fd00:1::4", dst="fd00:1::33"))
drop("solicitation for that address", "vif1", solicit("fd00:1::33"), "nd_own_address")

# Other networks' routes.
case("into another network", "vif1", from_sender(inner(dst="10.0.5.4") / tcp), "tunnel", tunnel(inner(63, dst="10.0.5.4") / tcp, 51), any_bytes=SPORT)
case("into another network by ipv6", "vif1", from_sender(inner6(dst="fd00:5::4") / tcp), "tunnel", vxlan(inner6(63, dst="fd00:5::4") / tcp, vni=5005), any_bytes=SPORT)
case("into another network, where it has several ways", "vif1", from_sender(inner(dst="10.0.5.9") / tcp), "tunnel", gre(inner(63, dst="10.0.5.9") / tcp, label=53, to=3))
case("echo to another network's gateway", "vif1", from_sender(inner(dst="10.0.5.254") / ICMP(type=8, id=3, seq=9) / Raw(b"e" * 56)), "echo",
     delivered(inner(src="10.0.5.254", dst="10.0.1.3") / ICMP(type=0, id=3, seq=9) / Raw(b"e" * 56)))
big5 = inner(dst="10.0.5.4", flags="DF") / UDP(sport=1, dport=2) / Raw(b"f" * (1469 - 28))
case("too big for another network's way", "vif1", from_sender(big5), "too_big",
     delivered(IP(src="10.0.1.254", dst="10.0.1.3", ttl=64, id=0, flags="DF") / ICMP(type=3, code=4, nexthopmtu=1468) / Raw(bytes(big5)[:40])))
drop("into another network, which has no route", "vif1", from_sender(inner(dst="10.0.5.77") / tcp), "no_route")
drop("into a third network", "vif1", from_sender(inner(dst="10.0.6.1") / tcp), "translated_twice")
drop("a network that nobody leads to", "vif3", from_sender(inner(dst="10.0.5.4") / tcp, mac=OTHER), "no_route")
for name, wrap in (("vxlan", lambda p: arriving_vxlan(p, vni=5005)), ("the network's label", lambda p: arriving(p, 45)), ("the network's label in gre", lambda p: arriving_gre(p, label=45))):
    case(name + ", and on into another network", "fabric", wrap(inner(63, src="10.0.5.4", dst="10.0.1.3") / tcp), "decap", delivered(inner(63, src="10.0.5.4", dst="10.0.1.3") / tcp))
    case(name + ", and on into another network by ipv6", "fabric", wrap(inner6(63, src="fd00:5::4", dst="fd00:1::3") / tcp), "decap",
         delivered(inner6(63, src="fd00:5::4", dst="fd00:1::3") / tcp))
    drop(name + " goes on to no third node", "fabric", wrap(inner(63, src="10.0.5.4", dst="10.0.1.4") / tcp), "not_here")
    drop(name + " goes on to no third network", "fabric", wrap(inner(63, src="10.0.5.4", dst="10.0.6.4") / tcp), "translated_twice")
case("the network's label", "fabric", arriving(inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp, 40), "decap", delivered(inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp))
drop("the network's label to the gateway", "fabric", arriving(inner(63, dst="10.0.1.254") / ICMP(), 40), "not_here")
drop("the network's label to nobody", "fabric", arriving(inner(63, dst="10.0.7.3") / tcp, 40), "not_here")
# One link: what is not for the gateway's MAC is bridged.
LEFT, RIGHT, FAR, FARTHER, ABSENT = ("02:00:00:00:04:%02x" % last for last in (0x03, 0x05, 0x22, 0x33, 0x99))
ALL = "ff:ff:ff:ff:ff:ff"


def ip4(dst="10.0.4.5", src="10.0.4.3", ttl=64, **ip):
    return IP(src=src, dst=dst, ttl=ttl, id=7, **ip)


def ip6(dst="fd00:4::5", src="fd00:4::3", hlim=64, **ip):
    return IPv6(src=src, dst=dst, hlim=hlim, **ip)


def carried(p, to=2, vni=6001, tos=0):
    """A whole frame in VXLAN, as it leaves node 1."""
    return outer(to=to, tos=tos) / UDP(sport=49152, dport=4789, chksum=0) / VXLAN(vni=vni, flags=0x08) / p


def brought(p, vni=6001, **kw):
    """The same, as it comes to node 1."""
    return reached(**kw) / UDP(sport=50000, dport=4789, chksum=0) / VXLAN(vni=vni, flags=0x08) / p


def to_all(p, port="vif6", tos=0):
    return [(port, p), ("fabric", carried(p, tos=tos)), ("fabric", carried(p, to=3, vni=6003, tos=tos))]


def left(p, to=RIGHT, mac=LEFT, **kw):
    return Ether(src=mac, dst=to, **kw) / p


def right(p, to=LEFT, mac=FAR, **kw):
    return Ether(src=mac, dst=to, **kw) / p


def who_has(target, sender="10.0.4.3", mac=LEFT, **arp):
    return ARP(op=1, hwsrc=mac, psrc=sender, pdst=target, **arp)


def is_at(mac=LEFT, sender="10.0.4.3", to=RIGHT, target="10.0.4.5"):
    return ARP(op=2, hwsrc=mac, psrc=sender, hwdst=to, pdst=target)


own = Raw(b"another protocol's frame, of which an even number of bytes")
for name, p in {"ipv4": ip4() / udp, "ipv6": ip6() / tcp, "a first fragment": ip4(flags="MF") / udp, "an arp reply": is_at(),
                "a time to live of 1": ip4(ttl=1) / udp}.items():
    case("bridged beside: " + name, "vif5", left(p), "bridge", left(p))
    case("bridged far: " + name, "vif5", left(p, FAR), "bridge_tunnel", carried(left(p, FAR)), any_bytes=SPORT)
    case("bridged from far: " + name, "fabric", brought(right(p)), "bridge_decap", right(p))
case("bridged farther, by its vni", "vif5", left(ip4() / udp, FARTHER), "bridge_tunnel", carried(left(ip4() / udp, FARTHER), to=3, vni=6003), any_bytes=SPORT)
case("bridged beside: no ip", "vif5", left(own, type=0x88b5), "bridge", left(own, type=0x88b5))
case("bridged far: no ip", "vif5", left(own, FAR, type=0x88b5), "bridge_tunnel", carried(left(own, FAR, type=0x88b5)), any_bytes=SPORT)
case("bridged from far: no ip", "fabric", brought(right(own, type=0x88b5)), "bridge_decap", right(own, type=0x88b5))
# 802.1X's, PPPoE's and others' frames may be this short; what comes out of a tunnel is padded to 20 bytes.
short = Raw(b"\x01\x01\0\0")
case("bridged beside: a short frame", "vif5", left(short, type=0x888e), "bridge", left(short, type=0x888e))
case("bridged far: a short frame", "vif5", left(short, FAR, type=0x888e), "bridge_tunnel", carried(left(short, FAR, type=0x888e)), any_bytes=SPORT)
case("bridged from far: a short frame", "fabric", brought(right(short, type=0x888e)), "bridge_decap", right(short, type=0x888e) / Raw(b"\0" * 16))
case("bridged from far: a header alone", "fabric", brought(right(Raw(), type=0x888e)), "bridge_decap", right(Raw(b"\0" * 20), type=0x888e))
f = left(short, ALL, type=0x8863)
flood("to all: a short frame", "vif5", f, to_all(f))
flood("to all from far: a short frame", "fabric", brought(f), [("vif5", f / Raw(b"\0" * 16)), ("vif6", f / Raw(b"\0" * 16))])
case("bridged from far: padding behind an arp reply", "fabric", brought(right(is_at()) / Raw(b"\0" * 18)), "bridge_decap", right(is_at()) / Raw(b"\0" * 18))
for name, p in {"an arp request": who_has("10.0.4.5"), "an arp probe": who_has("10.0.4.77", "0.0.0.0"), "an announcement": who_has("10.0.4.3"),
                "no ip": Raw(bytes(own))}.items():
    f = left(p, ALL, type=0x88b5) if name == "no ip" else left(p, ALL)
    flood("to all: " + name, "vif5", f, to_all(f))
    flood("to all from far: " + name, "fabric", brought(f), [("vif5", f), ("vif6", f)])
for name, p, group in (("ipv4", ip4("224.0.0.251", ttl=1) / udp, "01:00:5e:00:00:fb"), ("ipv6", ip6("ff02::fb", src="fe80::3") / udp, "33:33:00:00:00:fb"),
                       ("a solicitation", solicit("fd00:4::5", src="fd00:4::3")[IPv6], "33:33:ff:00:00:05"),
                       ("duplicate address detection", solicit("fd00:4::3", src="::", option=False)[IPv6], "33:33:ff:00:00:03"),
                       ("a router solicitation", ip6("ff02::2", src="fe80::3", hlim=255) / ICMPv6ND_RS(), "33:33:00:00:00:02")):
    f = left(p, group)
    flood("to a group: " + name, "vif5", f, to_all(f))
    flood("to a group from far: " + name, "fabric", brought(f), [("vif5", f), ("vif6", f)])
flood("from the port at the list's other end", "vif6", left(who_has("10.0.4.3", "10.0.4.5", RIGHT), ALL, RIGHT), to_all(left(who_has("10.0.4.3", "10.0.4.5", RIGHT), ALL, RIGHT), "vif5"))
f = left(ip4() / udp, OTHER)
flood("to an unknown mac", "vif5", f, to_all(f))
flood("to an unknown mac from far", "fabric", brought(f), [("vif5", f), ("vif6", f)])
f = left(ip4("10.0.4.255", tos=0xb9) / udp, ALL)
flood("to all, with ecn", "vif5", f, to_all(f, tos=1))
f = left(ip4("10.0.4.255") / UDP() / Raw(b"f" * (1451 - 28)), ALL)
flood("to all that it fits", "vif5", f, [("vif6", f)])
f = left(ip4("10.0.4.255") / UDP() / Raw(b"f" * (1450 - 28)), ALL)
flood("to all, exactly the mtu", "vif5", f, to_all(f))
drop("to all that it fits, which is nobody", "fabric", brought(left(ip4("10.0.4.255") / UDP() / Raw(b"f" * 1500), ALL)), "mtu_exceeded")
flood("congestion marked outside, to all", "fabric", brought(right(ip4("10.0.4.255", tos=2) / udp, ALL), tos=3),
      [("vif5", right(ip4("10.0.4.255", tos=3) / udp, ALL)), ("vif6", right(ip4("10.0.4.255", tos=3) / udp, ALL))])
case("congestion marked outside, bridged", "fabric", brought(right(ip4(tos=2) / udp), tos=3), "bridge_decap", right(ip4(tos=3) / udp))
case("congestion marked outside, no ip", "fabric", brought(right(is_at()), tos=3), "bridge_decap", right(is_at()))
drop("congestion that a bridged packet cannot carry", "fabric", brought(right(ip4() / udp), tos=3), "ecn")
case("ecn of a bridged packet", "vif5", left(ip4(tos=2) / udp, FAR), "bridge_tunnel", carried(left(ip4(tos=2) / udp, FAR), tos=2), any_bytes=SPORT)


# The link's frames over IPv6.
def carried6(p, to=2, **kw):
    return outer6(to=to, **kw) / UDP(sport=49152, dport=4789, chksum=0) / VXLAN(vni=6006, flags=0x08) / p


def brought6(p, **kw):
    return reached6(**kw) / UDP(sport=50000, dport=4789, chksum=0) / VXLAN(vni=6006, flags=0x08) / p


for name, p in {"ipv4": ip4() / udp, "ipv6": ip6() / tcp, "an arp reply": is_at()}.items():
    case("bridged far over ipv6: " + name, "vif8", left(p, FAR), "bridge_tunnel", carried6(left(p, FAR)), any_bytes=FLOW_SPORT)
    case("bridged from far over ipv6: " + name, "fabric", brought6(right(p)), "bridge_decap", right(p))
    f = left(p, ALL)
    flood("to all over ipv6: " + name, "vif8", f, [("fabric", carried6(f)), ("fabric", carried6(f, to=3))], any_bytes=FLOW_SPORT)
    flood("to all from far over ipv6: " + name, "fabric", brought6(f), [("vif8", f)])
case("congestion marked outside, bridged over ipv6", "fabric", brought6(right(ip4(tos=2) / udp), tos=3), "bridge_decap", right(ip4(tos=3) / udp))
fits = UDP(sport=1, dport=2) / Raw(b"f" * (1430 - 28))
case("bridged far over ipv6, exactly the mtu", "vif8", left(ip4(flags="DF") / fits, FAR), "bridge_tunnel", carried6(left(ip4(flags="DF") / fits, FAR)), any_bytes=FLOW_SPORT)
drop("bridged far over ipv6, no df", "vif8", left(ip4() / fits / Raw(b"f"), FAR), "mtu_exceeded")

# The gateway of the link.
case("who is the gateway of the link", "vif5", left(who_has("10.0.4.254"), ALL), "arp",
     Ether(src=GATEWAY, dst=LEFT) / ARP(op=2, hwsrc=GATEWAY, psrc="10.0.4.254", hwdst=LEFT, pdst="10.0.4.3"))
case("who is the ipv6 gateway of the link", "vif5", left(ip6("ff02::1:ff00:fe", hlim=255) / ICMPv6ND_NS(tgt="fd00:4::fe") /
                                                           ICMPv6NDOptSrcLLAddr(lladdr=LEFT), "33:33:ff:00:00:fe"), "nd",
     Ether(src=GATEWAY, dst=LEFT) / IPv6(src="fd00:4::fe", dst="fd00:4::3", hlim=255) / ICMPv6ND_NA(tgt="fd00:4::fe", R=1, S=1, O=1) /
     ICMPv6NDOptDstLLAddr(lladdr=GATEWAY))
case("echo to the gateway of the link", "vif5", left(ip4("10.0.4.254") / ICMP(id=3, seq=9) / Raw(b"e" * 56), GATEWAY), "echo",
     Ether(src=GATEWAY, dst=LEFT) / ip4("10.0.4.3", "10.0.4.254") / ICMP(type=0, id=3, seq=9) / Raw(b"e" * 56))
case("routed from the link", "vif5", left(ip4("10.0.4.4") / udp, GATEWAY), "tunnel", tunnel(ip4("10.0.4.4", ttl=63) / udp, 44), any_bytes=SPORT)
case("routed beside, on the link", "vif5", left(ip4() / udp, GATEWAY), "encap", Ether(src=GATEWAY, dst=RIGHT) / ip4(ttl=63) / udp)
case("routed to the link", "fabric", brought(right(ip4("10.0.4.3", "10.0.9.9") / udp, GATEWAY)), "decap", Ether(src=GATEWAY, dst=LEFT) / ip4("10.0.4.3", "10.0.9.9") / udp)
case("a label leads to the link", "fabric", arriving(ip4("10.0.4.3", "10.0.9.9") / udp, 23), "decap", Ether(src=GATEWAY, dst=LEFT) / ip4("10.0.4.3", "10.0.9.9") / udp)

# The link's mtu, and the size that connections begin with.
fits = UDP(sport=1, dport=2) / Raw(b"f" * (1450 - 28))
case("bridged far, exactly the mtu", "vif5", left(ip4(flags="DF") / fits, FAR), "bridge_tunnel", carried(left(ip4(flags="DF") / fits, FAR)), any_bytes=SPORT)
big = ip4(flags="DF") / UDP(sport=1, dport=2) / Raw(b"f" * (1451 - 28))
case("bridged far, one more than the mtu", "vif5", left(big, FAR), "too_big", Ether(src=GATEWAY, dst=LEFT) /
     IP(src="10.0.4.254", dst="10.0.4.3", ttl=64, id=0, flags="DF") / ICMP(type=3, code=4, nexthopmtu=1450) / Raw(bytes(big)[:40]))
big6 = ip6() / UDP(sport=1, dport=2) / Raw(b"f" * (1451 - 48))
case("bridged far, ipv6, one more than the mtu", "vif5", left(big6, FAR), "too_big", Ether(src=GATEWAY, dst=LEFT) /
     IPv6(src="fd00:4::fe", dst="fd00:4::3", hlim=64) / ICMPv6PacketTooBig(mtu=1450) / Raw(bytes(big6)[:60]))
drop("bridged far, from an address of the link, one more than the mtu", "vif5", left(ip6(src="fe80::3") / UDP() / Raw(b"f" * 1403), FAR), "mtu_exceeded")
drop("bridged far, no df", "vif5", left(ip4() / UDP() / Raw(b"f" * (1451 - 28)), FAR), "mtu_exceeded")
drop("bridged far, no ip, more than the mtu", "vif5", left(Raw(b"f" * 1451), FAR, type=0x88b5), "mtu_exceeded")
case("bridged far, an aggregate", "vif5", left(ip4(flags="DF") / head / aggregate, FAR), "bridge_tunnel", carried(left(ip4(flags="DF") / head / aggregate, FAR)), gso=1410, any_bytes=SPORT)
case("bridged far, a size that does not fit", "vif5", left(ip4() / syn(1460), FAR), "bridge_tunnel", carried(left(ip4() / syn(1410), FAR)), any_bytes=SPORT)
case("bridged beside, a size that fits", "vif5", left(ip4() / syn(1460)), "bridge", left(ip4() / syn(1460)))

# What a link loses.
for name, f, reason in (
        ("another's mac", left(ip4() / udp, mac=RIGHT), "spoofed_mac"), ("another's address", left(ip4(src="10.0.4.5") / udp, FAR), "spoofed_address"),
        ("the gateway's address", left(ip4(src="10.0.4.254") / udp, ALL), "spoofed_address"), ("another's ipv6 address", left(ip6(src="fd00:4::5") / udp, FAR), "spoofed_address"),
        ("arp in another's name", left(who_has("10.0.4.5", "10.0.4.77"), ALL), "spoofed_address"), ("arp with another's mac", left(who_has("10.0.4.5", mac=RIGHT), ALL), "spoofed_mac"),
        ("an arp reply for the gateway", left(is_at(sender="10.0.4.254")), "spoofed_address"), ("arp that is cut off", left(Raw(bytes(is_at())[:20]), type=0x806), "truncated"),
        ("an advertisement of another's address", left(ip6(src="fe80::3", hlim=255) / ICMPv6ND_NA(tgt="fd00:4::5")), "spoofed_address"),
        ("an advertisement behind an extension", left(ip6(hlim=255) / IPv6ExtHdrDestOpt() / ICMPv6ND_NA(tgt="fd00:4::3")), "nd_malformed"),
        ("a router advertisement", left(ip6("ff02::1", src="fe80::3", hlim=255) / ICMPv6ND_RA(), ALL_NODES), "rogue_router"),
        ("a redirect", left(ip6(src="fe80::3", hlim=255) / ICMPv6ND_Redirect(tgt="fe80::3", dst="fd00:4::5")), "rogue_router"),
        ("what bridges keep to themselves", left(own, "01:80:c2:00:00:0e", type=0x88cc), "link_control"), ("a vlan", left(Dot1Q(vlan=3) / ip4() / udp), "vlan"),
        ("to itself", left(ip4() / udp, LEFT), "own_mac"), ("to a node that does not answer", left(ip4() / udp, ABSENT), "unresolved"),
        ("a tunnel's packet", left(ip4() / UDP(dport=4789) / udp, FAR), "tenant_tunnel"), ("a wrong length", left(ip4(len=1400) / udp, FAR), "bad_header"),
        ("ipv6 in an ipv4 frame", left(ip6() / udp, FAR, type=0x800), "bad_header")):
    drop("the link loses " + name, "vif5", f, reason)
drop("a link that does not flood", "vif7", left(ip4() / udp), "unknown_mac")
drop("a link of one", "vif7", left(who_has("10.0.4.5"), ALL), "flood_nobody")
drop("a link that does not flood, from far", "fabric", brought(right(ip4() / udp, FAR), vni=6002), "unknown_mac")
flood("a link of one, from far", "fabric", brought(right(who_has("10.0.4.3", "10.0.4.5", FAR), ALL), vni=6002), [("vif7", right(who_has("10.0.4.3", "10.0.4.5", FAR), ALL))])
for name, f, reason in (("for another node", right(ip4() / udp, FARTHER, FAR), "split_horizon"), ("what bridges keep to themselves", right(own, "01:80:c2:00:00:00", type=0x88cc), "link_control"),
                        ("a vlan", right(Dot1Q(vlan=3) / ip4() / udp), "vlan"), ("a tunnel", right(ip4() / UDP(dport=4789) / udp), "inner_tunnel"),
                        ("a wrong length", right(ip4(len=1400) / udp), "inner_bad_header"), ("ipv6 in an ipv4 frame", right(ip6() / udp, type=0x800), "inner_not_ip"),
                        ("arp for the gateway's mac", right(is_at(), GATEWAY), "inner_not_ip")):
    drop("from far, the link loses " + name, "fabric", brought(f), reason)


# The link's frames behind a label (RFC 7432, section 13), and behind a label and a control word (RFC 4385, section 3). Nothing says which of
# the two a frame is, or that it is none: the port's MAC address begins as an IPv4 packet does.
TELLING, WORDY, NEAR6, FAR6, VIA_VXLAN = ("46:00:00:00:04:03", "02:00:00:00:04:07", "02:00:00:00:04:44", "02:00:00:00:04:55", "02:00:00:00:04:66")
WORD = Raw(b"\0\0\0\0")


def stack(label, s=1, ttl=64):
    return MPLS(label=label, cos=0, s=s, ttl=ttl)


def in_udp(p, label=71, **kw):
    return outer(**kw) / UDP(sport=49152, dport=6635, chksum=0) / stack(label) / p


def in_gre(p, label=1048575, to=3, **kw):
    return outer(to=to, proto=47, **kw) / GRE(proto=0x8847) / stack(label) / p


def in_udp6(p, label=71, **kw):
    return outer6(**kw) / UDP(sport=49152, dport=6635, chksum=0) / stack(label) / p


def in_gre6(p, label=72, to=3, **kw):
    return outer6(to=to, nh=47, **kw) / GRE(proto=0x8847) / stack(label) / p


def from_udp(p, label=61, **kw):
    return reached(**kw) / UDP(sport=50000, dport=6635, chksum=0) / stack(label) / p


def from_gre(p, label=61, **kw):
    return reached(proto=47, **kw) / GRE(proto=0x8847) / stack(label) / p


def from_udp6(p, label=61, **kw):
    return reached6(**kw) / UDP(sport=50000, dport=6635, chksum=0) / stack(label) / p


def from_gre6(p, label=61, **kw):
    return reached6(nh=47, **kw) / GRE(proto=0x8847) / stack(label) / p


def here(p, to=TELLING, **kw):
    return Ether(src=FAR, dst=to, **kw) / p


def there(p, to=FAR, mac=TELLING, **kw):
    return Ether(src=mac, dst=to, **kw) / p


ways_in = {"udp": from_udp, "gre": from_gre, "udp over ipv6": from_udp6, "gre over ipv6": from_gre6}
ways_out = {"udp": (FAR, in_udp, SPORT), "gre": (FARTHER, in_gre, ()), "udp over ipv6": (NEAR6, in_udp6, FLOW_SPORT), "gre over ipv6": (FAR6, in_gre6, FLOW)}
for name, p in {"ipv4": ip4() / udp, "ipv6": ip6() / tcp, "a first fragment": ip4(flags="MF") / udp, "an arp reply": is_at(TELLING), "no ip": own,
                "a time to live of 1": ip4(ttl=1) / udp}.items():
    kind = {"type": 0x88b5} if name == "no ip" else {}
    for way, wrap in ways_in.items():
        f = here(p, **kind)
        case("a frame from mpls in %s: %s" % (way, name), "fabric", wrap(f), "bridge_decap", f)
        f = here(p, WORDY, **kind)
        case("a frame behind a control word from mpls in %s: %s" % (way, name), "fabric", wrap(WORD / f, label=62), "bridge_decap", f)
    for way, (to, wrap, open_bytes) in ways_out.items():
        f = there(p, to, **kind)
        case("a frame into mpls in %s: %s" % (way, name), "vif9", f, "bridge_tunnel", wrap(f), any_bytes=open_bytes)
    for way, to, wrap, open_bytes in (("udp", FAR, lambda p: in_udp(p, 74), SPORT), ("gre", FARTHER, lambda p: in_gre(p, 75), ()),
                                      ("udp over ipv6", NEAR6, lambda p: in_udp6(p, 74), FLOW_SPORT)):
        if name != "an arp reply":
            f = there(p, to, WORDY, **kind)
            case("a frame behind a control word into mpls in %s: %s" % (way, name), "vif10", f, "bridge_tunnel", wrap(WORD / f), any_bytes=open_bytes)
f = there(ip4() / udp, VIA_VXLAN)
case("a frame of the same link into vxlan", "vif9", f, "bridge_tunnel", carried(f, to=3, vni=6003), any_bytes=SPORT)
for name, p in {"an arp request": who_has("10.0.4.5", mac=TELLING), "ipv4": ip4("10.0.4.255", tos=0xb9) / udp, "ipv6": ip6("ff02::fb", src="fe80::3") / udp, "no ip": own}.items():
    kind, tos = {"type": 0x88b5} if name == "no ip" else {}, 1 if name == "ipv4" else 0
    f = there(p, ALL, **kind)
    # Those whose headers are shorter come first. The last copy is the packet itself.
    case("to all, mpls in gre and in udp: " + name, "vif9", f, "flood", in_udp(f, tos=tos), any_bytes=SPORT)
    cases[-1]["copies"] = [{"at": "fabric", "out": frame(in_gre(f, tos=tos)), "any": []}, {"at": "fabric", "out": frame(in_udp(f, tos=tos)), "any": SPORT}]
    if name != "an arp request":
        f = there(p, ALL, WORDY, **kind)
        vx = outer6(to=3, tos=tos) / UDP(sport=49152, dport=4789, chksum=0) / VXLAN(vni=6007, flags=0x08) / f
        case("to all, mpls in gre with a control word, and vxlan, over ipv6: " + name, "vif10", f, "flood", vx, any_bytes=FLOW_SPORT)
        cases[-1]["copies"] = [{"at": "fabric", "out": frame(in_gre6(WORD / f, 73, to=2, tos=tos)), "any": FLOW},
                               {"at": "fabric", "out": frame(vx), "any": FLOW_SPORT}]
    f = here(p, ALL, **kind)
    for way, wrap in ways_in.items():
        flood("to all from mpls in %s: %s" % (way, name), "fabric", wrap(f), [("vif9", f)])
        flood("to all from mpls in %s, behind a control word: %s" % (way, name), "fabric", wrap(WORD / f, label=62), [("vif10", f)])
case("ecn of a frame into mpls", "vif9", there(ip4(tos=2) / udp), "bridge_tunnel", in_udp(there(ip4(tos=2) / udp), tos=2), any_bytes=SPORT)
for way, wrap in ways_in.items():
    case("congestion marked outside, a frame in mpls in " + way, "fabric", wrap(here(ip4(tos=2) / udp), tos=3), "bridge_decap", here(ip4(tos=3) / udp))
    drop("congestion that a frame cannot carry, in mpls in " + way, "fabric", wrap(here(ip4() / udp), tos=3), "ecn")
    routed = ip4("10.0.4.3", "10.0.9.9") / udp
    case("a frame for the gateway, in mpls in " + way, "fabric", wrap(here(routed, GATEWAY)), "decap", Ether(src=GATEWAY, dst=TELLING) / routed)
    case("a frame for the gateway, behind a control word in mpls in " + way, "fabric", wrap(WORD / here(routed, GATEWAY), label=62), "decap", Ether(src=GATEWAY, dst=WORDY) / routed)
    case("a packet for the same network, in mpls in " + way, "fabric", wrap(routed, label=60), "decap", Ether(src=GATEWAY, dst=TELLING) / routed)
case("a control word with a sequence number", "fabric", from_udp(Raw(b"\x0f\x00\x12\x34") / here(ip4() / udp, WORDY), label=62), "bridge_decap", here(ip4() / udp, WORDY))
drop("a channel's word instead of a control word", "fabric", from_udp(Raw(b"\x10\0\0\x21") / here(ip4() / udp, WORDY), label=62), "control_word")
drop("no control word", "fabric", from_gre(here(ip4() / udp, TELLING), label=62), "control_word")
for name, f, reason in (("for another node", here(ip4() / udp, FARTHER), "split_horizon"), ("for nobody's gateway", here(ip4("10.0.4.77") / udp, GATEWAY), "not_here"),
                        ("a vlan", here(Dot1Q(vlan=3) / ip4() / udp), "vlan"), ("a tunnel", here(ip4() / UDP(dport=6635) / udp), "inner_tunnel"),
                        ("a wrong length", here(ip4(len=1400) / udp), "inner_bad_header"), ("ipv6 in an ipv4 frame", here(ip6() / udp, type=0x800), "inner_not_ip"),
                        ("what bridges keep to themselves", here(own, "01:80:c2:00:00:00", type=0x88cc), "link_control"), ("arp for the gateway's mac", here(is_at(), GATEWAY), "inner_not_ip"),
                        ("no whole ethernet header", Raw(bytes(here(own))[:13]), "truncated")):
    drop("from mpls, the link loses " + name, "fabric", from_udp(f), reason)
    drop("from behind a control word, the link loses " + name, "fabric", from_gre(WORD / f, label=62), reason)
for name, mtu, to, mac, vif, wrap, open_bytes in (
        ("udp", 1454, FAR, TELLING, "vif9", in_udp, SPORT), ("gre", 1458, FARTHER, TELLING, "vif9", in_gre, ()), ("udp over ipv6", 1434, NEAR6, TELLING, "vif9", in_udp6, FLOW_SPORT),
        ("gre over ipv6", 1438, FAR6, TELLING, "vif9", in_gre6, FLOW), ("udp behind a control word", 1450, FAR, WORDY, "vif10", lambda p: in_udp(WORD / p, 74), SPORT)):
    f = there(ip4(flags="DF") / UDP(sport=1, dport=2) / Raw(b"f" * (mtu - 28)), to, mac)
    case("exactly the mtu of a frame in mpls in " + name, vif, f, "bridge_tunnel", wrap(f), any_bytes=open_bytes)
    big = ip4(flags="DF") / UDP(sport=1, dport=2) / Raw(b"f" * (mtu - 27))
    case("one more than the mtu of a frame in mpls in " + name, vif, there(big, to, mac), "too_big", Ether(src=GATEWAY, dst=mac) /
         IP(src="10.0.4.254", dst="10.0.4.3", ttl=64, id=0, flags="DF") / ICMP(type=3, code=4, nexthopmtu=mtu) / Raw(bytes(big)[:40]))
    case("a size that does not fit a frame in mpls in " + name, vif, there(ip4() / syn(1460), to, mac), "bridge_tunnel", wrap(there(ip4() / syn(mtu - 40), to, mac)), any_bytes=open_bytes)
f = there(ip4(flags="DF") / head / aggregate)
case("a frame into mpls, an aggregate", "vif9", f, "bridge_tunnel", in_udp(f), gso=1414, any_bytes=SPORT)

# Lengths. What is behind an IP packet in its frame is none of it: padding is carried along, and no header is looked for there.
def hidden(p, nh):
    """A first fragment whose last header, as its options say, is behind its end (RFC 7112 wants it within)."""
    return IPv6ExtHdrFragment(m=1, id=7, nh=60) / Raw(bytes([nh, 0, 1, 4, 0, 0, 0, 0]) + bytes(p))


ack, payload33 = TCP(sport=40000, dport=5201, seq=1, ack=2, flags="A"), Raw(b"x" * 33)
syn80, ping_it = TCP(sport=40000, dport=80, flags="S"), ICMP(id=3, seq=9) / Raw(b"e" * 8)
for name, p, n in (("ipv4", inner(), inner(63)), ("ipv6", inner6(), inner6(63))):
    case("padding behind %s, into a tunnel" % name, "vif1", from_sender(p / ack / Padding(b"\0" * 6)), "tunnel",
         tunnel(Raw(bytes(n / ack) + b"\0" * 6), 17), any_bytes=SPORT)
    case("padding behind %s, from a tunnel" % name, "fabric", arriving(Raw(bytes(n / ack) + b"\0" * 6), 16), "decap", delivered(n / ack / Padding(b"\0" * 6)))
    case("a trailer behind a tunnel's packet, " + name, "fabric", arriving(n / ack, 16) / Padding(b"fcs!"), "decap", delivered(n / ack / Padding(b"fcs!")))
    case("udp that ends before its packet, " + name, "vif1", from_sender(p / UDP(len=20) / payload33), "tunnel", tunnel(n / UDP(len=20) / payload33, 17), any_bytes=SPORT)
case("padding behind a frame's packet", "vif5", left(ip4() / ack / Padding(b"\0" * 6)), "bridge", left(ip4() / ack / Padding(b"\0" * 6)))
lies = {"udp that is longer than its packet": (UDP(len=42) / payload33, "bad_transport"), "udp of no length": (UDP(len=0) / payload33, "bad_transport"),
        "udp that is shorter than its header": (UDP(len=7) / payload33, "bad_transport"), "a tcp header of no length": (TCP(dataofs=0) / payload33, "bad_transport"),
        "a tcp header of 16 bytes": (TCP(dataofs=4) / payload33, "bad_transport"), "a tcp header longer than its packet": (TCP(dataofs=15) / Raw(b"x" * 39), "bad_transport")}
short = {"udp behind the end": (udp, 4, "truncated"), "udp behind a packet of no length": (udp, 0, "truncated"), "tcp behind the end": (syn80, 0, "truncated"),
         "tcp's flags behind the end": (syn80, 12, "truncated"), "tcp's last byte behind the end": (syn80, 19, "truncated")}
for name, (p, reason) in lies.items():
    for version, one, far in (("ipv4", inner, inner), ("ipv6", inner6, inner6)):
        drop("%s: %s" % (version, name), "vif1", from_sender(one() / p), reason)
        drop("%s from a tunnel: %s" % (version, name), "fabric", arriving(one(63) / p, 16), "inner_bad_header")
    drop("bridged: " + name, "vif5", left(ip4() / p, FAR), reason)
    drop("bridged from far: " + name, "fabric", brought(right(ip4() / p)), "inner_bad_header")
for name, (p, rest, reason) in short.items():
    proto = 17 if p is udp else 6
    for version, one in (("ipv4", lambda hops=64: inner(hops, len=20 + rest, proto=proto)), ("ipv6", lambda hops=64: inner6(hops, plen=rest, nh=proto))):
        drop("%s: %s" % (version, name), "vif1", from_sender(one() / p), reason)
        drop("%s from a tunnel: %s" % (version, name), "fabric", arriving(one(63) / p, 16), "inner_bad_header")
    drop("bridged: " + name, "vif5", left(ip4(len=20 + rest) / p, FAR), reason)
drop("an echo behind the end, to the gateway", "vif1", from_sender(inner(dst="10.0.1.254", len=20) / ping_it), "truncated")
drop("half an echo, to the gateway", "vif1", from_sender(inner(dst="10.0.1.254", len=24) / ping_it), "truncated")
drop("an extension behind the end", "vif1", from_sender(inner6(plen=4, nh=60) / IPv6ExtHdrDestOpt(nh=17) / udp), "truncated")
drop("a solicitation's target behind the end, for the gateway", "vif5",
     left(ip6("ff02::1:ff00:fe", hlim=255, plen=8) / ICMPv6ND_NS(tgt="fd00:4::fe"), "33:33:ff:00:00:fe"), "nd_malformed")
drop("an advertisement's target behind the end", "vif5", left(ip6(hlim=255, plen=8) / ICMPv6ND_NA(tgt="fd00:4::3")), "nd_malformed")
for name, p, nh in (("tcp", syn80, 6), ("a tunnel", UDP(dport=6635) / udp, 17), ("mpls in gre", GRE(proto=0x8847) / udp, 47), ("a router advertisement", ICMPv6ND_RA(), 58)):
    drop("a fragment hides " + name, "vif1", from_sender(inner6(plen=16, nh=44) / hidden(p, nh)), "truncated")
    drop("a bridged fragment hides " + name, "vif5", left(ip6(plen=16, nh=44) / hidden(p, nh), FAR), "truncated")
    drop("a fragment from a tunnel hides " + name, "fabric", arriving(inner6(63, plen=16, nh=44) / hidden(p, nh), 16), "inner_bad_header")
    drop("a bridged fragment from far hides " + name, "fabric", brought(right(ip6(plen=16, nh=44) / hidden(p, nh))), "inner_bad_header")

# The outer headers' lengths, and where they come from.
there4 = inner(63, src="10.0.1.4", dst="10.0.1.3")
for wrap, port, name in ((lambda **u: UDP(sport=50000, dport=6635, chksum=0, **u) / MPLS(label=16, s=1, ttl=64), 6635, "mpls in udp"),
                         (lambda **u: UDP(sport=50000, dport=4789, chksum=0, **u) / VXLAN(vni=5001, flags=0x08) / Ether(src="02:00:00:00:99:99", dst=GATEWAY), 4789, "vxlan")):
    for length in (0, 7, 8, 100, 9999):
        drop("%s of udp length %d" % (name, length), "fabric", reached() / wrap(len=length) / there4 / tcp, "outer_length")
        drop("%s of udp length %d over ipv6" % (name, length), "fabric", reached6() / wrap(len=length) / there4 / tcp, "outer_length")
    drop(name + " that ends in the inner packet", "fabric", reached(len=80) / wrap(len=60) / there4 / tcp, "inner_bad_header")
    drop(name + " that ends in the inner packet, over ipv6", "fabric", reached6(plen=60) / wrap(len=60) / there4 / tcp, "inner_bad_header")
    drop(name + " that ends before the inner packet", "fabric", reached(len=32) / wrap(len=12) / there4 / tcp, "inner_bad_header")
    for source in ("127.0.0.1", "224.1.1.1", "0.0.0.0", "0.1.2.3", "255.255.255.255", "10.0.0.1"):
        drop("%s from %s" % (name, source), "fabric", Ether(src=NODE[2], dst=NODE[1]) / IP(src=source, dst="10.0.0.1", id=0) / wrap() / there4 / tcp, "outer_source")
    for source in ("::1", "::", "ff02::1", "fd00:f::1"):
        drop("%s from %s" % (name, source), "fabric", reached6(src=source) / wrap() / there4 / tcp, "outer_source")
    # RFC 1812, section 4.2.2.9: what has arrived is received, whatever its time to live.
    case(name + " with no time to live left outside", "fabric", Ether(src=NODE[2], dst=NODE[1]) / IP(src="10.0.0.2", dst="10.0.0.1", ttl=0, id=0) / wrap() / there4 / tcp,
         "decap", delivered(there4 / tcp))
    nowhere = reached6(plen=0) / wrap() / there4 / tcp
    case(name + " behind an ipv6 packet of no length", "fabric", nowhere, "pass", nowhere)
drop("mpls in gre that ends in the inner packet", "fabric", reached(proto=47, len=60) / GRE(proto=0x8847) / MPLS(label=16, s=1, ttl=64) / there4 / tcp, "inner_bad_header")
drop("mpls in gre from the node itself", "fabric", Ether(src=NODE[2], dst=NODE[1]) / IP(src="10.0.0.1", dst="10.0.0.1", proto=47) / GRE(proto=0x8847) /
     MPLS(label=16, s=1, ttl=64) / there4 / tcp, "outer_source")
drop("a tunnel that ends in the frame's header", "fabric", reached(len=49) / UDP(sport=50000, dport=4789, chksum=0, len=29) / VXLAN(vni=6001, flags=0x08) / right(is_at()), "truncated")

# Aggregates are all of their frame. Others are tunnel packets that were joined by their outer headers.
drop("an aggregate that ends before its frame", "vif1", from_sender(inner(flags="DF", len=1440) / head / aggregate), "joined", gso=1400)
drop("an ipv6 aggregate that ends before its frame", "vif1", from_sender(inner6(plen=1420) / head / aggregate), "joined", gso=1400)
drop("a bridged aggregate that ends before its frame", "vif5", left(ip4(len=1440) / head / aggregate, FAR), "joined", gso=1400)
drop("a bridged aggregate that is no ip", "vif5", left(own, FAR, type=0x88b5), "joined", gso=20)
there6 = inner6(63, src="fd00:1::4", dst="fd00:1::3")
for name, port, content in (("ipv4 in mpls", 6635, stack(16) / there4 / tcp), ("ipv6 in mpls", 6635, stack(16) / there6 / tcp),
                            ("vxlan", 4789, VXLAN(vni=5001, flags=0x08) / Ether(dst=GATEWAY) / there4 / tcp), ("a link's vxlan", 4789, VXLAN(vni=6001, flags=0x08) / right(ip4() / tcp)),
                            ("vxlan with no ip", 4789, VXLAN(vni=6001, flags=0x08) / right(own, type=0x88b5)), ("a link's frames in mpls", 6635, stack(61) / here(ip6() / tcp))):
    content = bytes(content)
    for way, head_to_node in (("", reached()), (" over ipv6", reached6())):
        drop("joined packets of " + name + way, "fabric", head_to_node / UDP(sport=50000, dport=port, chksum=1) / Raw(3 * content), "joined", gso=len(content))

# An answer is for whom the packet is from, which may be another address of the port.
for p, gateway, mtu in ((inner(src="10.0.1.34", flags="DF") / UDP() / Raw(b"f" * (1469 - 28)), "10.0.1.254", 1468), (inner6(src="fd00:1::33") / UDP() / Raw(b"f" * (1469 - 48)), "fd00:1::fe", 1468)):
    if p.version == 4:
        answer = IP(src=gateway, dst=p.src, ttl=64, id=0, flags="DF") / ICMP(type=3, code=4, nexthopmtu=mtu) / Raw(bytes(p)[:40])
    else:
        answer = IPv6(src=gateway, dst=p.src, hlim=64) / ICMPv6PacketTooBig(mtu=mtu) / Raw(bytes(p)[:60])
    case("ipv%d from another address of the port, one more than the mtu" % p.version, "vif1", from_sender(p), "too_big", delivered(answer))

# Names on the link: an address that is made of a MAC address is its port's, and who has none only asks.
MINE, ANOTHERS = "fe80::ff:fe00:403", "fe80::ff:fe00:405"
for name, f in {"its own address of the link": left(ip6("ff02::fb", src=MINE) / udp, "33:33:00:00:00:fb"),
                "an advertisement of its own address of the link": left(ip6("ff02::1", src=MINE, hlim=255) / ICMPv6ND_NA(tgt=MINE, R=0), ALL_NODES),
                "whether its address of the link is free": left(solicit(MINE, src="::", option=False)[IPv6], "33:33:ff:00:04:03"),
                "a router solicitation of who has no address": left(ip6("ff02::2", src="::", hlim=255) / ICMPv6ND_RS(), "33:33:00:00:00:02"),
                "a report of who has no address": left(ip6("ff02::16", src="::", hlim=1) / IPv6ExtHdrHopByHop(options=[RouterAlert(), PadN()]) / ICMPv6MLReport2(), "33:33:00:00:00:16")}.items():
    flood("the link takes " + name, "vif5", f, to_all(f))
for name, f in {"another's address of the link": left(ip6("ff02::fb", src=ANOTHERS) / udp, "33:33:00:00:00:fb"),
                "an advertisement of another's address of the link": left(ip6("ff02::1", src=MINE, hlim=255) / ICMPv6ND_NA(tgt=ANOTHERS, R=0), ALL_NODES),
                "whether another's address of the link is free": left(solicit(ANOTHERS, src="::", option=False)[IPv6], "33:33:ff:00:04:05"),
                "whether another's address is free": left(solicit("fd00:4::5", src="::", option=False)[IPv6], "33:33:ff:00:00:05"),
                "udp from no address": left(ip6(src="::") / udp, FAR), "an echo from no address": left(ip6(src="::") / ICMPv6EchoRequest(), FAR),
                "a solicitation from no address that a router forwarded": left(solicit("fd00:4::3", src="::", option=False, hlim=64)[IPv6], "33:33:ff:00:00:03")}.items():
    drop("the link loses " + name, "vif5", f, "spoofed_address")

# Not ours.
for name, packet in {
        "arp on the fabric": Ether(src=NODE[2], dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=NODE[2], psrc="10.0.0.2", pdst="10.0.0.1"),
        "echo to the node": Ether(src=NODE[2], dst=NODE[1]) / IP(src="10.0.0.2", dst="10.0.0.1") / ICMP() / Raw(b"e" * 56),
        "another port": arriving(inner(63, dst="10.0.1.3") / tcp, 16, dport=8472),
        "the host's own gre": reached() / GRE(proto=0x800) / inner() / udp,
        "a fragment of mpls in udp": Ether(src=NODE[2], dst=NODE[1]) / IP(src="10.0.0.2", dst="10.0.0.1", flags="MF") /
        UDP(sport=50000, dport=6635, chksum=0) / Raw(b"f" * 100),
        "a fragment of vxlan": Ether(src=NODE[2], dst=NODE[1]) / IP(src="10.0.0.2", dst="10.0.0.1", frag=5, proto=17) / Raw(b"f" * 100),
        "vxlan to another node": arriving_vxlan(inner(63, dst="10.0.1.3") / tcp, dst="10.0.0.7"),
        "another node": arriving(inner(63, dst="10.0.1.3") / tcp, 16, dst="10.0.0.7"),
        "a tunnelled network's address in the open": Ether(src=NODE[2], dst=NODE[1]) / inner(63, src="10.0.1.4", dst="10.0.1.3") / tcp,
        "to another mac": Ether(src=NODE[2], dst=NODE[3]) / inner(63, src="10.0.3.4", dst="10.0.3.3") / tcp,
}.items():
    case(name, "fabric", packet, "pass", packet)

print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
