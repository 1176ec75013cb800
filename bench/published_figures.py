"""Published FIFO networks, interleaved tandems and rings through the command line, beside the least bounds that others gave.

Exit code 1 if a bound is above the least of those, or a plan is not certified.
"""

import argparse
import glob
import json
import os
import sys
import tempfile

from calculus_peers import Tenuto

RATE = 10.0  # Mbit/s
LATENCY, BURST = 1000.0, 125.0  # us, bytes
# (shape, servers, load): the least largest bound of four tools, ms; measured with lp_solve and HiGHS, or published.
PEERS = {
    ("tandem", 4, 0.8): 4.514, ("tandem", 6, 0.8): 6.797, ("tandem", 8, 0.8): 11.457, ("tandem", 10, 0.8): 14.977,
    ("tandem", 12, 0.8): 18.765, ("tandem", 16, 0.8): 30.990, ("tandem", 20, 0.8): 40.418,
    ("ring", 3, 0.5): 3.759, ("ring", 3, 0.7): 4.430, ("ring", 3, 0.8): 5.119,
    ("ring", 5, 0.5): 6.375, ("ring", 5, 0.7): 7.870, ("ring", 5, 0.8): 9.817, ("ring", 7, 0.5): 9.011,
    ("ring", 10, 0.5): 12.974, ("ring", 10, 0.7): 16.883, ("ring", 10, 0.8): 30.938, ("ring", 20, 0.5): 30.769,
    ("ring", 20, 0.7): None, ("ring", 20, 0.8): None,
}  # fmt: skip


def drawn(shape, size, load):
    """A tandem with one flow over all servers and one over each two neighbours, or a ring that all flows go round."""
    paths = [[(first + i) % size for i in range(size)] for first in range(size)]
    if shape == "tandem":
        paths = [list(range(size))] + [[s, s + 1] for s in range(size - 1)]
    busiest = max(sum(s in path for path in paths) for s in range(size))
    curve = {"bursts": [BURST], "rates": [load * RATE / busiest]}
    servers = [
        {"name": f"s{s}", "service_curve": {"latencies": [LATENCY], "rates": [RATE]}, "capacity": RATE} for s in range(size)
    ]
    flows = [{"name": f"f{i}", "path": [f"s{s}" for s in path], "arrival_curve": curve} for i, path in enumerate(paths)]
    head = {"name": f"{shape}{size}", "time_unit": "us", "data_unit": "B", "rate_unit": "Mbps"}
    head |= {"multiplexing": "FIFO", "packetizer": False, "analysis_option": ["IS"]}
    return json.dumps({"network": head, "servers": servers, "flows": flows})


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tenuto", default="tenuto", help="program to examine")
    arguments.add_argument("--method", default="auto")
    arguments.add_argument("--data", default=os.environ.get("TENUTO_DATA", "../shared/data"))
    arguments.add_argument("--only", default="rtns,tandem,ring")
    options = arguments.parse_args()
    data = os.path.abspath(options.data)
    tenuto = Tenuto(os.path.abspath(options.tenuto) if os.sep in options.tenuto else options.tenuto)
    os.chdir(tempfile.mkdtemp())
    faults = []

    def plan(path):
        bounds, seconds, refused = tenuto.bounds(tenuto.imported(path), options.method, True)
        if refused:
            faults.append(f"{path}: {refused}")
        return bounds, seconds

    if "rtns" in options.only:
        faults += published(data, plan)
    for (shape, size, load), peer in PEERS.items():
        if shape in options.only:
            path = f"{shape}-{size}-{load}.json"
            with open(path, "w", encoding="utf-8") as file:
                file.write(drawn(shape, size, load))
            bounds, seconds = plan(path)
            worst = max(bounds.values()) * 1e3
            quotient = f"{worst / peer:.4f} of {peer} ms" if peer else "nobody's"
            print(f"{path}: {worst:.4f} ms, {quotient}, {seconds:.2f} s", flush=True)
            # Others' figures have three digits.
            if peer and worst > peer + 0.0005:
                faults.append(f"{path}: {worst} ms, and {peer} ms")
    for text in faults:
        print(f"fault: {text}")
    sys.exit(1 if faults else 0)


def published(data, plan):
    """The networks of RTNS'22: quotients by their exact linear programs (FF-LPA)."""
    faults, quotients, total = [], [], 0.0
    paths = sorted(glob.glob(os.path.join(data, "nc-fifo-rtns2022", "random_ff_*.json")))
    if not paths:
        print("the networks of RTNS'22 are not there: left out")
    for path in paths:
        with open(path, encoding="utf-8") as file:
            theirs = json.load(file)["published_delay_bounds"]
        own = os.path.basename(path)
        os.symlink(path, own)
        bounds, seconds = plan(own)
        total += seconds
        # A delay of 1 is imported as a second.
        here = [bounds[flow] / row["FF_LPA"] for flow, row in theirs.items() if row.get("FF_LPA")]
        quotients += here
        print(f"{own}: {sum(here) / len(here):.4f} of FF-LPA, {min(here):.4f} to {max(here):.4f}, {seconds:.2f} s", flush=True)
        least = {flow: min(value for value in row.values() if value) for flow, row in theirs.items()}
        worst = max((bounds[flow] / least[flow], flow) for flow in least)
        if worst[0] > 1 + 1e-6:
            faults.append(f"{own}: {worst[1]} is {worst[0]:.6f} times the least published bound")
    if quotients:
        print(f"RTNS'22: {len(quotients)} flows, {sum(quotients) / len(quotients):.4f} of FF-LPA, {total:.1f} s of processor time")
    return faults


if __name__ == "__main__":
    main()
