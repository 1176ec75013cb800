"""Networks of frames, drawn from seeds, through Tenuto's command line in every format, beside peers and a simulator of its own.

Exit code 1 if a peer has a tighter valid bound, a bound lies below a delay that frames reached, two formats of one network
differ, a plan is not certified, something overloaded is bounded, or a command ends without a verdict.
"""

import argparse
import json
import math
import os
import sys
import tempfile

import frame_peers
from calculus_peers import LOOSER, LOOSER_PANCO, Peers, Tenuto, apart, read_facts
from frame_networks import KINDS, as_graphml, as_saihu, as_table, as_wopanets, as_xtfa, as_yaml, draw, loads, ports_of, rate_of, wire_bits
from frames_played import largest_delays

FLUID = ["--model", "fluid"]
# A network's bounds are printed in whole ns, rounded up; those of whole paths are proved with a ns to spare.
PRINTED = 2e-9
# What hops that are rounded up to whole ns add to a path, and `as_saihu` and `as_xtfa` to a latency of none.
ADDED = 20e-9
# A frame is handed over at a whole ns, where a bit takes none (10 Gbit/s), and a line brings what it carries up to one sooner.
TICKS = 2e-9
OF_SERVERS = "of servers"


class Campaign:
    def __init__(self, tenuto, peers, options):
        self.tenuto, self.peers, self.options = tenuto, peers, options
        self.faults, self.rows, self.differing = [], [], 0

    def fault(self, text):
        self.faults.append(text)
        print(f"  fault: {text}")

    def one(self, kind, seed):
        network = draw(seed, kind)
        name = f"{kind}-{seed}"
        yaml = write(f"{name}.yaml", as_yaml(network))
        whole, took = self.plan(yaml, [])
        fluid, _ = self.plan(yaml, FLUID)
        simple = self.plan(yaml, [*FLUID, "--method", "tfa"])[0]
        if not whole or not fluid:
            return
        self.check_overload(name, network, whole, fluid)
        self.check_formats(name, network, whole, fluid, simple)
        self.check_played(name, network, yaml, whole)
        found = self.ask_peers(name, network)
        quotients = {model: self.compare(network, model, ours, found[model]) for model, ours in (("frames", whole), ("fluid", fluid))}
        finite = sum(math.isfinite(bound) for bound in whole.values())
        texts = [f"{model} {text(values)}" for model, values in quotients.items()]
        print(f"{name}: {finite} of {len(whole)} bounded, {took:.2f} s; ours by best peer: {'; '.join(texts)}", flush=True)
        for model, values in quotients.items():
            self.rows.append((kind, model, values))

    def plan(self, path, options):
        """Seconds per (flow, target), inf for no bound, {} and a fault if there is no document; processor time."""
        stem = "".join(option.strip("-") + "-" for option in options)
        proof = f"{path}.{stem}plan"
        done, took = self.tenuto.run(["plan", path, "--json", *options, "-o", proof])
        try:
            rows = json.loads(done.stdout)["flows"]
        except (ValueError, KeyError):
            # A flow that by itself sends more than its line carries is an error of the file.
            if done.returncode == 2 and "frames take" in done.stderr:
                return {}, took
            self.fault(f"{path} {options}: exit code {done.returncode}, {(done.stderr or done.stdout)[-200:]}")
            return {}, took
        bounds = {}
        for row in rows:
            ps, ns = row.get("delay_bound_ps"), row.get("delay_bound_ns")
            bound = ps * 1e-12 if ps is not None else ns * 1e-9 if ns is not None else math.inf
            key = (row["flow"].split("#")[0], row["target"])
            bounds[key] = max(bound, bounds.get(key, 0.0))
        if took > self.options.slow:
            print(f"  slow: {path} {options}: {took:.1f} s")
        if done.returncode != 1:
            checked, _ = self.tenuto.run(["certify", proof])
            if "CERTIFIED" not in checked.stdout:
                self.fault(f"{proof}: {checked.stdout[-200:]} {checked.stderr[-200:]}")
        return bounds, took

    def check_overload(self, name, network, *plans):
        """No finite bound for a flow at a port that its class and those above it overload."""
        load = {}
        for flow in network["flows"]:
            for port in set(sum(ports_of(flow).values(), [])):
                rates = load.setdefault(port, {})
                rates[flow["priority"]] = rates.get(flow["priority"], 0) + wire_bits(flow) / flow["period"] * 1e3
        for flow in network["flows"]:
            for target, way in ports_of(flow).items():
                for port in way:
                    by = math.fsum(rate for level, rate in load[port].items() if level <= flow["priority"])
                    if by <= rate_of(network, port) * (1 + 1e-12):
                        continue
                    for bounds in plans:
                        if math.isfinite(bounds.get((flow["name"], target), math.inf)):
                            self.fault(f"{name}: {flow['name']} to {target} has a bound through {port}, which is overloaded")

    def check_formats(self, name, network, whole, fluid, simple):
        """The same network in other words has the same bounds."""
        levels = {flow["priority"] for flow in network["flows"]}
        if levels <= {0, 1}:
            path = self.imported(write(f"{name}.wopanets.xml", as_wopanets(network)), "wopanets", [])
            self.same(network, path, [], whole, PRINTED)
            self.same(network, path, FLUID, fluid, PRINTED)
        if is_tree(network):
            table = write(f"{name}.csv", as_table(network))
            path = self.imported(write(f"{name}.graphml", as_graphml(network)), "graphml", ["--flows", table])
            # GraphML has no latencies; switches that take none are what it says.
            if not any(network["switches"].values()):
                self.same(network, path, [], whole, PRINTED)
            else:
                plain = {**network, "switches": dict.fromkeys(network["switches"], 0.0)}
                bounds, _ = self.plan(write(f"{name}.instant.yaml", as_yaml(plain)), [])
                self.same(network, path, [], bounds, PRINTED)
        if levels == {0}:
            for file, written, options in (
                (f"{name}.xtfa.xml", as_xtfa(network, "FIFO+IS"), "xtfa"),
                (f"{name}.saihu.json", as_saihu(network), "saihu"),
            ):
                path = self.imported(write(file, written), options, [])
                self.same(network, path, ["--method", "tfa"], simple, PRINTED + ADDED, OF_SERVERS)
                bounds, _ = self.plan(path, [])
                # Programs of a network and of a server graph need not be the same ones.
                self.differing += sum(abs(bounds.get(key, 0) / at - 1) > 1e-6 for key, at in fluid.items() if math.isfinite(at))

    def imported(self, path, expected, options):
        done, _ = self.tenuto.run(["import", "auto", path, *options, "-o", path + ".yaml"])
        if done.returncode or f"read as {expected}" not in done.stdout + done.stderr:
            self.fault(f"{path}: not imported as {expected}: {done.stderr[-300:]}")
        return path + ".yaml"

    def same(self, network, path, options, expected, slack, of=""):
        bounds, _ = self.plan(path, options)
        if set(bounds) != set(expected) and not (of and {flow for flow, _ in bounds} == {flow for flow, _ in expected}):
            self.fault(f"{path}: other flows and targets: {sorted(set(bounds) ^ set(expected))[:4]}")
            return
        worst = {}
        for plan, into in ((bounds, 0), (expected, 1)):
            for (flow, target), bound in plan.items():
                # Servers name targets by their paths: a flow has its largest bound.
                key = flow if of else (flow, target)
                pair = worst.setdefault(key, [0.0, 0.0])
                pair[into] = max(pair[into], bound)
        for key, (here, there) in worst.items():
            # A switch takes its latency for every frame, a server up to as long: its bounds may be larger.
            may_differ = of and here > there and any(network["switches"].values())
            if here != there and not may_differ and not abs(here - there) <= slack + 1e-9 * there:
                self.fault(f"{path} {options}: {key} has {here * 1e6:.6f} us, and {there * 1e6:.6f} us in Tenuto's format")

    def check_played(self, name, network, yaml, whole):
        """Delays that frames reach, by the simulator beside this script and by Tenuto's own."""
        for key, ns in largest_delays(network, self.options.tries, self.options.frames_each, 0).items():
            if ns * 1e-9 > whole.get(key, 0.0):
                self.fault(f"{name}: {key} has a bound of {whole.get(key)} s and reaches {ns * 1e-9} s")
        if all(map(math.isfinite, whole.values())):
            done, _ = self.tenuto.run(["sim", yaml, "--for", f"{self.options.simulated_ms}ms", "--json"])
            verdict = json.loads(done.stdout or "{}").get("verdict")
            if verdict != "kept":
                self.fault(f"{name}: sim ends with {verdict}, exit code {done.returncode}: {done.stderr[-200:]}")

    def ask_peers(self, name, network):
        """Per model, per peer: seconds per flow, and what its quotient may be."""
        found = {"frames": {}, "fluid": {}}
        is_multicast = any(len(flow["targets"]) > 1 for flow in network["flows"])
        text = as_saihu(network)
        ports = [tuple(server["name"].split("-")) for server in json.loads(text)["servers"]]
        if self.options.panco and not is_multicast:
            for model in found:
                for method in ("TFA", "PLP"):
                    # One process each: panco's files of programs have fixed names.
                    call = lambda m=method, w=model == "frames": self.run_panco(network, ports, w, m)
                    answer, _ = apart(call, self.options.seconds)
                    if isinstance(answer, dict):
                        found[model][f"panco {method}"] = (answer, LOOSER_PANCO)
        if self.peers and all(flow["priority"] == 0 for flow in network["flows"]):
            file = write(f"{name}.peers.json", text)
            facts = {**read_facts(file, text), "is_tree": False}
            answers, _ = self.peers.bounds(file, facts)
            for method, (bounds, _) in answers.items():
                if method.startswith(("DNC", "Linear")) and (is_multicast or facts["has_detours"] or facts["has_shortcuts"]):
                    continue
                # panco was asked above, in units that keep more digits.
                if not method.startswith("xTFA") and (is_multicast or method.startswith("Panco")):
                    continue
                found["fluid"][method] = (bounds, LOOSER_PANCO if method.lower().startswith("panco") else LOOSER)
            file = write(f"{name}.frames.xml", as_xtfa(network, "FIFO+IS+PK"))
            call = lambda: self.peers.run_saihu(file, "AUTO", lambda a: a.analyze_xtfa())
            answer, _ = apart(call, self.options.seconds)
            if isinstance(answer, dict):
                found["frames"] |= {f"{method} PK": (bounds, LOOSER) for method, bounds in answer.items()}
        return found

    def run_panco(self, network, ports, whole_frames, method):
        frame_peers.load(self.options.panco)
        return frame_peers.bounds(network, ports, whole_frames, method)

    def compare(self, network, model, ours, peers):
        """Per flow our largest bound by the least valid bound of all peers."""
        name, largest, least = network["name"], {}, {}
        # Of overloaded ports peers say numbers too.
        if any(by > rate * (1 + 1e-9) for by, rate in loads(network)) and not all(map(math.isfinite, ours.values())):
            return []
        slack = {flow["name"]: PRINTED + (model == "frames") * TICKS * longest_way(flow) for flow in network["flows"]}
        for (flow, _), bound in ours.items():
            largest[flow] = max(bound, largest.get(flow, 0.0))
        for method, (bounds, looser) in peers.items():
            worst = (0.0, "", 0.0)
            for flow, bound in bounds.items():
                if not math.isfinite(bound) or bound <= 0:
                    continue
                worst = max(worst, ((largest[flow] - slack[flow]) / bound, flow, bound))
                least[flow] = min(bound, least.get(flow, math.inf))
            if worst[0] > looser:
                self.fault(f"{name} {model}: {method} is tighter for {worst[1]}: {worst[2] * 1e6:.4f} us, ours is {worst[0]:.6f} times as large")
        return [(largest[flow] - slack[flow]) / bound for flow, bound in least.items()]

    def summary(self):
        kinds = {}
        for kind, model, values in self.rows:
            kinds.setdefault((kind, model), []).extend(values)
        print("\n| kind | model | flows | least | mean | most |\n|---|---|---|---|---|---|")
        for (kind, model), values in kinds.items():
            if values:
                print(f"| `{kind}` | {model} | {len(values)} | {min(values):.4f} | {sum(values) / len(values):.4f} | {max(values):.4f} |")


def longest_way(flow):
    return max(len(way) for way in ports_of(flow).values())


def is_tree(network):
    return len(network["links"]) == len(network["switches"]) + len(network["hosts"]) - 1


def text(values):
    return f"{min(values):.4f} {sum(values) / len(values):.4f} {max(values):.4f}" if values else "-"


def write(path, content):
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    return path


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--saihu", help="folder src of Saihu")
    arguments.add_argument("--panco", help="folder of panco, for static priorities")
    arguments.add_argument("--tenuto", default="tenuto", help="program to examine")
    arguments.add_argument("--kinds", default=",".join(KINDS))
    arguments.add_argument("--networks", type=int, default=1, help="networks of each kind")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--seconds", type=int, default=20, help="limit for each peer")
    arguments.add_argument("--tries", type=int, default=30, help="schedules of frames that are played")
    arguments.add_argument("--frames-each", type=int, default=4, help="frames of each flow in a schedule")
    arguments.add_argument("--simulated-ms", type=int, default=50)
    arguments.add_argument("--slow", type=float, default=10.0, help="processor seconds of ours that are named")
    arguments.add_argument("--keep", help="folder for networks and plans")
    options = arguments.parse_args()
    options.panco = options.panco and os.path.abspath(options.panco)
    binary = os.path.abspath(options.tenuto) if os.sep in options.tenuto else options.tenuto
    peers = options.saihu and Peers(os.path.abspath(options.saihu), None, options.seconds, 4)
    folder = options.keep or tempfile.mkdtemp()
    os.makedirs(os.path.join(folder, "temp"), exist_ok=True)
    os.chdir(folder)
    campaign = Campaign(Tenuto(binary), peers, options)
    for seed in range(options.seed, options.seed + options.networks):
        for kind in options.kinds.split(","):
            campaign.one(kind, seed)
    campaign.summary()
    print(f"{len(campaign.faults)} faults; {campaign.differing} bounds of servers that differ from those of the network by more than 1e-6")
    sys.exit(1 if campaign.faults else 0)


if __name__ == "__main__":
    main()
