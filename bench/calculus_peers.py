"""Tenuto's bounds beside those of the tools behind Saihu, flow by flow, in one run."""

import argparse
import contextlib
import io
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
# Peers round to some digits and add in floats.
LOOSER = 1.0 + 1e-5
FIFO_METHODS = ["TFA", "SFA", "LUDB"]
ARBITRARY_METHODS = ["TFA", "SFA", "PMOO", "TMA"]


class TooLong(Exception):
    pass


def too_long(_signal, _frame):
    raise TooLong


def random_network(seed, kind):
    """A network of 5 to 9 servers in Saihu's output-port format.

    `fifo` and `arbitrary` are feed-forward; `cyclic` paths go round a ring; `pieces` have arrival
    curves of two buckets and service curves of two rate-latencies; `packets` have a packetizer;
    `overloaded` has one server that cannot carry its flows.
    """
    rng = random.Random(f"{kind}/{seed}")
    servers = rng.randint(5, 9)
    flows = rng.randint(4, 16)
    paths = []
    for _ in range(flows):
        if kind == "cyclic":
            first, length = rng.randrange(servers), rng.randint(2, servers - 1)
            paths.append([(first + i) % servers for i in range(length)])
        else:
            length = rng.randint(1, min(5, servers))
            paths.append(sorted(rng.sample(range(servers), length)))
    busiest = max(sum(s in path for path in paths) for s in range(servers))
    load = 3.0 if kind == "overloaded" else rng.uniform(0.3, 0.85)
    network = {"name": f"{kind}{seed}", "time_unit": "us", "data_unit": "B", "rate_unit": "Mbps"}
    network["multiplexing"] = "ARBITRARY" if kind == "arbitrary" else "FIFO"
    network["packetizer"] = kind == "packets"
    network["analysis_option"] = ["IS"]
    return {
        "network": network,
        "servers": [random_server(rng, i, kind) for i in range(servers)],
        "flows": [random_flow(rng, i, path, load * 20 / busiest, kind) for i, path in enumerate(paths)],
    }


def random_server(rng, index, kind):
    rate, latency = rng.uniform(20, 40), rng.uniform(1, 50)
    latencies, rates = [latency], [rate]
    if kind == "pieces":
        latencies.append(latency * 3)
        rates.append(rate * 1.5)
    curve = {"latencies": latencies, "rates": rates}
    return {"name": f"s{index}", "service_curve": curve, "capacity": 100}


def random_flow(rng, index, path, rate, kind):
    burst = rng.uniform(200, 4000)
    rate *= rng.uniform(0.5, 1.0)
    bursts, rates = [burst], [rate]
    if kind == "pieces":
        bursts.append(burst / 4)
        rates.append(rate * 2)
    arrival = {"bursts": bursts, "rates": rates}
    servers = [f"s{s}" for s in path]
    return {"name": f"f{index}", "path": servers, "arrival_curve": arrival, "max_packet_length": 150}


class Saihu:
    def __init__(self, source, seconds):
        sys.path.insert(0, os.path.join(source, "saihu"))
        sys.path.insert(0, source)
        from interface import TSN_Analyzer

        self.analyzer, self.seconds = TSN_Analyzer, seconds
        signal.signal(signal.SIGALRM, too_long)

    def bounds(self, path, network):
        """Per tool and method: seconds per flow, and the time it took."""
        dnc = ARBITRARY_METHODS if network["network"]["multiplexing"] == "ARBITRARY" else FIFO_METHODS
        calls = [
            ("xTFA", lambda a: a.analyze_xtfa()),
            ("Linear", lambda a: a.analyze_linear()),
            ("panco", lambda a: a.analyze_panco(methods=["TFA", "SFA", "PLP"])),
            ("panco", lambda a: a.analyze_panco(methods=["ELP"])),
            ("DNC", lambda a: a.analyze_dnc(methods=dnc)),
        ]
        found, failed = {}, []
        for tool, call in calls:
            began = time.process_time()
            try:
                for result in self.run(path, call):
                    unit = UNITS[result.units["time"]]
                    bounds = {flow: largest(delay) * unit for flow, delay in result.flow_delays.items()}
                    found[f"{tool} {result.method}"] = (bounds, time.process_time() - began)
            except TooLong:
                failed.append(f"{tool}: more than {self.seconds} s")
            except Exception as error:  # whatever a peer raises is its result
                failed.append(f"{tool}: {type(error).__name__}")
        return found, failed

    def run(self, path, call):
        analyzer = self.analyzer(path, temp_path="./temp/")
        silent = io.StringIO()
        signal.alarm(self.seconds)
        try:
            with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
                call(analyzer)
        finally:
            signal.alarm(0)
        return analyzer.results if hasattr(analyzer, "results") else analyzer._results


def largest(delay):
    return max(delay.values()) if isinstance(delay, dict) else delay


def tenuto(binary, path, method):
    """Seconds per flow (None: no bound), the largest over its targets, and the time it took."""
    graph = path + ".yaml"
    subprocess.run([binary, "import", "saihu", path, "-o", graph], check=True, capture_output=True)
    began = time.time()
    command = [binary, "plan", graph, "--json", "--method", method]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.time() - began
    bounds = {}
    for row in json.loads(done.stdout)["flows"]:
        bound = row.get("delay_bound_ps")
        bound = math.inf if bound is None else bound * 1e-12
        bounds[row["flow"]] = max(bound, bounds.get(row["flow"], 0.0))
    return bounds, took


def is_comparable(kind, method):
    """Whether a peer's method bounds what ours does (see README.md)."""
    if kind == "packets":
        return method in ("Linear TFA", "panco TFA", "DNC TFA")
    return kind != "arbitrary" or method.startswith("DNC")


def compare(name, kind, ours, took, peers, failed):
    tighter = []
    print(f"{name}: {len(ours)} flows, {took:.2f} s")
    for method, (bounds, seconds) in sorted(peers.items()):
        shared = [flow for flow in bounds if flow in ours and math.isfinite(bounds[flow]) and bounds[flow] > 0]
        if not shared:
            continue
        quotients = [ours[flow] / bounds[flow] for flow in shared]
        mean = sum(quotients) / len(quotients)
        apart = "" if is_comparable(kind, method) else "  (another model)"
        print(f"  {method:12} {min(quotients):.4f} {mean:.4f} {max(quotients):.4f}  {seconds:.2f} s{apart}")
        if not apart:
            pairs = [(flow, q) for flow, q in zip(shared, quotients) if math.isfinite(q)]
            tighter += [(flow, method, q) for flow, q in pairs if q > LOOSER]
            if len(pairs) < len(shared):
                print(f"    {len(shared) - len(pairs)} finite where we have no bound")
    for text in failed:
        print(f"  {text}")
    return tighter


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--saihu", required=True, help="folder src of Saihu")
    arguments.add_argument("--tenuto", default="tenuto", help="program to compare")
    arguments.add_argument("--method", default="best")
    arguments.add_argument("--kinds", default="fifo,cyclic,arbitrary,pieces,packets,overloaded")
    arguments.add_argument("--networks", type=int, default=5, help="networks of each kind")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--seconds", type=int, default=30, help="limit for each peer")
    options = arguments.parse_args()
    binary = os.path.abspath(options.tenuto) if os.sep in options.tenuto else options.tenuto
    saihu = Saihu(os.path.abspath(options.saihu), options.seconds)
    os.chdir(tempfile.mkdtemp())
    os.makedirs("temp")
    tighter = []
    for kind in options.kinds.split(","):
        for seed in range(options.seed, options.seed + options.networks):
            network, path = random_network(seed, kind), f"{kind}-{seed}.json"
            with open(path, "w", encoding="utf-8") as file:
                json.dump(network, file)
            ours, took = tenuto(binary, path, options.method)
            peers, failed = saihu.bounds(path, network)
            if all(math.isinf(bound) for bound in ours.values()):
                finite = [m for m, (b, _) in peers.items() if all(math.isfinite(x) for x in b.values())]
                print(f"{path}: no bound; finite in {', '.join(finite) or 'no peer'}")
                continue
            found = compare(path, kind, ours, took, peers, failed)
            tighter += [(path, *row) for row in found]
    for path, flow, method, quotient in tighter:
        print(f"tighter: {method} on {flow} of {path}, ours is {quotient:.4f} times as large")
    print(f"{len(tighter)} bounds of peers are below ours")
    sys.exit(1 if tighter else 0)


if __name__ == "__main__":
    main()
