"""Plans changed at random, with digests made anew, given to `tenuto certify`: none may be believed with a bound that does not hold.

Exit code 1 if a changed plan is believed that promises what nobody proved, or if `certify` ends without a verdict or takes long.
A plan whose description is as it was must not claim a smaller delay. Of server graphs with another description the
bounds that a new plan finds must not be above what is claimed. Of networks with another description
the places are named where a change was believed, to be looked at: names, and what no bound depends on.
"""

import argparse
import copy
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter

# Claims have this much more than is proved, ps: bounds of whole paths are rounded with a margin of a nanosecond.
ROUNDING_PS = 1000


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def digest(value):
    return hashlib.sha256(compact(value).encode()).hexdigest()


def described(document):
    return "network" if "network" in document else "description"


def signed(document):
    """The text of a plan with the digests of what it says."""
    document = dict(document)
    if "description_digest" in document and described(document) in document:
        document["description_digest"] = digest(document[described(document)])
    if "plan_hash" in document:
        document["plan_hash"] = digest({**document, "plan_hash": ""})
    return compact(document)


def places(value, here=()):
    """Every place in a document."""
    yield here
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inside:
        yield from places(below, (*here, key))


def at(document, place):
    for key in place:
        document = document[key]
    return document


def kind_of(place):
    """A place without the numbers of list members."""
    return ".".join("*" if isinstance(key, int) else key for key in place)


def other_number(rng, number):
    # Binary digits are lost in none of these: claims of plans are whole numbers.
    choices = [number - 1, number + 1, number * 999 // 1000, number * 1001 // 1000, number // 2, number * 2, 0, -number, 1]
    choices += [number // 10, number * 10, 2**63 - 1, -1, number - number // 10_000]
    return rng.choice([choice for choice in choices if choice != number] or [7])


def other_text(rng, text, texts):
    others = [other for other in texts if other != text]
    return rng.choice([*rng.sample(others, min(3, len(others))), text + "x", "", text[:-1], text.upper()])


def change(rng, document, by_kind, texts):
    """Changes one place of a document; what was done, or nothing. Kinds of places are equally likely, however many there are."""
    kind = rng.choice(sorted(by_kind))
    place = rng.choice(by_kind[kind])
    holder, key = at(document, place[:-1]), place[-1]
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int):
        holder[key] = other_number(rng, value)
        kind += " (less)" if holder[key] < value else " (more)"
    elif isinstance(value, str):
        holder[key] = other_text(rng, value, texts)
    elif value is None:
        holder[key] = rng.choice([0, 1, "", [], 10**9])
    elif isinstance(value, list) and value:
        first, second = rng.randrange(len(value)), rng.randrange(len(value))
        what = rng.choice(["drop", "swap", "twice", "empty", "members"])
        if what == "drop":
            del value[first]
        elif what == "twice":
            value.insert(first, copy.deepcopy(value[second]))
        elif what == "empty":
            value.clear()
        elif what == "swap" or not isinstance(value[first], dict):
            value[first], value[second] = value[second], value[first]
        else:
            # Two members change one of the things that they say: two flows their bounds.
            shared = [k for k in value[first] if isinstance(value[second], dict) and k in value[second]]
            if shared:
                name = rng.choice(shared)
                value[first][name], value[second][name] = value[second][name], value[first][name]
    elif isinstance(value, dict) and value:
        del value[rng.choice(sorted(value))]
    return kind


def lower(rng, document):
    """Makes a claim smaller wherever the plan repeats it."""
    rows = document["bounds" if "bounds" in document else "flows"]
    bounds = [row["delay_bound_ps"] for row in rows if isinstance(row.get("delay_bound_ps"), int)]
    if not bounds:
        return "nothing"
    bound = rng.choice(bounds)
    less = bound - rng.choice([2, 1000, bound // 10_000, bound // 100, bound // 2])

    def replaced(value):
        if isinstance(value, dict):
            return {key: replaced(below) for key, below in value.items()}
        if isinstance(value, list):
            return [replaced(below) for below in value]
        return less if value == bound and not isinstance(value, bool) else value

    name = described(document)
    for key in [key for key in document if key != name]:
        document[key] = replaced(document[key])
    return "a claim everywhere"


def claims(document):
    """ps by what is claimed."""
    if "bounds" in document:
        return {f"{row['flow']}/{row['target']}": row.get("delay_bound_ps") for row in document["bounds"]}
    rows = {}
    for row in document["flows"]:
        rows[f"{row['flow']}/{row['target']}/{compact(row['mode'])}"] = row.get("delay_bound_ps")
    return rows


def as_yaml(graph):
    """A server graph's description as its file."""
    lines = ["tenuto_servers: 1", f"name: {json.dumps(graph['name'])}", "servers:"]
    # What no flow visits has no part in any bound, and may serve nothing.
    visited = {visit["server"] for flow in graph["flows"] for visit in flow["visits"]}
    for server in [server for index, server in enumerate(graph["servers"]) if index in visited]:
        pieces = [f"{{rate: {p['rate_ubps']} ubit/s, latency: {p['latency_ps']} ps}}" for p in server["service"]]
        line = server.get("line")
        line = f", line: {{burst: {line['burst_ubit']} ubit, rate: {line['rate_ubps']} ubit/s}}" if line else ""
        rest = f", multiplexing: {server.get('multiplexing', 'fifo')}, packet: {server.get('packet_ubit', 0)} ubit"
        lines.append(f"  {json.dumps(server['name'])}: {{service: [{', '.join(pieces)}]{line}{rest}}}")
    lines.append("flows:")
    for flow in graph["flows"]:
        pieces = [f"{{burst: {b['burst_ubit']} ubit, rate: {b['rate_ubps']} ubit/s}}" for b in flow["arrival"]]
        targets = []
        for target in flow["targets"]:
            path, visit = [], target["visit"]
            while visit is not None:
                path.insert(0, json.dumps(graph["servers"][flow["visits"][visit]["server"]]["name"]))
                visit = flow["visits"][visit].get("parent")
            targets.append(f"{json.dumps(target['name'])}: {{path: [{', '.join(path)}], constant: {target.get('constant_ps', 0)} ps}}")
        lines.append(f"  {json.dumps(flow['name'])}: {{arrival: [{', '.join(pieces)}], targets: {{{', '.join(targets)}}}}}")
    return "\n".join(lines) + "\n"


class Examiner:
    def __init__(self, options):
        self.options = options
        self.faults, self.believed, self.slowest, self.refused = [], Counter(), 0.0, 0
        self.codes = Counter()

    def run(self, *arguments):
        began = time.monotonic()
        try:
            done = subprocess.run([self.options.tenuto, *arguments], capture_output=True, text=True, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            self.faults.append(f"{arguments}: more than 60 s")
            return None, 60.0
        if done.returncode not in (0, 1, 2, 3):
            self.faults.append(f"{arguments}: exit code {done.returncode}: {done.stderr[-200:]}")
        return done, time.monotonic() - began

    def file(self, path, rng):
        plan = os.path.abspath(os.path.basename(path) + ".plan.json")
        self.run("plan", path, "-o", plan)
        with open(plan, encoding="utf-8") as file:
            original = json.load(file)
        done, honest = self.run("certify", plan)
        if "CERTIFIED" not in done.stdout or signed(original) != compact(original):
            self.faults.append(f"{path}: the plan as it was is not certified, or its digests are not understood")
            return
        by_kind = {}
        for place in places(original):
            if place and place[-1] not in ("plan_hash", "description_digest"):
                by_kind.setdefault(kind_of(place), []).append(place)
        texts = sorted({value for value in (at(original, place) for place in places(original)) if isinstance(value, str)})
        for _ in range(self.options.changes):
            changed = copy.deepcopy(original)
            if rng.random() < 0.15:
                kinds = [lower(rng, changed)]
                kinds += [change(rng, changed, by_kind, texts)] if rng.random() < 0.3 else []
            else:
                kinds = [change(rng, changed, by_kind, texts)]
            # One in ten as somebody changes it who knows of no digests.
            text = compact(changed) if rng.random() < 0.1 else signed(changed)
            self.judge(path, plan, original, changed, kinds, text)
        print(f"{path}: {len(by_kind)} kinds of places, certified in {honest:.2f} s", flush=True)

    def judge(self, path, plan, original, changed, kinds, text):
        tampered = plan + ".changed"
        with open(tampered, "w", encoding="utf-8") as file:
            file.write(text)
        done, took = self.run("certify", tampered)
        self.slowest = max(self.slowest, took)
        if done is None:
            return
        self.codes[done.returncode] += 1
        if "CERTIFIED" not in done.stdout:
            self.refused += 1
            if not done.stderr.strip() and not done.stdout.strip():
                self.faults.append(f"{path} {kinds}: refused without a word")
            return
        if changed == original:
            return
        self.believed["; ".join(kinds)] += 1
        name = described(original)
        before, now = claims(original), claims(changed)
        if changed[name] != original[name] and name == "description":
            graph = tampered + ".yaml"
            with open(graph, "w", encoding="utf-8") as file:
                file.write(as_yaml(changed[name]))
            again, _ = self.run("plan", graph, "--json")
            rows = json.loads(again.stdout or "{}").get("flows", []) if again else []
            # In the order of the description, as claims are numbered.
            fresh = {f"{f['name']}/{t['name']}": f"{i}/{j}" for i, f in enumerate(changed[name]["flows"]) for j, t in enumerate(f["targets"])}
            before = {fresh.get(f"{row['flow']}/{row['target']}"): row["delay_bound_ps"] for row in rows}
            if not rows:
                self.faults.append(f"{path} {kinds}: believed, and no plan can be made of it: {again.stderr[-200:] if again else ''}")
        for key, claim in now.items():
            if before.get(key) is None and claim is not None or claim is not None and claim < before[key] - ROUNDING_PS - before[key] // 10**7:
                self.faults.append(f"{path} {kinds}: {key} is believed with {claim} ps, and {before.get(key)} ps are proved")
                kept = f"{plan}.believed-{len(self.faults)}.json"
                with open(kept, "w", encoding="utf-8") as file:
                    file.write(text)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tenuto", default="tenuto", help="program to examine")
    arguments.add_argument("--changes", type=int, default=300, help="changed plans of each file")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--keep", help="folder for plans")
    arguments.add_argument("files", nargs="+", help="networks and server graphs that can be planned")
    options = arguments.parse_args()
    options.tenuto = os.path.abspath(options.tenuto) if os.sep in options.tenuto else options.tenuto
    files = [os.path.abspath(path) for path in options.files]
    folder = options.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    examiner = Examiner(options)
    for path in files:
        examiner.file(path, random.Random(f"{os.path.basename(path)}/{options.seed}"))
    print("believed changes, by place:")
    for kinds, count in sorted(examiner.believed.items()):
        print(f"  {count:4} {kinds}")
    for text in examiner.faults:
        print(f"fault: {text}")
    total = sum(examiner.codes.values())
    print(f"{total} changed plans, {examiner.refused} refused, {sum(examiner.believed.values())} believed; "
          f"slowest {examiner.slowest:.2f} s; exit codes {dict(examiner.codes)}; {len(examiner.faults)} faults")
    sys.exit(1 if examiner.faults else 0)


if __name__ == "__main__":
    main()
