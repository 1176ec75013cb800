"""Converts the networks of RTNS'22 (alexscheffler/dataset-rtns2022) into the JSON that the example `published` reads.

    python bench/rtns_networks.py CLONE FOLDER

Each network becomes FOLDER/random_ff_N.json: servers, flows, and the bounds that were published per flow.
"""

import argparse
import csv
import json
import os
import re

METHODS = {
    "SFA_FIFO": "SFA_FIFO_delay.csv",
    "LB_FF": "LB_FF_delay.csv",
    "DS_FF": "DS_FF_xi_05_epsilon_e-4_c_5_delay.csv",
    "LUDB_FF": "LUDB_FF_delay.csv",
    "FF_LPA": "FF_LPA_delay_partial.csv",
}
NUMBER = r"([-0-9.eE]+)"
# `SC{(0.0,0.0),r}` or `SC{(0.0,0.0),0.0;(T,0.0),r}`; `AC{(0.0,0.0),0.0;!(0.0,b),r}`.
SERVICE = re.compile(rf"SC\{{(?:\(0\.0,0\.0\),0\.0;)?!?\({NUMBER},0\.0\),{NUMBER}\}}")
ARRIVAL = re.compile(rf"AC\{{\(0\.0,0\.0\),0\.0;!\(0\.0,{NUMBER}\),{NUMBER}\}}")
STATEMENT = re.compile(
    r'servers\[(?P<server>\d+)\] = sg\.addServer\( "(?P<name>[^"]+)", factory\.createServiceCurve\( "(?P<service>[^"]+)"'
    r"|servers_on_path_s\.add\( servers\[(?P<visit>\d+)\] \)"
    r'|sg\.addFlow\( "(?P<flow>[^"]+)", factory\.createArrivalCurve\( "(?P<arrival>[^"]+)" \), servers_on_path_s'
    r"|(?P<end>servers_on_path_s\.clear\(\))"
)


def network(text, name):
    servers, flows, path = {}, [], []
    for found in STATEMENT.finditer(text):
        if found["server"] is not None:
            latency, rate = map(float, SERVICE.fullmatch(found["service"]).groups())
            servers[int(found["server"])] = {"name": found["name"], "latency": latency, "rate": rate}
        elif found["visit"] is not None:
            path.append(int(found["visit"]))
        elif found["flow"] is not None:
            burst, rate = map(float, ARRIVAL.fullmatch(found["arrival"]).groups())
            flows.append({"name": found["flow"], "burst": burst, "rate": rate, "path": list(path)})
        else:
            path = []
    used = {index for flow in flows for index in flow["path"]}
    for flow in flows:
        flow["path"] = [servers[index]["name"] for index in flow["path"]]
    kept = [servers[index] for index in sorted(used)]
    return {"name": name, "multiplexing": "FIFO", "servers": kept, "flows": flows}


def published(folder):
    """Per network and flow: bounds by method."""
    bounds = {}
    for method, file in METHODS.items():
        with open(os.path.join(folder, file), encoding="utf-8") as rows:
            for net, flow, value in [row for row in csv.reader(rows, skipinitialspace=True) if row][1:]:
                bounds.setdefault(int(net), {}).setdefault(f"f{int(flow)}", {})[method] = float(value)
    return bounds


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("clone")
    arguments.add_argument("folder")
    options = arguments.parse_args()
    bounds = published(os.path.join(options.clone, "data"))
    os.makedirs(options.folder, exist_ok=True)
    for file in sorted(os.listdir(os.path.join(options.clone, "networks"))):
        name = file.removesuffix(".java")
        with open(os.path.join(options.clone, "networks", file), encoding="utf-8") as text:
            net = network(text.read(), name)
        net["published_delay_bounds"] = bounds[int(name.rsplit("_", 1)[1])]
        missing = {flow["name"] for flow in net["flows"]} ^ set(net["published_delay_bounds"])
        print(f"{name}: {len(net['servers'])} servers, {len(net['flows'])} flows, {len(missing)} without bounds")
        with open(os.path.join(options.folder, f"{name}.json"), "w", encoding="utf-8") as out:
            json.dump(net, out)


if __name__ == "__main__":
    main()
