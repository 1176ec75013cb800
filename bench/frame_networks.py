"""Random networks of switches and hosts that send frames, by kind and seed, in every format that states them.

A network here is a dict: `switches` (latency in us by name), `hosts`, `links` (Mbit/s by pair of names) and `flows` (name,
source, targets with the switches on the way, frame in B with FCS, period in ns, priority, 0 the highest).
"""

import json
import random

# Preamble and gap; what a frame takes on a line besides itself.
BETWEEN_FRAMES = 20
# What is not listed in a kind stays as here.
PLAIN = {
    "shape": "tree",
    "switches": (2, 6),
    "flows": (4, 14),
    "hosts": (1, 3),  # at each switch
    "host_rates": (100,),  # Mbit/s
    "trunk_rates": (100,),
    "latency": (0.0, 20.0),  # us
    "frames": (64, 1518),  # B
    "load": (0.2, 0.8),  # of the fullest port
    "priorities": 1,
    "multicast": False,
}
MIXED_RATES = {"host_rates": (100, 1000), "trunk_rates": (100, 1000, 10_000)}
KINDS = {
    "frames": {},
    "frameshot": {"load": (0.95, 0.999)},
    "frameslow": {"load": (0.05, 0.05)},
    "framesinstant": {"latency": (0.0, 0.0)},
    "framesslowswitch": {"latency": (100.0, 5000.0)},
    "framesshort": {"frames": (64, 64)},
    "frameslong": {"frames": (1518, 1518), "load": (0.5, 0.9)},
    "framesmixed": MIXED_RATES,
    "framesmixedhot": {**MIXED_RATES, "load": (0.8, 0.98)},
    "framesfast": {"host_rates": (10_000,), "trunk_rates": (10_000,)},
    "framesone": {"switches": (1, 1), "hosts": (3, 8)},
    "framesline": {"shape": "line", "switches": (4, 10), "hosts": (1, 1)},
    "framesring": {"shape": "ring", "switches": (3, 7), "hosts": (1, 2)},
    "framesringhot": {"shape": "ring", "switches": (3, 6), "hosts": (1, 1), "load": (0.8, 0.95)},
    "framesgrid": {"shape": "grid", "switches": (2, 3)},
    "framesmulticast": {"multicast": True},
    "framesmulticastmixed": {"multicast": True, **MIXED_RATES},
    "framesmulticastgrid": {"multicast": True, "shape": "grid", "switches": (2, 3)},
    "framesmany": {"shape": "line", "switches": (30, 30), "hosts": (1, 1), "flows": (60, 60)},
    "two": {"priorities": 2},
    "twomixed": {"priorities": 2, **MIXED_RATES},
    "twohot": {"priorities": 2, "load": (0.9, 0.99)},
    "twomulticast": {"priorities": 2, "multicast": True},
    "three": {"priorities": 3},
    "threehot": {"priorities": 3, "load": (0.85, 0.98)},
    "threemixed": {"priorities": 3, **MIXED_RATES},
    "threeinstant": {"priorities": 3, "latency": (0.0, 0.0)},
    "threeone": {"priorities": 3, "switches": (1, 1), "hosts": (3, 8), "load": (0.5, 0.95)},
    "threeline": {"priorities": 3, "shape": "line", "switches": (4, 9), "hosts": (1, 1)},
    "threering": {"priorities": 3, "shape": "ring", "switches": (3, 6), "hosts": (1, 2), "load": (0.2, 0.5)},
    "threegrid": {"priorities": 3, "shape": "grid", "switches": (2, 3)},
    "eight": {"priorities": 8, "flows": (10, 20)},
    "eightmixed": {"priorities": 8, "flows": (10, 20), **MIXED_RATES},
    "framesfull": {"load": "full", "latency": (0.0, 5.0)},
    "framesjustover": {"load": "just over", "latency": (0.0, 5.0)},
    "framestwice": {"load": (2.0, 2.0)},
    "threefull": {"load": "full", "priorities": 3},
    "threejustover": {"load": "just over", "priorities": 3},
    "threetwice": {"load": (2.0, 2.0), "priorities": 3},
}


def draw(seed, kind):
    """A network, the same for the same seed and kind."""
    settings = {**PLAIN, **KINDS[kind]}
    rng = random.Random(f"{kind}/{seed}")
    count = rng.randint(*settings["switches"])
    trunks = TRUNKS[settings["shape"]](rng, count)
    count = max(count, *(1 + end for pair in trunks for end in pair)) if trunks else count
    switches = {f"sw{s}": round(rng.uniform(*settings["latency"]), 3) for s in range(count)}
    links = {(f"sw{a}", f"sw{b}"): rng.choice(settings["trunk_rates"]) for a, b in trunks}
    home = {}
    for s in range(count):
        for _ in range(rng.randint(*settings["hosts"])):
            home[f"h{len(home)}"] = f"sw{s}"
    if len(home) == 1:
        home["h1"] = "sw0"
    links |= {(host, switch): rng.choice(settings["host_rates"]) for host, switch in home.items()}
    network = {"name": f"{kind}{seed}", "switches": switches, "hosts": list(home), "links": links}
    count = rng.randint(*settings["flows"])
    network["flows"] = [a_flow(rng, index, home, trunks, settings) for index in range(count)]
    give_periods(rng, network, settings["load"])
    return network


def in_tree(rng, count):
    return [(rng.randrange(s), s) for s in range(1, count)]


def in_line(_rng, count):
    return [(s, s + 1) for s in range(count - 1)]


def in_ring(_rng, count):
    return [(s, (s + 1) % count) for s in range(count)]


def in_grid(_rng, side):
    across = [(side * y + x, side * y + x + 1) for y in range(side) for x in range(side - 1)]
    return across + [(side * y + x, side * (y + 1) + x) for y in range(side - 1) for x in range(side)]


TRUNKS = {"tree": in_tree, "line": in_line, "ring": in_ring, "grid": in_grid}


def a_flow(rng, index, home, trunks, settings):
    source, *others = rng.sample(sorted(home), len(home))
    targets = others[: rng.randint(1, 3) if settings["multicast"] else 1]
    tree = ways_from(rng, int(home[source][2:]), trunks, settings["shape"] == "ring")
    return {
        "name": f"f{index}",
        "source": source,
        "targets": {target: [f"sw{s}" for s in tree[int(home[target][2:])]] for target in targets},
        "frame": rng.randint(*settings["frames"]),
        "priority": rng.randrange(settings["priorities"]),
    }


def ways_from(rng, start, trunks, is_ring):
    """The switches on the way to every switch: fewest hops, a tree; around a ring in one direction."""
    ways, edge = {start: [start]}, [start]
    while edge:
        here = edge.pop(0)
        onward = [b for a, b in trunks if a == here] + [a for a, b in trunks if b == here and not is_ring]
        rng.shuffle(onward)
        for there in onward:
            if there not in ways:
                ways[there] = ways[here] + [there]
                edge.append(there)
    return ways


def ports_of(flow):
    """Per target the ports on the way."""
    nodes = {target: [flow["source"], *route, target] for target, route in flow["targets"].items()}
    return {target: list(zip(way, way[1:])) for target, way in nodes.items()}


def rate_of(network, port):
    return network["links"].get(port) or network["links"][port[::-1]]


def give_periods(rng, network, load):
    """Periods with which the fullest port has this load: the sum of frames' lengths by periods, by its rate."""
    flows = network["flows"]
    weights = [rng.uniform(0.3, 1.0) for _ in flows]
    used = [set(sum(ports_of(flow).values(), [])) for flow in flows]
    if isinstance(load, str):
        return fill(network, used, load)
    share = {port: sum(w for w, ports in zip(weights, used) if port in ports) for ports in used for port in ports}
    fullest = max(by / rate_of(network, port) for port, by in share.items())
    scale = rng.uniform(*load) / fullest
    for flow, weight in zip(flows, weights):
        flow["period"] = max(1, round(wire_bits(flow) / (weight * scale) * 1e3))
    return None


def fill(network, used, load):
    """One size and period for all, with which the fullest port has nothing left, or one nanosecond too little."""
    port = max(set().union(*used), key=lambda p: sum(p in ports for ports in used) / rate_of(network, p))
    through = sum(port in ports for ports in used)
    # Meters round rates up to whole kbit/s; where that is more than the flows bring, nothing would be left.
    while 100_000 % through:
        last = max(index for index, ports in enumerate(used) if port in ports)
        del used[last], network["flows"][last]
        through -= 1
    for flow in network["flows"]:
        # 1250 bytes on the wire: 10,000 bits take a whole number of ns at 100 Mbit/s and at 1 and 10 Gbit/s.
        flow["frame"] = 1230
        flow["period"] = through * 10_000_000 // rate_of(network, port) - (load == "just over")


def wire_bits(flow):
    return (flow["frame"] + BETWEEN_FRAMES) * 8


def loads(network):
    """Bits per us that come to every used port, beside its rate."""
    load = {}
    for flow in network["flows"]:
        for port in set(sum(ports_of(flow).values(), [])):
            load[port] = load.get(port, 0.0) + wire_bits(flow) / flow["period"] * 1e3
    return [(by, rate_of(network, port)) for port, by in load.items()]


def as_yaml(network):
    """Tenuto's own format, with every route as drawn and deadlines that nothing misses."""
    lines = ["tenuto: 1", f"name: {network['name']}", "profiles:"]
    for name, latency in network["switches"].items():
        lines += [f"  of-{name}:", "    like: ideal", f"    latency: {round(latency * 1e3)} ns"]
    lines += [f"hosts: [{', '.join(network['hosts'])}]", "switches:"]
    lines += [f"  {name}: {{profile: of-{name}}}" for name in network["switches"]]
    lines.append("links:")
    for (a, b), rate in network["links"].items():
        lines.append(f"  - {{ends: [{a}, {b}], rate: {rate} Mbit/s, length: 0 m}}")
    lines.append("flows:")
    for flow in network["flows"]:
        targets = [f"{t}: {{deadline: 100 s, route: [{', '.join(way)}]}}" for t, way in flow["targets"].items()]
        lines.append(
            f"  {flow['name']}: {{source: {flow['source']}, targets: {{{', '.join(targets)}}}, "
            f"frame: {flow['frame']} B, period: {flow['period']} ns, priority: {flow['priority']}}}"
        )
    return "\n".join(lines) + "\n"


def as_wopanets(network):
    """WoPANets' own XML: bare numbers, ms and bit/s; two priorities at most."""
    policy = "STATIC_PRIORITY" if any(flow["priority"] for flow in network["flows"]) else "FIRST_IN_FIRST_OUT"
    lines = ["<elements>", f'<network name="{network["name"]}" overhead="{BETWEEN_FRAMES}" technology="AFDX"/>']
    lines += [f'<station name="{host}" service-policy="{policy}"/>' for host in network["hosts"]]
    for name, latency in network["switches"].items():
        technique = 'switching-technique="STORE_AND_FORWARD"'
        lines.append(f'<switch name="{name}" tech-latency="{latency}" {technique} service-policy="{policy}"/>')
    for index, ((a, b), rate) in enumerate(network["links"].items()):
        ends = f'from="{a}" fromPort="{index}" to="{b}" toPort="{index}"'
        lines.append(f'<link name="l{index}" {ends} transmission-capacity="{rate}000000"/>')
    for flow in network["flows"]:
        sizes = f'max-payload="{flow["frame"]}" min-payload="{flow["frame"]}"'
        level = "High" if flow["priority"] == 0 else "Low"
        period = f'period="{flow["period"] / 1e6:.6f}" deadline="100000" jitter="0"'
        lines.append(f'<flow name="{flow["name"]}" source="{flow["source"]}" {sizes} {period} priority="{level}">')
        lines += xml_targets(flow, "name")
        lines.append("</flow>")
    return "\n".join([*lines, "</elements>"]) + "\n"


def as_xtfa(network, technology):
    """xTFA's XML: units written out, arrival curves as buckets, a link for every direction."""
    lines = ["<elements>", f'<network name="{network["name"]}" technology="{technology}" overhead="0"/>']
    # A latency of none makes xTFA fail.
    lines += [f'<station name="{host}" service-latency="0.001ns"/>' for host in network["hosts"]]
    lines += [f'<switch name="{name}" service-latency="{max(t, 1e-6)}us"/>' for name, t in network["switches"].items()]
    for index, (pair, rate) in enumerate(network["links"].items()):
        for way, (a, b) in enumerate((pair, pair[::-1])):
            ends = f'from="{a}" fromPort="o{index}" to="{b}" toPort="i{index}"'
            speed = f'transmission-capacity="{rate}Mbps" service-rate="{rate}Mbps"'
            lines.append(f'<link name="l{index}-{way}" {ends} {speed}/>')
    for flow in network["flows"]:
        bits = wire_bits(flow)
        curve = f'arrival-curve="leaky-bucket" lb-burst="{bits}b" lb-rate="{bits / flow["period"] * 1e3:.12f}Mbps"'
        size = f'maximum-packet-size="{bits}b"'
        lines.append(f'<flow name="{flow["name"]}" source="{flow["source"]}" {curve} {size}>')
        lines += xml_targets(flow, "name")
        lines.append("</flow>")
    return "\n".join([*lines, "</elements>"]) + "\n"


def xml_targets(flow, key):
    lines = []
    for target, way in flow["targets"].items():
        nodes = "".join(f'<path node="{node}"/>' for node in [*way, target])
        lines.append(f'<target {key}="{target}">{nodes}</target>')
    return lines


def as_saihu(network, packetizer=False):
    """Saihu's output-port JSON: a server for every port that a flow crosses."""
    paths = {flow["name"]: [["-".join(port) for port in way] for way in ports_of(flow).values()] for flow in network["flows"]}
    used = dict.fromkeys(port for flow in network["flows"] for way in ports_of(flow).values() for port in way)
    flows = []
    for flow in network["flows"]:
        first, *others = paths[flow["name"]]
        names = list(flow["targets"])
        row = {"name": flow["name"], "path": first, "path_name": names[0]}
        if others:
            row["multicast"] = [{"name": name, "path": path} for name, path in zip(names[1:], others)]
        bytes_on_wire = flow["frame"] + BETWEEN_FRAMES
        row["arrival_curve"] = {"bursts": [bytes_on_wire], "rates": [bytes_on_wire * 8e3 / flow["period"]]}
        row["max_packet_length"] = bytes_on_wire
        flows.append(row)
    servers = []
    for port in used:
        # Saihu fails on a latency of none; this much is below a millionth of any bound here.
        latency = max(network["switches"].get(port[0], 0.0), 1e-6)
        rate = rate_of(network, port)
        curve = {"latencies": [latency], "rates": [rate]}
        servers.append({"name": "-".join(port), "service_curve": curve, "capacity": rate})
    head = {"name": network["name"], "multiplexing": "FIFO", "packetizer": packetizer, "analysis_option": ["IS"]}
    head |= {"time_unit": "us", "data_unit": "B", "rate_unit": "Mbps"}
    return json.dumps({"network": head, "flows": flows, "servers": in_order(servers, flows)}, indent=1)


def in_order(servers, flows):
    """Servers before those that flows go on to, as far as there is such an order."""
    before = {server["name"]: set() for server in servers}
    for flow in flows:
        for path in [flow["path"], *(branch["path"] for branch in flow.get("multicast", ()))]:
            for here, there in zip(path, path[1:]):
                before[there].add(here)
    placed, rest = [], {server["name"]: server for server in servers}
    while rest:
        free = [name for name in rest if not before[name] & set(rest)] or [next(iter(rest))]
        placed += [rest.pop(name) for name in free]
    return placed


def as_graphml(network):
    """A topology with speeds, to which `as_table` gives the flows."""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        '<key attr.name="label" attr.type="string" for="node" id="d0"/>',
        '<key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d1"/>',
        '<graph edgedefault="undirected">',
    ]
    for node in [*network["hosts"], *network["switches"]]:
        lines.append(f'<node id="{node}"><data key="d0">{node}</data></node>')
    for (a, b), rate in network["links"].items():
        lines.append(f'<edge source="{a}" target="{b}"><data key="d1">{rate}000000.0</data></edge>')
    return "\n".join([*lines, "</graph>", "</graphml>"]) + "\n"


def as_table(network):
    """Flows for a topology."""
    rows = ["name,source,targets,period_ms,frame_bytes_max,deadline_ms,priority"]
    for flow in network["flows"]:
        targets = " ".join(flow["targets"])
        cells = [flow["name"], flow["source"], targets, f"{flow['period'] / 1e6:.6f}", flow["frame"], 100_000, flow["priority"]]
        rows.append(",".join(str(cell) for cell in cells))
    return "\n".join(rows) + "\n"
