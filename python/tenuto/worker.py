"""The process in which an application runs: events in, answers out, each with its length in front."""

from __future__ import annotations

import importlib.util
import os
import struct
import sys
import traceback
from typing import Any, BinaryIO, Optional, Tuple

from . import openflow
from .app import Answer, App

_LOAD, _SAVE, _BATCH = 1, 2, 4


def load_app(path: str) -> App:
    """The one application that a file defines."""
    spec = importlib.util.spec_from_file_location("application", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python program")
    module = importlib.util.module_from_spec(spec)
    sys.modules["application"] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    found = [
        it for it in vars(module).values()
        if isinstance(it, type) and issubclass(it, App) and it.__module__ == "application"
    ]
    if len(found) != 1:
        names = ", ".join([it.__name__ for it in found]) or "none"
        raise ValueError(f"{path} is to define one class of tenuto.App; there is: {names}")
    app = found[0]()
    app.start()
    return app


def handle(app: App, kind: int, datapath: int, now_ns: int, data: bytes) -> Answer:
    """Tells the application of one event."""
    if kind == 4:
        packet = openflow.Packet(data)
        answer = Answer(datapath, now_ns, packet)
        app.packet_in(datapath, packet, answer)
        return answer
    answer = Answer(datapath, now_ns)
    if kind == 1:
        ports = [openflow.Port.parse(data, at) for at in range(16, len(data) - 63, 64)]
        app.switch_up(datapath, ports, answer)
    elif kind == 2:
        app.switch_down(datapath, answer)
    elif kind == 3:
        app.port_status(datapath, openflow.Port.parse(data, 16), data[8], answer)
    elif kind == 5:
        app.flow_removed(datapath, openflow.parse_flow_removed(data), answer)
    elif kind == 6:
        app.port_stats(datapath, openflow.parse_port_stats(data), answer)
    elif kind == 7:
        app.flow_stats(datapath, openflow.parse_flow_stats(data), answer)
    elif kind == 8:
        app.refused(datapath, *struct.unpack_from("!HH", data, 8), answer)
    elif kind == 9:
        app.timer(data.decode(), answer)
    return answer


def place(error: BaseException, path: str) -> str:
    """The line of the user's file that failed, and how."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if os.path.abspath(frame.filename) == os.path.abspath(path)]
    what = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {what}"
    if own:
        return f"{path}:{own[-1].lineno}: in {own[-1].name}: {what}"
    return f"{path}: {what}"


def one(app: App, request: bytes) -> bytes:
    """Answers a request."""
    flags, at = request[0], 1
    if flags & _LOAD:
        length, = struct.unpack_from("!I", request, at)
        app.load(request[at + 4:at + 4 + length])
        at += 4 + length
    kind, datapath, now_ns = struct.unpack_from("!BQQ", request, at)
    answer = handle(app, kind, datapath, now_ns, request[at + 17:]).encode()
    return answer + (app.save() if flags & _SAVE else b"")


def answered(app: App, request: bytes, path: str) -> Tuple[int, bytes]:
    """Whether a request fails, and what is answered then or else."""
    try:
        return 0, one(app, request)
    except Exception as error:
        return 1, place(error, path).encode()


def batch(app: App, request: bytes, path: str) -> bytes:
    """Answers several requests in their order; one that fails keeps none of the others from being answered."""
    at, answers = 5, []
    for _ in range(struct.unpack_from("!I", request, 1)[0]):
        length, = struct.unpack_from("!I", request, at)
        status, body = answered(app, request[at + 4:at + 4 + length], path)
        answers.append(struct.pack("!BI", status, len(body)) + body)
        at += 4 + length
    return b"".join(answers)


def _read(source: BinaryIO) -> Optional[bytes]:
    head = source.read(4)
    if len(head) < 4:
        return None
    length, = struct.unpack("!I", head)
    body = source.read(length)
    return body if len(body) == length else None


def _write(sink: BinaryIO, status: int, body: bytes) -> None:
    sink.write(struct.pack("!IB", len(body) + 1, status) + body)
    sink.flush()


def _pipes() -> Tuple[BinaryIO, BinaryIO]:
    """The pipes to the controller. What the application prints goes to standard error."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    return source, sink


def main(path: str) -> None:
    """Serves until the controller closes its end."""
    source, sink = _pipes()
    app: Any = None
    try:
        app = load_app(path)
        _write(sink, 0, b"")
    except BaseException as error:  # Whatever it is, the controller tells it.
        _write(sink, 1, place(error, path).encode())
        return
    while True:
        request = _read(source)
        if request is None:
            return
        if request[0] == _BATCH:
            status, body = 0, batch(app, request, path)
        else:
            status, body = answered(app, request, path)
        _write(sink, status, body)
