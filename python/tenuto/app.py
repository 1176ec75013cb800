"""What an application is, and what it answers with."""

from __future__ import annotations

import ast
import struct
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import openflow
from .openflow import Action, FlowRemoved, FlowStats, Packet, Port, PortStats


class Answer:
    """What is done about an event. What is not answered does not happen.

    Messages go to the switch that the event is about, unless ``datapath`` names another one.
    """

    def __init__(self, datapath: int, now_ns: int, packet: Optional[Packet] = None) -> None:
        self.datapath = datapath
        #: When it is given, by the clock of whoever runs the application.
        self.now_ns = now_ns
        self._packet = packet
        self._items: List[Tuple[int, int, bytes]] = []

    def _to(self, datapath: Optional[int]) -> int:
        return self.datapath if datapath is None else datapath

    def message(self, message: bytes, datapath: Optional[int] = None) -> None:
        """Sends any OpenFlow message."""
        self._items.append((1, self._to(datapath), message))

    def flow_mod(
        self, match: Dict[str, Any], actions: Sequence[Action] = (), datapath: Optional[int] = None, **more: Any
    ) -> None:
        """Changes entries: see ``openflow.flow_mod`` for tables, priorities, time-outs and deletion."""
        self.message(openflow.flow_mod(match, actions, **more), datapath)

    def delete(self, match: Dict[str, Any], datapath: Optional[int] = None, **more: Any) -> None:
        """Deletes the entries that the match covers."""
        self.flow_mod(match, (), datapath, command=openflow.DELETE, **more)

    def install(self, match: Dict[str, Any], actions: Sequence[Action], **more: Any) -> None:
        """Adds an entry to the switch that asked, and sends the packet through its tables."""
        packet = self._asked()
        self.flow_mod(match, actions, buffer_id=packet.buffer_id, **more)
        if packet.buffer_id == openflow.NO_BUFFER:
            self.send([openflow.output(openflow.TABLE)])

    def send(self, actions: Sequence[Action]) -> None:
        """Has the switch that asked send the packet."""
        packet = self._asked()
        data = packet.data if packet.buffer_id == openflow.NO_BUFFER else b""
        self.message(
            openflow.packet_out(actions, in_port=packet.in_port, buffer_id=packet.buffer_id, data=data)
        )

    def send_data(self, data: bytes, actions: Sequence[Action], datapath: Optional[int] = None) -> None:
        """Has a switch send a packet of the application's own."""
        self.message(
            openflow.packet_out(actions, in_port=openflow.CONTROLLER, buffer_id=openflow.NO_BUFFER, data=data),
            datapath,
        )

    def ask_ports(self, port: int = openflow.ANY, datapath: Optional[int] = None) -> None:
        """Asks for port statistics."""
        self.message(openflow.ask_ports(port), datapath)

    def ask_flows(self, match: Optional[Dict[str, Any]] = None, datapath: Optional[int] = None) -> None:
        """Asks for flow statistics."""
        self.message(openflow.ask_flows(match or {}), datapath)

    def lead(self, port: int, to: int, datapath: Optional[int] = None) -> None:
        """Says that packets through this port reach the switch ``to``, for which there is a flow-mod."""
        self._items.append((5, self._to(datapath), struct.pack("!IQ", port, to)))

    def start_timer(self, name: str, after_s: float) -> None:
        """Calls ``timer`` with this name once, after that time."""
        self._items.append((2, round(after_s * 1e9), name.encode()))

    def stop_timer(self, name: str) -> None:
        """Stops a timer, if it runs."""
        self._items.append((3, 0, name.encode()))

    def note(self, text: str) -> None:
        """Tells the user a line."""
        self._items.append((4, 0, str(text).encode()))

    def _asked(self) -> Packet:
        if self._packet is None:
            raise ValueError("only a packet-in has a packet to send")
        return self._packet

    def encode(self) -> bytes:
        """The answer as the controller reads it."""
        items = [struct.pack("!BQI", kind, number, len(data)) + data for kind, number, data in self._items]
        return struct.pack("!I", len(items)) + b"".join(items)


class App:
    """An application. Its attributes are its state: numbers, texts, bytes, tuples, lists, sets and dicts."""

    def start(self) -> None:
        """Sets the attributes, before anything else."""

    def switch_up(self, datapath: int, ports: List[Port], answer: Answer) -> None:
        """A switch has connected; its tables hold what is unknown to the controller and nothing else."""

    def switch_down(self, datapath: int, answer: Answer) -> None:
        """The connection to a switch is lost."""

    def port_status(self, datapath: int, port: Port, reason: int, answer: Answer) -> None:
        """A port was added (0), removed (1) or changed (2)."""

    def packet_in(self, datapath: int, packet: Packet, answer: Answer) -> None:
        """A packet that no entry knows. An answer without messages drops it."""

    def flow_removed(self, datapath: int, removed: FlowRemoved, answer: Answer) -> None:
        """An entry with the flag ``SEND_FLOW_REM`` has gone."""

    def port_stats(self, datapath: int, stats: List[PortStats], answer: Answer) -> None:
        """Port statistics that were asked for; a long reply comes in several calls."""

    def flow_stats(self, datapath: int, stats: List[FlowStats], answer: Answer) -> None:
        """Flow statistics that were asked for; a long reply comes in several calls."""

    def refused(self, datapath: int, kind: int, code: int, answer: Answer) -> None:
        """A switch has refused a message, with this type and code of OpenFlow."""

    def timer(self, name: str, answer: Answer) -> None:
        """A timer of the application is due; it has stopped."""

    def save(self) -> bytes:
        """The state as bytes: the same for the same state."""
        return canonical(vars(self)).encode()

    def load(self, state: bytes) -> None:
        """Takes a state of ``save``."""
        vars(self).clear()
        vars(self).update(_from_canonical(ast.parse(state.decode(), mode="eval").body))


def canonical(value: Any) -> str:
    """A text of a value that does not depend on the order of insertion in dicts and sets."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    if isinstance(value, tuple):
        return "(" + "".join([canonical(it) + "," for it in value]) + ")"
    if isinstance(value, list):
        return "[" + ",".join([canonical(it) for it in value]) + "]"
    if isinstance(value, (set, frozenset)):
        inner = ",".join(sorted([canonical(it) for it in value]))
        return f"{type(value).__name__}([{inner}])"
    if isinstance(value, dict):
        pairs = sorted([(canonical(key), canonical(it)) for key, it in value.items()])
        return "{" + ",".join([f"{key}:{it}" for key, it in pairs]) + "}"
    raise TypeError(
        f"a {type(value).__name__} is no part of a state; use numbers, texts, bytes, tuples, lists, sets and "
        "dicts, or write save() and load()"
    )


def _from_canonical(node: ast.AST) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return {"set": set, "frozenset": frozenset}[node.func.id](_from_canonical(node.args[0]))
    if isinstance(node, ast.Dict):
        return {_from_canonical(k): _from_canonical(v) for k, v in zip(node.keys, node.values) if k is not None}
    if isinstance(node, ast.List):
        return [_from_canonical(it) for it in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple([_from_canonical(it) for it in node.elts])
    if isinstance(node, ast.Name):
        return float(node.id)
    return ast.literal_eval(node)
