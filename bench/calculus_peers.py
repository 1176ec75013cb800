"""Tenuto's bounds beside those of the tools behind Saihu and of panco, flow by flow, in one run.

Exit code 1 if a peer has a tighter valid bound, a bound of ours is refused by `tenuto certify`, lies
below the exact worst case, or is finite where there is none.
"""

import argparse
import contextlib
import io
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time

from fluid_played import Played, within_line
from random_networks import KINDS, random_network

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
# Peers add in floats; panco reads six digits of what lp_solve prints, several of them one after
# the other.
LOOSER = 1.0 + 1e-5
LOOSER_PANCO = 1.0 + 5e-5
# The least bound of all peers that bound the same.
BEST = "best peer"
FIFO_METHODS = ["TFA", "SFA", "LUDB"]
ARBITRARY_METHODS = ["TFA", "SFA", "PMOO", "TMA"]


class Peers:
    """Each tool in a process of its own, which ends with all that it started."""

    def __init__(self, saihu, panco, seconds, servers_exact):
        self.panco, self.seconds, self.servers_exact = panco, seconds, servers_exact
        sys.path[:0] = [saihu, os.path.join(saihu, "saihu")]
        from interface import TSN_Analyzer

        self.analyzer = TSN_Analyzer

    def bounds(self, path, facts):
        """Per tool and method: seconds per flow and processor time; and what failed."""
        found, failed = {}, []
        for tool, call in self.calls(path, facts):
            answer, seconds = apart(call, self.seconds)
            if isinstance(answer, str):
                failed.append(f"{tool}: {answer}")
                continue
            for method, bounds in answer.items():
                found[method] = (bounds, seconds)
        return found, failed

    def calls(self, path, facts):
        is_any = facts["order"] == "ARBITRARY"
        dnc = ARBITRARY_METHODS if is_any else FIFO_METHODS
        # Saihu takes the fastest service for a line where a file has no capacity.
        shaping = "AUTO" if facts["has_lines"] else "OFF"
        saihu = lambda call: lambda: self.run_saihu(path, shaping, call)
        yield "DNC", saihu(lambda a: a.analyze_dnc(methods=dnc))
        if is_any:
            if self.panco and facts["is_tree"]:
                yield "panco blind", lambda: self.run_blind(path)
            return
        yield "xTFA", saihu(lambda a: a.analyze_xtfa())
        yield "Linear", saihu(lambda a: a.analyze_linear())
        for method in ("TFA", "SFA", "PLP", "ELP"):
            if method == "ELP" and facts["servers"] > self.servers_exact:
                continue
            yield f"panco {method}", saihu(lambda a, m=method: a.analyze_panco(methods=[m]))

    def run_saihu(self, path, shaping, call):
        analyzer = self.analyzer(path, temp_path="./temp/", shaping=shaping)
        call(analyzer)
        answer = {}
        for result in getattr(analyzer, "results", None) or getattr(analyzer, "_results", []):
            unit = UNITS[result.units["time"]]
            bounds = {flow: largest(delay) * unit for flow, delay in result.flow_delays.items()}
            answer[f"{result.tool} {result.method}"] = bounds
        return answer

    def run_blind(self, path):
        """panco's program for servers that serve in any order, which Saihu does not offer."""
        names, network = self.in_kbit_and_ms(path)
        from panco.blind.blindLP import BlindLP

        return {"panco blind": {name: d / 1e3 for name, d in zip(names, BlindLP(network).all_delays)}}

    def again(self, path, method):
        """What panco says in kbit and ms: Saihu asks it in its own units, and reads 10 ns as the last digit."""
        if not self.panco:
            return {}
        answer, _ = apart(lambda: self.run_fifo(path, method), self.seconds)
        return answer if isinstance(answer, dict) else {}

    def run_fifo(self, path, method):
        names, network = self.in_kbit_and_ms(path)
        from panco.fifo.fifoLP import FifoLP
        from panco.fifo.sfaLP import SfaLP
        from panco.fifo.tfaLP import TfaLP

        call = {
            "TFA": TfaLP,
            "SFA": SfaLP,
            "PLP": lambda network: FifoLP(network, polynomial=True, sfa=True, tfa=True),
            "ELP": lambda network: FifoLP(network, polynomial=False),
        }[method.split()[-1]]
        return {name: float(d) / 1e3 for name, d in zip(names, call(network).all_delays)}

    def in_kbit_and_ms(self, path):
        """A file of random_networks.py as panco takes it: names of flows, network."""
        # Saihu has a panco of its own, without some parts.
        for name in [name for name in sys.modules if name.split(".")[0] == "panco"]:
            del sys.modules[name]
        sys.path[:0] = [self.panco]
        import panco.lpSolvePath

        panco.lpSolvePath.LPSOLVEPATH = ["lp_solve", "-S3"]
        from panco.descriptor.curves import RateLatency, TokenBucket
        from panco.descriptor.flow import Flow
        from panco.descriptor.network import Network
        from panco.descriptor.server import Server

        with open(path, encoding="utf-8") as file:
            graph = json.load(file)
        index = {server["name"]: i for i, server in enumerate(graph["servers"])}
        # Of the files of random_networks: Mbit/s, bytes and µs; so kbit, ms, kbit/ms.
        servers = []
        for server in graph["servers"]:
            curve = server["service_curve"]
            pieces = zip(curve["rates"], curve["latencies"])
            lines = [TokenBucket(0, server["capacity"])] if "capacity" in server else []
            servers.append(Server([RateLatency(rate, latency / 1e3) for rate, latency in pieces], lines))
        flows = []
        for flow in graph["flows"]:
            curve = flow["arrival_curve"]
            pieces = zip(curve["bursts"], curve["rates"])
            buckets = [TokenBucket(burst * 8 / 1e3, rate) for burst, rate in pieces]
            flows.append(Flow(buckets, [index[s] for s in flow["path"]]))
        return [flow["name"] for flow in graph["flows"]], Network(servers, flows)


def largest(delay):
    return max(delay.values()) if isinstance(delay, dict) else delay


def apart(call, seconds):
    """What `call` returns in a process group of its own, or why there is nothing; processor time."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(reader)
        silent = io.StringIO()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)
        os.dup2(quiet, 1)
        try:
            with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
                answer = call() or "no result"
        except BaseException as error:  # whatever a peer raises is its result
            answer = f"{type(error).__name__}: {str(error)[:80]}"
        with os.fdopen(writer, "w") as file:
            json.dump(answer, file, default=float)
        os._exit(0)
    os.close(writer)
    with contextlib.suppress(OSError):
        os.setpgid(child, child)
    previous = signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.alarm(seconds)
    with os.fdopen(reader) as file:
        text = file.read()
    _, _, usage = os.wait4(child, 0)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    answer = json.loads(text) if text else f"more than {seconds} s"
    return answer, usage.ru_utime + usage.ru_stime


class Tenuto:
    def __init__(self, binary):
        self.binary = binary

    def imported(self, path):
        graph = path + ".yaml"
        self.run(["import", "auto", path, "-o", graph])
        return graph

    def bounds(self, graph, method, shapes):
        """Seconds per flow, its largest over targets (inf: no bound); processor time; the checker's word."""
        proof = f"{graph}.{method}.json"
        command = ["plan", graph, "--json", "--method", method, "-o", proof]
        done, seconds = self.run(command if shapes else [*command, "--no-line-shaping"])
        bounds = {}
        try:
            rows = json.loads(done.stdout)["flows"]
        except (ValueError, KeyError):
            return {}, seconds, done.stderr[-300:] or f"exit code {done.returncode}"
        for row in rows:
            bound = row.get("delay_bound_ps")
            bound = math.inf if bound is None else bound * 1e-12
            name = row["flow"].split("#")[0]
            bounds[name] = max(bound, bounds.get(name, 0.0))
        checked, _ = self.run(["certify", proof])
        # An exit code of 1 with this word: certified, and some flows have no bound.
        refused = "" if "CERTIFIED" in checked.stdout else checked.stderr[-300:] or "not certified"
        return bounds, seconds, refused

    def run(self, arguments):
        before = os.times()
        done = subprocess.run([self.binary, *arguments], capture_output=True, text=True, check=False)
        after = os.times()
        took = after.children_user + after.children_system - before.children_user - before.children_system
        return done, took


class Reached:
    """Delays that a simulator found in the graph of a proof: no valid bound is below them."""

    def __init__(self, binary, steps):
        self.binary, self.steps = binary, steps

    def delays(self, proof):
        """Seconds per flow, less what packets add to bits that flow."""
        if not self.binary:
            return {}
        command = [self.binary, proof, str(self.steps)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows = json.loads(done.stdout or "{}")
        return {flow: (row["reached_ps"] - row["packets_ps"]) * 1e-12 for flow, row in rows.items()}


def greedy(path, text):
    """Delays that surely occur, seconds per flow: all that enter at its first server send what they may from one
    instant on, every server uses up its latency, and each flow's last bit of the worst instant goes on alone."""
    graph = {} if path.endswith(".xml") else json.loads(text)
    # Numbers in the units of random_networks.py only; bits that flow.
    units = [graph.get("network", {}).get(name) for name in ("time_unit", "data_unit", "rate_unit", "packetizer")]
    is_plain = not any(isinstance(v, str) for s in graph.get("servers", ()) for v in s["service_curve"]["rates"])
    if units != ["us", "B", "Mbps", False] or not is_plain:
        return {}
    service = {server["name"]: within_line(server) for server in graph["servers"]}
    reached = {}
    for flow in graph["flows"]:
        first, *others = flow["path"]
        fresh = [other["arrival_curve"] for other in graph["flows"] if other["path"][0] == first]
        worst = max(served_after(service[first], brought(fresh, when)) - when for when in bends(fresh))
        # Less what peers round to six digits.
        reached[flow["name"]] = (worst + sum(min(service[name]["latencies"]) for name in others)) * 1e-6 / LOOSER_PANCO
    return reached


def brought(curves, when):
    """Bits of all curves together."""
    return sum(min(b * 8 + r * when for b, r in zip(c["bursts"], c["rates"])) for c in curves)


def bends(curves):
    """Instants at which one bucket of a curve takes over from another."""
    instants = {0.0}
    for curve in curves:
        lines = list(zip(curve["bursts"], curve["rates"]))
        instants |= {(b - a) * 8 / (r - s) for a, r in lines for b, s in lines if r > s and b > a}
    return instants


def served_after(curve, bits):
    """How long the least service takes for so much."""
    return min(latency + bits / rate for latency, rate in zip(curve["latencies"], curve["rates"]))


def is_comparable(facts, method):
    """Whether a peer's method bounds what ours does (see README.md)."""
    if facts["has_slow_lines"]:
        return False
    if facts["is_packetized"]:
        return method in ("Linear TFA", "Panco TFA", "DNC TFA")
    if method.startswith("Linear") and (facts["has_branches"] or facts["has_shortcuts"]):
        return False
    if method.startswith("DNC") and facts["has_detours"]:
        return False
    if facts["order"] == "ARBITRARY":
        return method.startswith("DNC") or method == "panco blind"
    return True


def has_detours(paths):
    """Whether two flows go on together behind servers that one takes in turn and the other by a detour."""
    for straight in paths:
        for here, there, onward in zip(straight, straight[1:], straight[2:]):
            for path in paths:
                if here in path and (there, onward) in zip(path, path[1:]) and path.index(there) > path.index(here) + 1:
                    return True
    return False


def leads_on(servers, nexts):
    """Whether every server stands in the file before those that its flows go on to: panco cuts flows elsewhere."""
    place = {server["name"]: index for index, server in enumerate(servers)}
    return all(place[here] < place[there] for here, after in nexts.items() for there in after)


def ways(flow):
    """All paths of a flow."""
    return [flow["path"], *(branch["path"] for branch in flow.get("multicast", ()))]


def loads(graph):
    """Per server what flows bring in the long term, and what it serves; a flow comes to it once, however many branches
    lead on."""
    load = {server["name"]: 0.0 for server in graph["servers"]}
    try:
        for flow in graph["flows"]:
            for server in {server for path in ways(flow) for server in path}:
                load[server] += min(flow["arrival_curve"]["rates"])
        return [(load[server["name"]], max(server["service_curve"]["rates"])) for server in graph["servers"]]
    except TypeError:  # units in strings
        return []


def past_overload(path, text, ours):
    """Flows with a bound through a server that is brought more than it serves."""
    graph = {} if path.endswith(".xml") else json.loads(text)
    names = [server["name"] for server in graph.get("servers", ())]
    over = {name for name, (load, rate) in zip(names, loads(graph) if names else ()) if load > rate * (1 + 1e-12)}
    finite = [flow for flow in graph.get("flows", ()) if math.isfinite(ours.get(flow["name"], math.inf))]
    return [flow["name"] for flow in finite if over & {server for way in ways(flow) for server in way}]


def is_overloaded(graph):
    return any(load > rate * (1 + 1e-9) for load, rate in loads(graph))


def is_full(graph):
    return any(load > rate * (1 - 1e-6) for load, rate in loads(graph))


def read_facts(path, text):
    """What decides which peers are asked, and which answers count."""
    if path.endswith(".xml"):
        return {
            "order": "FIFO",
            "has_lines": True,
            "is_packetized": "+PK" in text,
            "has_branches": False,
            "has_shortcuts": True,
            "has_detours": True,
            "has_slow_lines": False,
            "is_overloaded": False,
            "is_tree": False,
            "servers": text.count("<switch"),
            "is_exact": False,
        }
    graph = json.loads(text)
    network, servers = graph["network"], graph["servers"]
    is_fifo = network["multiplexing"] == "FIFO"
    paths = [path for flow in graph["flows"] for path in ways(flow)]
    nexts = {}
    for path in paths:
        for here, there in zip(path, path[1:]):
            nexts.setdefault(here, set()).add(there)
    has_branches = any("multicast" in flow for flow in graph["flows"])
    splits = any(len(after) > 1 for after in nexts.values())
    # Two servers of a path with others between them, which another flow takes one behind the other.
    has_shortcuts = any(
        there in nexts.get(here, ())
        for path in paths
        for place, here in enumerate(path)
        for there in path[place + 2 :]
    )
    has_lines = all("capacity" in server for server in servers)
    is_tree = not splits and not has_branches and leads_on(servers, nexts)
    return {
        "order": network["multiplexing"],
        "has_lines": has_lines,
        "is_packetized": network["packetizer"],
        "has_branches": has_branches,
        "has_shortcuts": has_shortcuts,
        "has_detours": has_detours(paths),
        # Served faster than the line: peers believe both, which contradict each other.
        "has_slow_lines": any(within_line(server) != server["service_curve"] for server in servers),
        "is_overloaded": is_overloaded(graph),
        "is_tree": is_tree,
        "servers": len(servers),
        # Trees of FIFO servers without lines: panco's ELP is the worst case itself, but for full servers (README.md).
        "is_exact": is_fifo and not has_lines and is_tree and not is_full(graph) and not network["packetizer"],
    }


class Doubts:
    """What speaks against a bound of a peer that is tighter than ours."""

    def __init__(self, path, text, peers, tries):
        self.path, self.peers, self.tries = path, peers, tries
        graph = {} if path.endswith(".xml") else json.loads(text)
        self.is_plain = bool(graph) and not any("multicast" in f for f in graph["flows"])
        self.played = Played(graph) if self.is_plain else None

    def in_better_units(self, method, bounds):
        """panco's bounds with more digits, where it can be asked."""
        if not method.lower().startswith("panco") or method == "panco blind" or not self.is_plain:
            return bounds
        return {**bounds, **self.peers.again(self.path, method)}

    def are_exceeded(self, bounds, ours):
        """Whether a schedule delays some flow, of those for which a peer is tightest beside us, by more than its bound."""
        if not self.played or not self.played.is_playable:
            return False
        doubtful = sorted((bounds[flow] / ours[flow], flow) for flow in bounds if ours.get(flow, math.inf) < math.inf)
        return any(
            self.played.delay(flow, 2e6 * ours[flow], bounds[flow] * 1e6 * LOOSER_PANCO, self.tries)
            > bounds[flow] * 1e6 * LOOSER_PANCO
            for _, flow in doubtful[:3]
        )


def judge(name, facts, ours, peers, reached, doubts):
    """What is wrong, in words; the quotients of our bounds and each peer's, and the least of all; peers below what occurs."""
    faults, quotients, unsound, least_of_all = [], {}, set(), {}
    for flow, bound in ours.items():
        if bound < reached.get(flow, 0.0):
            faults.append(f"{name}: {flow} has a bound of {bound:.9f} s and reaches {reached[flow]:.9f} s")
    for method, (bounds, _) in sorted(peers.items()):
        shared = [f for f in bounds if f in ours and math.isfinite(bounds[f]) and bounds[f] > 0]
        if not shared:
            continue
        looser = LOOSER_PANCO if method.lower().startswith("panco") else LOOSER
        is_asked = is_comparable(facts, method) and not facts["is_overloaded"]
        if is_asked and any(ours[flow] > bounds[flow] * looser for flow in shared):
            bounds = doubts.in_better_units(method, bounds)
            if any(ours[flow] > bounds[flow] * looser for flow in shared) and doubts.are_exceeded(bounds, ours):
                unsound.add(method)
        quotients[method] = [ours[flow] / bounds[flow] for flow in shared]
        # One bound that is too low speaks against all that the method says of this network.
        if any(bounds[flow] < reached.get(flow, 0.0) for flow in shared):
            unsound.add(method)
        # Where there is no bound, none of a peer's is one.
        is_open = facts["is_overloaded"] and any(math.isinf(ours[flow]) for flow in shared)
        if method in unsound or is_open or not is_comparable(facts, method):
            continue
        for flow in shared:
            least_of_all[flow] = min(bounds[flow], least_of_all.get(flow, math.inf))
        worst = max(zip(quotients[method], shared))
        if worst[0] > looser:
            faults.append(f"{name}: {method} is tighter for {worst[1]}, ours is {worst[0]:.6f} times as large")
        least = min(zip(quotients[method], shared))
        if facts["is_exact"] and method.endswith("ELP") and least[0] < 1 / looser:
            faults.append(f"{name}: {least[1]} is below the worst case, {least[0]:.6f} of it")
    if least_of_all:
        quotients[BEST] = [ours[flow] / bound for flow, bound in least_of_all.items()]
    return faults, quotients, unsound


def report(name, ours, took, quotients, unsound, peers, failed, facts):
    finite = sum(math.isfinite(bound) for bound in ours.values())
    print(f"{name}: {finite} of {len(ours)} flows bounded, {took:.2f} s")
    for peer, values in sorted(quotients.items()):
        seconds = peers[peer][1] if peer in peers else 0.0
        mean = sum(values) / len(values)
        note = "" if peer == BEST or is_comparable(facts, peer) else "  (another model)"
        note = "  (below what occurs)" if peer in unsound else note
        print(f"  {peer:14} {min(values):.4f} {mean:.4f} {max(values):.4f}  {seconds:.2f} s{note}")
    for text in failed:
        print(f"  {text}")
    sys.stdout.flush()


def note(record, name, ours, took, refused, peers, failed, facts, reached):
    """One line of all that was found, for whoever asks something else of it later."""
    row = {"name": name, "ours": ours, "seconds": took, "refused": refused, "facts": facts}
    row |= {"peers": peers, "failed": failed, "reached": reached}
    with open(record, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--saihu", required=True, help="folder src of Saihu")
    arguments.add_argument("--panco", help="folder of panco, for its program for any order")
    arguments.add_argument("--tenuto", default="tenuto", help="program to compare")
    arguments.add_argument("--methods", default="auto,best")
    arguments.add_argument("--kinds", default=",".join(KINDS))
    arguments.add_argument("--files", nargs="*", default=[], help="networks in Saihu's formats, instead of random ones")
    arguments.add_argument("--networks", type=int, default=4, help="networks of each kind")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--seconds", type=int, default=30, help="limit for each peer")
    arguments.add_argument("--servers-exact", type=int, default=6, help="servers up to which ELP is asked")
    arguments.add_argument("--reached", help="the example `reached` of tenuto-bounds, built")
    arguments.add_argument("--steps", type=int, default=150, help="schedules that it tries")
    arguments.add_argument("--doubts", type=int, default=600, help="schedules tried against a peer that is tighter")
    arguments.add_argument("--slow", type=float, default=10.0, help="processor seconds of ours that are named")
    arguments.add_argument("--keep", help="folder for networks and proofs")
    arguments.add_argument("--record", help="file to which all bounds are added, a line of JSON per network")
    options = arguments.parse_args()
    binary = os.path.abspath(options.tenuto) if os.sep in options.tenuto else options.tenuto
    panco = options.panco and os.path.abspath(options.panco)
    ours, peers = Tenuto(binary), Peers(os.path.abspath(options.saihu), panco, options.seconds, options.servers_exact)
    reached = Reached(options.reached and os.path.abspath(options.reached), options.steps)
    given = [(os.path.basename(path), read(path)) for path in options.files]
    options.record = options.record and os.path.abspath(options.record)
    folder = options.keep or tempfile.mkdtemp()
    os.makedirs(os.path.join(folder, "temp"), exist_ok=True)
    os.chdir(folder)
    faults, slow, count = [], [], 0
    for name, text in given if options.files else drawn(options):
        count += 1
        found, late = one(name, text, ours, peers, reached, options)
        faults += found
        slow += late
    for text in slow:
        print(f"slow: {text}")
    for text in faults:
        print(f"fault: {text}")
    print(f"{count} networks, {len(faults)} faults, {len(slow)} slow")
    sys.exit(1 if faults else 0)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def drawn(options):
    """Names and texts of random networks, kind by kind for every seed."""
    for seed in range(options.seed, options.seed + options.networks):
        for kind in options.kinds.split(","):
            yield random_network(seed, kind)


def one(path, text, tenuto, peers, reached, options):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    facts = read_facts(path, text)
    graph = tenuto.imported(path)
    found, failed = peers.bounds(path, facts)
    slowest = max((seconds for _, seconds in found.values()), default=0.0)
    faults, slow = [], []
    for method in options.methods.split(","):
        bounds, took, refused = tenuto.bounds(graph, method, True)
        if refused:
            faults.append(f"{path}: {refused}")
        occurs = greedy(path, text)
        played = reached.delays(f"{graph}.{method}.json") if facts["order"] == "FIFO" else {}
        occurs = {flow: max(occurs.get(flow, 0.0), played.get(flow, 0.0)) for flow in {*occurs, *played}}
        name = f"{path} {method}"
        wrong, quotients, unsound = judge(name, facts, bounds, found, occurs, Doubts(path, text, peers, options.doubts))
        faults += wrong
        for flow in past_overload(path, text, bounds):
            faults.append(f"{name}: {flow} has a bound through a server that is overloaded")
        if took > options.slow or (found and took > max(slowest, 1.0)):
            slow.append(f"{name}: {took:.1f} s, slowest peer {slowest:.1f} s")
        report(name, bounds, took, quotients, unsound, found, failed, facts)
        if options.record:
            note(options.record, name, bounds, took, refused, found, failed, facts, occurs)
    for text in faults:
        print(f"  fault: {text}")
    for text in slow:
        print(f"  slow: {text}")
    sys.stdout.flush()
    return faults, slow


if __name__ == "__main__":
    main()
