"""Frames through a network of switches, one event after the other: delays that no bound may be below.

Written apart from Tenuto's simulator, after IEEE 802.1Q's strict priority: a switch has a frame when its last bit is there,
puts it after its latency into the queue of its class at the port, and a port that is free takes the first frame of
the highest class. Times in ns as whole numbers of 1/1000 ns.
"""

import heapq
import random

from frame_networks import BETWEEN_FRAMES, ports_of, rate_of, wire_bits

PREAMBLE = 8
# Parts of a nanosecond; all of Mbit/s from 1 to 10,000 with whole bytes come out whole.
PARTS = 1000


def largest_delays(network, tries, frames_each, seed):
    """ns per (flow, target): the largest of all schedules that were tried."""
    rng = random.Random(f"played/{network['name']}/{seed}")
    largest = {}
    for attempt in range(tries):
        offsets = [first_release(rng, flow, attempt) for flow in network["flows"]]
        for key, delay in play(network, offsets, frames_each).items():
            largest[key] = max(delay, largest.get(key, 0.0))
    return largest


def first_release(rng, flow, attempt):
    """Everybody at once, nearly at once, or anywhere in a period."""
    if attempt == 0:
        return 0
    span = (20_000, 200_000, flow["period"])[attempt % 3]
    return rng.randrange(min(span, flow["period"]) + 1)


def play(network, offsets, frames_each):
    tables = [onward(flow) for flow in network["flows"]]
    queues, free_at, delays, events, count = {}, {}, {}, [], 0

    def push(at, *what):
        nonlocal count
        count += 1
        heapq.heappush(events, (at, count, *what))

    def start(port, now):
        """Sends the first frame of the highest class, if the port is free."""
        if free_at.get(port, 0) > now:
            return
        waiting = queues.get(port, {})
        classes = [level for level, frames in waiting.items() if frames]
        if not classes:
            return
        index, released = waiting[min(classes)].pop(0)
        flow, rate = network["flows"][index], rate_of(network, port)
        free_at[port] = now + wire_bits(flow) * 1000 * PARTS // rate
        last_bit = now + (flow["frame"] + PREAMBLE) * 8 * 1000 * PARTS // rate
        push(last_bit, "arrives", port[1], index, released)
        push(free_at[port], "free", port, None, None)

    for index, (flow, offset) in enumerate(zip(network["flows"], offsets)):
        for number in range(frames_each):
            released = (offset + number * flow["period"]) * PARTS
            push(released, "arrives", flow["source"], index, released)
    while events:
        now, _, what, where, index, released = heapq.heappop(events)
        if what == "free":
            start(where, now)
        elif what == "queued":
            queues.setdefault(where, {}).setdefault(network["flows"][index]["priority"], []).append((index, released))
            # Whoever comes at the same instant may still go first: the port looks once all are there.
            push(now, "free", where, None, None)
        elif where in network["flows"][index]["targets"]:
            key = (network["flows"][index]["name"], where)
            delays[key] = max((now - released) / PARTS, delays.get(key, 0.0))
        else:
            latency = round(network["switches"].get(where, 0.0) * 1e3) * PARTS
            for port in tables[index][where]:
                push(now + latency, "queued", port, index, released)
    return delays


def onward(flow):
    """Per node the ports by which the flow leaves it."""
    table = {}
    for port in dict.fromkeys(port for way in ports_of(flow).values() for port in way):
        table.setdefault(port[0], []).append(port)
    return table


assert BETWEEN_FRAMES >= PREAMBLE
