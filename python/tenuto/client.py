"""A client of the controller's interface, typed. Generated from docs/reference/openapi.json by generate_client.py."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Literal, Mapping, Optional, TypedDict, Union

from .connection import Connection, ServiceError, local_arguments, quoted


class Accepted(TypedDict):
    """An answer that says yes."""

    #: Bounds of the flows that were added or changed.
    bounds: List[BoundRow]
    #: Which model decided.
    decided_by: str
    #: Number of the decision; the one before for what was only asked.
    decision: int
    #: Whether it is in force; a what-if is not.
    in_force: bool
    #: Hash of the plan that the set is.
    plan_hash: str
    #: `confirmed`: in force, and in every switch that is kept; `pending`: stored, and not in every switch yet.
    state: str
    #: How long deciding took, microseconds.
    took_us: int
    #: What the reader of flows warned of.
    warnings: List[str]


class Alarm(TypedDict):
    """Something that somebody has to look at."""

    #: Milliseconds since 1970.
    at_ms: int
    #: How often it came up since the service was started.
    count: int
    #: Whether it still holds.
    is_raised: bool
    #: Kind: `not-certified`, `log-torn`, `not-stored`, `drift`, `switch-failed`, `switch-gone`, `change-undone`,
    #: `peer-refused`, `switch-limits`, `queues-missing`, `link-missing`, `link-undescribed`, `port-undescribed`,
    #: `host-unauthorised`, `delay-near-bound`, `cut-off`, `cannot-follow`, `role-refused`.
    kind: str
    #: Where, or nothing.
    place: str
    #: What, in a sentence.
    text: str


class Batch(TypedDict):
    """Changes that are made together or not at all."""

    #: The changes, in order.
    changes: List[Change]


class _BoundRowNeeded(TypedDict):
    """What is always there of a BoundRow."""

    #: Deadline, nanoseconds.
    deadline_ns: int
    #: The flow.
    flow: str
    #: Analysis that gave it.
    method: str
    #: Mode, or `FROM>TO` for a change of modes.
    mode: str
    #: Scheduling class, 0 = highest.
    priority: int
    #: Receiving host.
    target: str


class BoundRow(_BoundRowNeeded, total=False):
    """A bound and what it is held against."""

    #: End-to-end bound, nanoseconds, rounded up; null if unbounded.
    delay_bound_ns: Optional[int]
    #: Deadline less bound, nanoseconds.
    slack_ns: Optional[int]


class DelaySample(TypedDict):
    """The longest delay of a queue between two looks."""

    #: When the switch told it, milliseconds since 1970.
    at_ms: int
    #: The longest delay since the look before, nanoseconds; 0 where no frame was sent. The end of its range, so
    #: never too low.
    delay_ns: int


class _EventNeeded(TypedDict):
    """What is always there of a Event."""

    #: Milliseconds since 1970.
    at_ms: int
    #: Kind: `accepted`, `refused`, `installed`, `certified`, `alarm`, `switch`, `mode`, `undone`.
    kind: str
    #: Number, from 1, since the service was started.
    number: int
    #: What, in a sentence.
    text: str


class Event(_EventNeeded, total=False):
    """Something that happened."""

    #: The decision that it belongs to.
    decision: Optional[int]


class _FlowPageNeeded(TypedDict):
    """What is always there of a FlowPage."""

    #: The flows.
    flows: List[FlowRow]
    #: How many there are in all.
    total: int


class FlowPage(_FlowPageNeeded, total=False):
    """Part of a list."""

    #: `after` of the next page; null at the end.
    next: Optional[str]


class FlowRow(TypedDict):
    """An admitted flow."""

    #: Its bounds, per target and mode.
    bounds: List[BoundRow]
    #: Its fields in the words of a network file, route and port included.
    flow: Any
    #: Its name.
    name: str


class _MistakeNeeded(TypedDict):
    """What is always there of a Mistake."""

    #: Key path, such as `flows.CAM.period`.
    field: str
    #: What is wrong.
    message: str


class Mistake(_MistakeNeeded, total=False):
    """A mistake in what was asked."""

    #: What was meant, or what would fit.
    hint: Optional[str]


#: What is always there of a ModeChange.
_ModeChangeNeeded = TypedDict(
    "_ModeChangeNeeded",
    {
        "at_ms": "int",
        "epoch": "int",
        "from": "str",
        "kind": "str",
        "purged_frames": "int",
        "switch": "str",
        "switch_ns": "int",
        "to": "str",
    },
)


class ModeChange(_ModeChangeNeeded, total=False):
    """Something that a switch told of a mode."""

    #: The flow that exceeded its contract, of a violation.
    flow: Optional[str]


class _ModeRowNeeded(TypedDict):
    """What is always there of a ModeRow."""

    #: Flows that are guaranteed in it.
    flows: int
    #: Its name; the first is the start mode.
    name: str


class ModeRow(_ModeRowNeeded, total=False):
    """A mode."""

    #: So long nothing may exceed this mode before the network returns to it, nanoseconds; null of the highest.
    quiet_ns: Optional[int]
    #: Bound of the change from the mode before, nanoseconds.
    raise_bound_ns: Optional[int]


class NewFlow(TypedDict):
    """A flow to add."""

    #: Its fields, as a network file has them.
    flow: Any
    #: Its name.
    name: str


#: What is always there of a ObservedQueue.
_ObservedQueueNeeded = TypedDict(
    "_ObservedQueueNeeded",
    {
        "class": "int",
        "flows": "List[str]",
        "frames_max": "int",
        "longest_ns": "int",
        "port": "str",
        "samples": "List[DelaySample]",
        "to": "str",
    },
)


class ObservedQueue(_ObservedQueueNeeded, total=False):
    """What was observed of a class at a port, beside what is promised."""

    #: The largest bound over all modes, nanoseconds; null where nothing is promised.
    bound_ns: Optional[int]


#: What is always there of a PortLoad.
_PortLoadNeeded = TypedDict(
    "_PortLoadNeeded",
    {
        "capacity_bps": "int",
        "from": "str",
        "mode": "str",
        "port": "str",
        "rate_bps": "int",
        "to": "str",
    },
)


class PortLoad(_PortLoadNeeded, total=False):
    """Load and backlog of a port."""

    #: Bound on what waits, bits.
    backlog_bound_bits: Optional[int]
    #: Buffer, bits; null where the device states none.
    buffer_limit_bits: Optional[int]


class _ProblemNeeded(TypedDict):
    """What is always there of a Problem."""

    #: This case in words.
    detail: str
    #: HTTP status.
    status: int
    #: The kind in words.
    title: str
    #: Kind of problem: a relative address that names it.
    type: str


class Problem(_ProblemNeeded, total=False):
    """A problem document (RFC 9457), with the refusal in it."""

    #: What is wrong with the flow, where that is the problem.
    errors: List[Mistake]
    #: Where to ask instead, where another controller decides.
    leader: Optional[str]
    #: What is scarce, where that is the problem.
    refusals: List[RefusalDocument]


class _RefusalDocumentNeeded(TypedDict):
    """What is always there of a RefusalDocument."""

    #: Why, in a sentence.
    because: str
    #: Flows that take part there.
    flows: List[str]
    #: Where, such as `sw1:3 > sw2`.
    place: str
    #: What is short.
    resource: str
    #: Unit of both.
    unit: str
    #: Changes that were planned and hold.
    would_fit: List[str]


class RefusalDocument(_RefusalDocumentNeeded, total=False):
    """A resource that is scarce."""

    #: How much there is, in `unit`.
    available: Optional[int]
    #: In which mode, if it depends on one.
    mode: Optional[str]
    #: How much is needed, in `unit`.
    needed: Optional[int]


class _StatusNeeded(TypedDict):
    """What is always there of a Status."""

    #: Alarms that still hold.
    alarms: int
    #: Number of the latest decision.
    decision: int
    #: Flows in force.
    flows: int
    #: Whether a switch has typical times, so that bounds are not guaranteed.
    modelled: bool
    #: Name of the network.
    network: str
    #: Hash of the plan in force.
    plan_hash: str
    #: `alone`, or among several controllers `leader`, `follower`, `taking over` or `cut off` (nothing is admitted,
    #: traffic goes on).
    role: str
    #: `pending` (stored, not in every switch yet), `confirmed` (in force) or `certified` (the checker's word too).
    state: str


class Status(_StatusNeeded, total=False):
    """What the service is doing."""

    #: The latest decision whose set the checker accepted.
    certified: Optional[int]
    #: Grows with every change of who leads; null unless this one does.
    generation: Optional[int]
    #: The latest decision that every switch confirmed; null where no switches are kept.
    installed: Optional[int]
    #: Where the controller that leads is spoken to, if another one does.
    leader: Optional[str]
    #: Why nothing is admitted, if that is so.
    stopped: Optional[str]


class SwitchMode(TypedDict):
    """The mode of a switch as it last told it."""

    #: Mode that its edges admit: higher until the last switch has confirmed a return.
    admitted: str
    #: When that was told, milliseconds since 1970.
    at_ms: int
    #: Number of the agreement; a greater one is later.
    epoch: int
    #: Mode of its forwarding.
    mode: str
    #: Frames out of mode that left its queues at changes.
    purged_frames: int
    #: Raises since it was started.
    raises: int
    #: Returns since it was started.
    returns: int
    #: Its name.
    switch: str


class SwitchRow(TypedDict):
    """What a switch is told."""

    #: OpenFlow datapath id.
    datapath_id: int
    #: Entries of the start mode.
    entries: int
    #: Groups.
    groups: int
    #: Meters.
    meters: int
    #: Its name.
    name: str
    #: Its profile.
    profile: str
    #: Entries of higher modes.
    shadow: int


class AddChange(TypedDict):
    """A flow that is not there yet."""

    action: Literal["add"]
    #: Its fields, as a network file has them.
    flow: Any
    #: Its name.
    name: str


class ChangeChange(TypedDict):
    """Another contract, or other ends, of a flow that is there."""

    action: Literal["change"]
    #: Its fields, as a network file has them; what is left out has its default, not its earlier value.
    flow: Any
    #: Its name.
    name: str


class RemoveChange(TypedDict):
    """The end of a flow."""

    action: Literal["remove"]
    #: Its name.
    name: str


#: One change that is asked for.
Change = Union[AddChange, ChangeChange, RemoveChange]


class Client(Connection):
    """The controller of a network: ``Client("http://127.0.0.1:7733", token)``. Raises ServiceError where it says no."""

    @classmethod
    def of_state(cls, state: str) -> "Client":
        """The controller of this machine that has its state in this folder."""
        return cls(**local_arguments(state))

    def metrics(self) -> str:
        """Counters for Prometheus: its text format, or OpenMetrics where that is asked for."""
        return self._read("GET", "/metrics", {}, {}, None)

    def openapi(self) -> Any:
        """This document."""
        return self._json("GET", "/openapi.json", {}, {}, None)

    def alarms(self) -> List[Alarm]:
        """What somebody has to look at."""
        return self._json("GET", "/v1/alarms", {}, {}, None)

    def audit(self, *, limit: Optional[int] = None) -> List[Any]:
        """Who asked for what, the latest last."""
        return self._json("GET", "/v1/audit", {"limit": limit}, {}, None)

    def batch(self, body: Batch, *, advice: Optional[bool] = None, idempotency_key: Optional[str] = None) -> Accepted:
        """Several changes, all or none."""
        return self._json("POST", "/v1/batch", {"advice": advice}, {"Idempotency-Key": idempotency_key}, body)

    def events(self, *, last_event_id: Optional[int] = None) -> Iterator[Event]:
        """What happens, from `Last-Event-ID` on where that is sent."""
        return self._events("GET", "/v1/events", {}, {"Last-Event-ID": last_event_id}, None)

    def flows(self, *, after: Optional[str] = None, limit: Optional[int] = None) -> FlowPage:
        """The admitted flows, by name."""
        return self._json("GET", "/v1/flows", {"after": after, "limit": limit}, {}, None)

    def add(self, body: NewFlow, *, advice: Optional[bool] = None, idempotency_key: Optional[str] = None) -> Accepted:
        """Adds a flow, or says what is in the way."""
        return self._json("POST", "/v1/flows", {"advice": advice}, {"Idempotency-Key": idempotency_key}, body)

    def flow(self, name: str) -> FlowRow:
        """One admitted flow."""
        return self._json("GET", f"/v1/flows/{quoted(name)}", {}, {}, None)

    def change(self, name: str, body: Mapping[str, Any], *, advice: Optional[bool] = None, idempotency_key: Optional[str] = None) -> Accepted:
        """Changes a flow; should the change be refused, the flow stays as it was."""
        return self._json("PUT", f"/v1/flows/{quoted(name)}", {"advice": advice}, {"Idempotency-Key": idempotency_key}, body)

    def remove(self, name: str, *, idempotency_key: Optional[str] = None) -> Accepted:
        """Removes a flow."""
        return self._json("DELETE", f"/v1/flows/{quoted(name)}", {}, {"Idempotency-Key": idempotency_key}, None)

    def modes(self) -> List[ModeRow]:
        """The modes, lowest first."""
        return self._json("GET", "/v1/modes", {}, {}, None)

    def mode_history(self) -> List[ModeChange]:
        """Violations and mode changes that switches told of, the latest last."""
        return self._json("GET", "/v1/modes/history", {}, {}, None)

    def mode_of_switches(self) -> List[SwitchMode]:
        """The mode of every switch that is kept, as it last told it."""
        return self._json("GET", "/v1/modes/switches", {}, {}, None)

    def network(self) -> str:
        """The set in force as a network file."""
        return self._read("GET", "/v1/network", {}, {}, None)

    def observed(self) -> List[ObservedQueue]:
        """What frames waited in queues of switches, beside what is promised; of switches that tell."""
        return self._json("GET", "/v1/observed", {}, {}, None)

    def plan(self) -> Any:
        """The plan in force, as `tenuto certify` takes it."""
        return self._json("GET", "/v1/plan", {}, {}, None)

    def ports(self) -> List[PortLoad]:
        """Load and backlog of every port in every mode."""
        return self._json("GET", "/v1/ports", {}, {}, None)

    def status(self) -> Status:
        """What the service is doing."""
        return self._json("GET", "/v1/status", {}, {}, None)

    def switches(self) -> List[SwitchRow]:
        """What every switch is told, in numbers."""
        return self._json("GET", "/v1/switches", {}, {}, None)

    def what_if(self, body: Batch, *, advice: Optional[bool] = None) -> Accepted:
        """What would be answered to changes; nothing is changed."""
        return self._json("POST", "/v1/what-if", {"advice": advice}, {}, body)


__all__ = [
    "Client",
    "ServiceError",
    "Accepted",
    "Alarm",
    "Batch",
    "BoundRow",
    "DelaySample",
    "Event",
    "FlowPage",
    "FlowRow",
    "Mistake",
    "ModeChange",
    "ModeRow",
    "NewFlow",
    "ObservedQueue",
    "PortLoad",
    "Problem",
    "RefusalDocument",
    "Status",
    "SwitchMode",
    "SwitchRow",
    "Change",
]
