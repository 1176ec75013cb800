"""Bits through a graph of FIFO servers without circles, played: delays that surely occur, so that no bound below them is one.

Every flow sends as much as its curve allows from an instant of its own on. A server with rate R and latency T serves at R and hands
all on T later, which its service curve allows, and its line too. The instants are varied at random, keeping what delays one flow more.
Curves are broken lines over a grid of instants: what is sent between two of them stays below the curve. Written apart from Tenuto.
"""

import random

import numpy as np

POINTS = 1500


class Played:
    """A network of `random_networks.py` in Mbit/s, bytes and us; several rate-latencies are not played."""

    def __init__(self, graph):
        self.servers = {s["name"]: within_line(s) for s in graph["servers"]}
        self.flows = graph["flows"]
        self.order = in_order(self.servers, self.flows)
        network = graph["network"]
        units = [network.get(key) for key in ("time_unit", "data_unit", "rate_unit", "packetizer", "multiplexing")]
        plain = all(len(c["rates"]) == 1 == len(c["latencies"]) for c in self.servers.values())
        numbers = not any(isinstance(v, str) for c in self.servers.values() for v in c["rates"])
        branches = any("multicast" in flow for flow in self.flows)
        self.is_playable = self.order is not None and plain and numbers and not branches
        self.is_playable &= units == ["us", "B", "Mbps", False, "FIFO"]

    def delay(self, name, horizon, target, tries, seed=0):
        """us that a bit of flow `name` takes in the worst schedule of so many, of which none begins later than `horizon`;
        ends as soon as `target` is exceeded."""
        rng = random.Random(f"{name}/{seed}")
        index = next(i for i, flow in enumerate(self.flows) if flow["name"] == name)
        starts = [0.0] * len(self.flows)
        best = self.play(starts, index, horizon)
        for attempt in range(tries):
            if best > target:
                break
            tried = list(starts)
            for which in rng.sample(range(len(tried)), rng.randint(1, min(3, len(tried)))):
                near = tried[which] + rng.gauss(0, horizon / 10)
                tried[which] = min(max(rng.choice([near, rng.uniform(0, horizon), tried[index]]), 0.0), horizon)
            reached = self.play(tried, index, horizon)
            if reached >= best:
                best, starts = reached, tried
        return best

    def play(self, starts, index, horizon):
        # What is under way after twice the horizon is not looked at.
        grid = np.linspace(0.0, 2.0 * horizon, POINTS)
        step = grid[1]
        at, sent = {}, {}
        for number, (flow, start) in enumerate(zip(self.flows, starts)):
            curve = flow["arrival_curve"]
            # Not before the second instant: what comes at once comes between two of them.
            since = grid - max(np.ceil(start / step), 1.0) * step
            bits = np.min([b * 8 + r * np.maximum(since, 0) for b, r in zip(curve["bursts"], curve["rates"])], axis=0)
            at[number] = sent[number] = np.where(since >= -step / 2, bits, 0.0)
        for server in self.order:
            here = [number for number, flow in enumerate(self.flows) if server in flow["path"]]
            if here:
                rate, latency = self.servers[server]["rates"][0], self.servers[server]["latencies"][0]
                all_in = sum(at[number] for number in here)
                out = np.minimum.accumulate(np.minimum(all_in - rate * grid, 0.0)) + rate * grid
                out = np.minimum(out, all_in)
                # Whoever came at the same instant shares the server there, as broken lines do.
                served = np.interp(out, all_in + np.arange(POINTS) * 1e-9, grid)
                for number in here:
                    left = np.interp(served, grid, at[number])
                    at[number] = np.interp(grid - latency, grid, left, left=0.0)
        return largest_gap(grid, sent[index], at[index]) - 2.0 * step


def within_line(server):
    """A service curve, of which what exceeds the line cannot leave."""
    curve, line = server["service_curve"], server.get("capacity")
    return curve if line is None or isinstance(line, str) else {**curve, "rates": [min(rate, line) for rate in curve["rates"]]}


def largest_gap(grid, sent, got):
    """The largest time by which `got` is behind `sent`."""
    known = np.arange(1, POINTS)
    known = known[(sent[known] <= got[-1]) & (sent[known] > 0.0)]
    # When each amount is there but for a hundredth of a bit, which is more than what adding up loses.
    first = np.searchsorted(got, sent[known] - 1e-2)
    return float(np.max(grid[np.maximum(first - 1, 0)] - grid[known], initial=0.0))


def in_order(servers, flows):
    """Every server behind those that flows come from; None in a circle."""
    before = {name: set() for name in servers}
    for flow in flows:
        for here, there in zip(flow["path"], flow["path"][1:]):
            before[there].add(here)
    order = []
    while len(order) < len(servers):
        free = [name for name in servers if name not in order and not before[name] - set(order)]
        if not free:
            return None
        order += free
    return order
