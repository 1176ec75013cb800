"""OpenFlow 1.3 as bytes: what applications send and are told (OpenFlow 1.3.5, section 7)."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

Value = Union[int, str]
#: An action, as bytes.
Action = bytes

IN_PORT = 0xFFFFFFF8
TABLE = 0xFFFFFFF9
FLOOD = 0xFFFFFFFB
ALL = 0xFFFFFFFC
CONTROLLER = 0xFFFFFFFD
ANY = 0xFFFFFFFF
NO_BUFFER = 0xFFFFFFFF
ALL_TABLES = 0xFF
SEND_FLOW_REM = 1

ADD, MODIFY, MODIFY_STRICT, DELETE, DELETE_STRICT = range(5)

# Name: number (OFPXMT_OFB_*), bytes, kind.
_FIELDS: Dict[str, Tuple[int, int, str]] = {
    "in_port": (0, 4, "int"), "metadata": (2, 8, "int"), "eth_dst": (3, 6, "mac"), "eth_src": (4, 6, "mac"),
    "eth_type": (5, 2, "int"), "vlan_vid": (6, 2, "int"), "vlan_pcp": (7, 1, "int"), "ip_dscp": (8, 1, "int"),
    "ip_ecn": (9, 1, "int"), "ip_proto": (10, 1, "int"), "ipv4_src": (11, 4, "ip4"), "ipv4_dst": (12, 4, "ip4"),
    "tcp_src": (13, 2, "int"), "tcp_dst": (14, 2, "int"), "udp_src": (15, 2, "int"), "udp_dst": (16, 2, "int"),
    "icmpv4_type": (19, 1, "int"), "icmpv4_code": (20, 1, "int"), "arp_op": (21, 2, "int"),
    "arp_spa": (22, 4, "ip4"), "arp_tpa": (23, 4, "ip4"), "arp_sha": (24, 6, "mac"), "arp_tha": (25, 6, "mac"),
    "ipv6_src": (26, 16, "ip6"), "ipv6_dst": (27, 16, "ip6"), "icmpv6_type": (29, 1, "int"),
}
_NAMES = {number: (name, size, kind) for name, (number, size, kind) in _FIELDS.items()}
_BASIC = 0x8000
# Prerequisites go before what needs them: OpenFlow 1.3.5, section 7.2.3.6.
_ORDER = {name: place for place, name in enumerate(_FIELDS)}


def _to_bytes(value: Value, size: int, kind: str) -> bytes:
    if isinstance(value, int):
        return value.to_bytes(size, "big")
    if kind == "mac":
        raw = bytes.fromhex(value.replace(":", ""))
    elif kind in ("ip4", "ip6"):
        raw = ipaddress.ip_address(value).packed
    else:
        raise ValueError(f"{value!r} is no whole number")
    if len(raw) != size:
        raise ValueError(f"{value!r} has {len(raw)} bytes, not {size}")
    return raw


def _from_bytes(raw: bytes, kind: str) -> Value:
    if kind == "mac":
        return raw.hex(":")
    if kind in ("ip4", "ip6"):
        return str(ipaddress.ip_address(raw))
    return int.from_bytes(raw, "big")


def _oxm(name: str, value: Any) -> bytes:
    if name not in _FIELDS:
        raise ValueError(f"no match field is called {name!r}; there are {', '.join(_FIELDS)}")
    number, size, kind = _FIELDS[name]
    if isinstance(value, tuple):
        raw = _to_bytes(value[0], size, kind) + _to_bytes(value[1], size, kind)
        return struct.pack("!HBB", _BASIC, number << 1 | 1, 2 * size) + raw
    return struct.pack("!HBB", _BASIC, number << 1, size) + _to_bytes(value, size, kind)


def encode_match(fields: Dict[str, Any]) -> bytes:
    """A match with its padding; an empty one is every packet. A tuple is a value and its mask."""
    body = b"".join([_oxm(name, fields[name]) for name in sorted(fields, key=lambda it: _ORDER.get(it, -1))])
    length = 4 + len(body)
    return struct.pack("!HH", 1, length) + body + bytes(-length % 8)


def decode_match(data: bytes, at: int) -> Tuple[Dict[str, Any], int]:
    """A match and where it ends. Fields that have no name here are left out."""
    length = struct.unpack_from("!H", data, at + 2)[0]
    end, place, fields = at + length, at + 4, {}
    while place + 4 <= end:
        class_, number, size = struct.unpack_from("!HBB", data, place)
        raw, place = data[place + 4:place + 4 + size], place + 4 + size
        known = _NAMES.get(number >> 1) if class_ == _BASIC else None
        if known:
            name, width, kind = known
            value: Any = _from_bytes(raw[:width], kind)
            fields[name] = (value, _from_bytes(raw[width:], kind)) if number & 1 else value
    return fields, at + (length + 7) // 8 * 8


def output(port: int, max_len: int = 0) -> Action:
    """The packet through a port; of what goes to the controller, so many bytes."""
    return struct.pack("!HHIH6x", 0, 16, port, max_len)


def group(group_id: int) -> Action:
    """The packet through a group."""
    return struct.pack("!HHI", 22, 8, group_id)


def set_queue(queue_id: int) -> Action:
    """The queue in which the packet waits."""
    return struct.pack("!HHI", 21, 8, queue_id)


def push_vlan(eth_type: int = 0x8100) -> Action:
    """A new VLAN tag."""
    return struct.pack("!HHH2x", 17, 8, eth_type)


def pop_vlan() -> Action:
    """Takes the outer VLAN tag away."""
    return struct.pack("!HH4x", 18, 8)


def set_field(**field: Value) -> Action:
    """Changes one header field: ``set_field(eth_dst="02:00:00:00:00:01")``."""
    if len(field) != 1:
        raise ValueError("set_field changes one field")
    (name, value), = field.items()
    body = _oxm(name, value)
    length = (4 + len(body) + 7) // 8 * 8
    return struct.pack("!HH", 25, length) + body + bytes(length - 4 - len(body))


def _message(kind: int, body: bytes) -> bytes:
    return struct.pack("!BBHI", 4, kind, 8 + len(body), 0) + body


def flow_mod(
    match: Dict[str, Any],
    actions: Sequence[Action] = (),
    *,
    command: int = ADD,
    table: int = 0,
    priority: int = 0x8000,
    idle_timeout: int = 0,
    hard_timeout: int = 0,
    cookie: int = 0,
    cookie_mask: int = 0,
    flags: int = 0,
    buffer_id: int = NO_BUFFER,
    out_port: int = ANY,
    goto: Optional[int] = None,
    meter: Optional[int] = None,
) -> bytes:
    """A flow-mod. Without actions and ``goto``, an entry drops."""
    parts: List[bytes] = []
    if meter is not None:
        parts.append(struct.pack("!HHI", 6, 8, meter))
    if actions:
        listed = b"".join(actions)
        parts.append(struct.pack("!HH4x", 4, 8 + len(listed)) + listed)
    if goto is not None:
        parts.append(struct.pack("!HHB3x", 1, 8, goto))
    head = struct.pack(
        "!QQBBHHHIIIH2x", cookie, cookie_mask, table, command, idle_timeout, hard_timeout, priority,
        buffer_id, out_port, ANY, flags,
    )
    return _message(14, head + encode_match(match) + b"".join(parts))


def packet_out(actions: Sequence[Action], *, in_port: int, buffer_id: int, data: bytes) -> bytes:
    """A packet-out."""
    listed = b"".join(actions)
    return _message(13, struct.pack("!IIH6x", buffer_id, in_port, len(listed)) + listed + data)


def group_mod(group_id: int, buckets: Sequence[Sequence[Action]], *, command: int = 0, kind: int = 0) -> bytes:
    """A group of the kinds all (0), select (1), indirect (2); a command is add (0), modify (1), delete (2)."""
    body = b""
    for actions in buckets:
        listed = b"".join(actions)
        weight = 1 if kind == 1 else 0
        body += struct.pack("!HHII4x", 16 + len(listed), weight, ANY, ANY) + listed
    return _message(15, struct.pack("!HBxI", command, kind, group_id) + body)


def meter_mod(meter_id: int, rate_kbps: int, burst_kbits: int, *, command: int = 0) -> bytes:
    """A meter that drops above a rate; a command is add (0), modify (1), delete (2)."""
    band = struct.pack("!HHII4x", 1, 16, rate_kbps, burst_kbits)
    return _message(29, struct.pack("!HHI", command, 0b101, meter_id) + (band if command < 2 else b""))


def ask_ports(port: int = ANY) -> bytes:
    """A request for port statistics."""
    return _message(18, struct.pack("!HH4xI4x", 4, 0, port))


def ask_flows(match: Dict[str, Any], table: int = ALL_TABLES) -> bytes:
    """A request for flow statistics."""
    return _message(18, struct.pack("!HH4xB3xII4xQQ", 1, 0, table, ANY, ANY, 0, 0) + encode_match(match))


@dataclass(frozen=True)
class Port:
    """A port of a switch."""

    number: int
    mac: str
    name: str
    is_up: bool

    @staticmethod
    def parse(data: bytes, at: int) -> "Port":
        number, mac, name, config, state = struct.unpack_from("!I4x6s2x16sII", data, at)
        text = name.split(b"\0")[0].decode("utf-8", "replace")
        return Port(number, mac.hex(":"), text, not config & 1 and not state & 1)


@dataclass(frozen=True)
class PortStats:
    """Counters of a port, and for how long it has been there."""

    port: int
    rx_packets: int
    tx_packets: int
    rx_bytes: int
    tx_bytes: int
    rx_dropped: int
    tx_dropped: int
    duration_ns: int


@dataclass(frozen=True)
class FlowStats:
    """Counters of an entry."""

    table: int
    priority: int
    cookie: int
    packets: int
    bytes: int
    match: Dict[str, Any]
    duration_ns: int


@dataclass(frozen=True)
class FlowRemoved:
    """An entry that has gone; a reason is idle (0), hard (1), deleted (2), group (3)."""

    table: int
    priority: int
    cookie: int
    reason: int
    packets: int
    bytes: int
    match: Dict[str, Any]


def parse_port_stats(data: bytes) -> List[PortStats]:
    found = []
    for at in range(16, len(data) - 111, 112):
        it = struct.unpack_from("!I4x12Q2I", data, at)
        found.append(PortStats(*it[:7], duration_ns=it[13] * 1_000_000_000 + it[14]))
    return found


def parse_flow_stats(data: bytes) -> List[FlowStats]:
    found, at = [], 16
    while at + 56 <= len(data):
        length, table, sec, nsec, priority = struct.unpack_from("!HBxIIH", data, at)
        cookie, packets, octets = struct.unpack_from("!QQQ", data, at + 24)
        match, _ = decode_match(data, at + 48)
        duration_ns = sec * 1_000_000_000 + nsec
        found.append(FlowStats(table, priority, cookie, packets, octets, match, duration_ns))
        at += max(length, 56)
    return found


def parse_flow_removed(data: bytes) -> FlowRemoved:
    cookie, priority, reason, table = struct.unpack_from("!QHBB", data, 8)
    packets, octets = struct.unpack_from("!QQ", data, 32)
    match, _ = decode_match(data, 48)
    return FlowRemoved(table, priority, cookie, reason, packets, octets, match)


class Packet:
    """A packet-in. Header fields that the packet does not have are ``None``."""

    __slots__ = ("in_port", "buffer_id", "data", "dst", "src", "table", "cookie", "_headers")

    def __init__(self, message: bytes) -> None:
        self.buffer_id: int
        self.buffer_id, _, _, self.table, self.cookie = struct.unpack_from("!IHBBQ", message, 8)
        if message[24:32] == b"\x00\x01\x00\x0c\x80\x00\x00\x04":
            # The port of entry and nothing else, which is usual.
            self.in_port: int = struct.unpack_from("!I", message, 32)[0]
            end = 40
        else:
            fields, end = decode_match(message, 24)
            self.in_port = fields.get("in_port", 0)
        self.data: bytes = message[end + 2:]
        self.dst: str = self.data[0:6].hex(":")
        self.src: str = self.data[6:12].hex(":")
        self._headers: Optional[Dict[str, Any]] = None

    def addresses(self) -> Dict[str, Any]:
        """Packets of the same source and destination at the same port."""
        return {"in_port": self.in_port, "eth_dst": self.dst, "eth_src": self.src}

    def flow(self) -> Optional[Dict[str, Any]]:
        """Packets of the same flow of TCP or UDP."""
        headers = self.headers()
        names = ("eth_type", "ip_proto", "ipv4_src", "ipv4_dst", "ipv6_src", "ipv6_dst", "tcp_src", "tcp_dst",
                 "udp_src", "udp_dst")
        flow = {name: headers[name] for name in names if name in headers}
        return flow if "tcp_src" in flow or "udp_src" in flow else None

    def headers(self) -> Dict[str, Any]:
        """Its header fields under the names of match fields; what is cut off is not among them."""
        if self._headers is None:
            self._headers = _headers(self)
        return self._headers


def _headers(packet: Packet) -> Dict[str, Any]:
    data, at = packet.data, 12
    fields: Dict[str, Any] = {"in_port": packet.in_port, "eth_dst": packet.dst, "eth_src": packet.src}
    eth_type = int.from_bytes(data[at:at + 2], "big")
    if eth_type in (0x8100, 0x88A8) and len(data) >= at + 6:
        tag = int.from_bytes(data[at + 2:at + 4], "big")
        fields["vlan_vid"], fields["vlan_pcp"] = tag & 0xFFF | 0x1000, tag >> 13
        at += 4
        eth_type = int.from_bytes(data[at:at + 2], "big")
    fields["eth_type"], at = eth_type, at + 2
    if eth_type == 0x806 and len(data) >= at + 28:
        op, sha, spa, tha, tpa = struct.unpack_from("!6xH6s4s6s4s", data, at)
        fields.update(arp_op=op, arp_sha=sha.hex(":"), arp_tha=tha.hex(":"))
        fields.update(arp_spa=_from_bytes(spa, "ip4"), arp_tpa=_from_bytes(tpa, "ip4"))
    elif eth_type == 0x800 and len(data) >= at + 20 and data[at] >> 4 == 4:
        fields["ip_dscp"], fields["ip_proto"] = data[at + 1] >> 2, data[at + 9]
        fields["ipv4_src"] = _from_bytes(data[at + 12:at + 16], "ip4")
        fields["ipv4_dst"] = _from_bytes(data[at + 16:at + 20], "ip4")
        is_fragment = int.from_bytes(data[at + 6:at + 8], "big") & 0x3FFF
        if not is_fragment:
            _ports(fields, data, at + (data[at] & 15) * 4)
    elif eth_type == 0x86DD and len(data) >= at + 40 and data[at] >> 4 == 6:
        fields["ip_proto"] = data[at + 6]
        fields["ipv6_src"] = _from_bytes(data[at + 8:at + 24], "ip6")
        fields["ipv6_dst"] = _from_bytes(data[at + 24:at + 40], "ip6")
        _ports(fields, data, at + 40)
    return fields


def _ports(fields: Dict[str, Any], data: bytes, at: int) -> None:
    name = {6: "tcp", 17: "udp"}.get(fields["ip_proto"])
    if name and len(data) >= at + 4:
        fields[name + "_src"], fields[name + "_dst"] = struct.unpack_from("!HH", data, at)
