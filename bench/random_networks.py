"""Random networks in Saihu's output-port JSON and in the XML of xTFA, by kind and seed."""

import json
import random

from network_shapes import SHAPES

# What is not listed in a kind stays as here.
PLAIN = {
    "order": "FIFO",
    "shape": "forward",
    "capacity": 100.0,  # Mbit/s, "least" for the service rate itself, "slower" for less, None for no line
    "load": (0.3, 0.85),
    "latency": (1.0, 50.0),  # µs
    "buckets": 1,
    "services": 1,
    "packets": False,
    "scale": 1.0,
    "equal": False,
    "longest": 5,
    "style": "plain",
    "bursts": (200.0, 4000.0),  # bytes
    "spread": 1.0,  # rates of servers and of flows differ by up to this factor, and its square root, more
    "copies": 1,  # flows of each path
}
KINDS = {
    "fifo": {},
    "unshaped": {"capacity": None},
    "tight": {"capacity": "least"},
    "heavy": {"load": (0.9, 0.99), "capacity": "least"},
    "buckets": {"buckets": 3, "capacity": "least"},
    "pieces": {"buckets": 2, "services": 2},
    "services": {"services": 3, "capacity": None},
    "instant": {"latency": (0.0, 0.0), "capacity": "least"},
    "equal": {"equal": True},
    "single": {"longest": 1},
    "multicast": {"style": "multicast"},
    "units": {"style": "units"},
    "tiny": {"scale": 1e-4},
    "huge": {"scale": 1e3},
    "packets": {"packets": True},
    "cyclic": {"shape": "cyclic"},
    "cyclictight": {"shape": "cyclic", "capacity": "least"},
    "cyclicheavy": {"shape": "cyclic", "load": (0.85, 0.98)},
    "cyclicpieces": {"shape": "cyclic", "buckets": 2, "services": 2, "capacity": "least"},
    "ring": {"shape": "ring", "capacity": "least", "equal": True},
    "tandem": {"shape": "tandem", "capacity": "least", "equal": True},
    "opentandem": {"shape": "tandem", "capacity": None},
    "mesh": {"shape": "mesh", "capacity": "least"},
    "sourcesink": {"shape": "sourcesink"},
    "sinktree": {"shape": "sinktree", "capacity": None},
    "interleaved": {"shape": "interleaved", "capacity": "least"},
    "saturated": {"load": (1.0, 1.0), "capacity": None, "equal": True},
    "overloaded": {"load": (1.05, 3.0)},
    "cyclicoverloaded": {"shape": "cyclic", "load": (1.05, 2.0)},
    "arbitrary": {"order": "ARBITRARY"},
    "arbitrarytandem": {"order": "ARBITRARY", "shape": "interleaved", "capacity": None},
    "arbitrarypieces": {"order": "ARBITRARY", "buckets": 2, "services": 2, "capacity": None},
    "arbitrarytight": {"order": "ARBITRARY", "capacity": "least"},
    "arbitrarycyclic": {"order": "ARBITRARY", "shape": "cyclic", "capacity": "least", "load": (0.1, 0.5)},
    "arbitraryoverloaded": {"order": "ARBITRARY", "load": (1.05, 2.0)},
    "sinktreetight": {"shape": "sinktree", "capacity": "least"},
    "sinktreeheavy": {"shape": "sinktree", "load": (0.95, 0.999)},
    "sourcetree": {"shape": "sourcetree"},
    "sourcetreeopen": {"shape": "sourcetree", "capacity": None, "load": (0.8, 0.99)},
    "twoservers": {"shape": "twoservers"},
    "twoserverstight": {"shape": "twoservers", "capacity": "least", "load": (0.8, 0.99)},
    "branches": {"shape": "branches", "style": "branches"},
    "branchesopen": {"shape": "branches", "style": "branches", "capacity": None, "load": (0.7, 0.95)},
    "cyclicbranches": {"shape": "cyclic", "style": "branches", "load": (0.2, 0.6)},
    "hot": {"load": (0.95, 0.999)},
    "hotopen": {"load": (0.95, 0.999), "capacity": None},
    "atonce": {"latency": (0.0, 0.0), "capacity": None},
    "bursty": {"bursts": (1e4, 1e6)},
    "burstless": {"bursts": "some"},
    "burstlesstight": {"bursts": "some", "capacity": "least", "shape": "interleaved"},
    "fewring": {"shape": "fewring", "load": (0.5, 0.9)},
    "fewringopen": {"shape": "fewring", "capacity": None, "load": (0.3, 0.7)},
    "uneven": {"spread": 100.0},
    "unevenopen": {"spread": 1000.0, "capacity": None, "shape": "interleaved"},
    "slowline": {"capacity": "slower", "load": (0.2, 0.6)},
    "twins": {"copies": 3, "equal": True, "longest": 4},
    "manyflows": {"copies": 5, "capacity": "least"},
    "longtandem": {"shape": "longtandem", "capacity": "least"},
    "longtandemopen": {"shape": "longtandem", "capacity": None, "load": (0.6, 0.95)},
    "shuffled": {"shape": "shuffled"},
    "longpackets": {"packets": True, "style": "packets", "capacity": "least"},
    "ringheavy": {"shape": "ring", "equal": True, "load": (0.85, 0.97)},
    "ringsaturated": {"shape": "ring", "equal": True, "load": (1.0, 1.0)},
    "justover": {"load": (1.000001, 1.0001), "capacity": None},
    "overloadedonce": {"load": (1.2, 2.0), "shape": "branches"},
    "anysinktree": {"order": "ARBITRARY", "shape": "sinktree", "capacity": "least"},
    "anysinktreeopen": {"order": "ARBITRARY", "shape": "sinktree", "capacity": None, "load": (0.8, 0.99)},
    "anysourcetree": {"order": "ARBITRARY", "shape": "sourcetree", "capacity": "least"},
    "anytwoservers": {"order": "ARBITRARY", "shape": "twoservers", "load": (0.8, 0.99)},
    "anybranches": {"order": "ARBITRARY", "shape": "branches", "style": "branches"},
    "anyhot": {"order": "ARBITRARY", "load": (0.95, 0.999)},
    "anysaturated": {"order": "ARBITRARY", "load": (1.0, 1.0), "capacity": None, "equal": True},
    "anyatonce": {"order": "ARBITRARY", "latency": (0.0, 0.0), "capacity": "least"},
    "anybuckets": {"order": "ARBITRARY", "buckets": 3, "capacity": "least"},
    "anyslowline": {"order": "ARBITRARY", "capacity": "slower", "shape": "sinktree", "load": (0.2, 0.6)},
    "anyslowforward": {"order": "ARBITRARY", "capacity": "slower", "load": (0.2, 0.6)},
    "anymesh": {"order": "ARBITRARY", "shape": "mesh", "capacity": "least"},
    "anyring": {"order": "ARBITRARY", "shape": "ring", "equal": True, "load": (0.1, 0.4)},
    "anyfewring": {"order": "ARBITRARY", "shape": "fewring", "capacity": None, "load": (0.1, 0.4)},
    "anyburstless": {"order": "ARBITRARY", "bursts": "some"},
    "anytwins": {"order": "ARBITRARY", "copies": 3, "equal": True, "longest": 4},
    "anyuneven": {"order": "ARBITRARY", "spread": 100.0},
    "fattree": {"shape": "fattree", "capacity": "least"},
    "fattreeopen": {"shape": "fattree", "capacity": None, "load": (0.7, 0.99)},
    "dumbbell": {"shape": "dumbbell", "capacity": "least", "load": (0.5, 0.999)},
    "parkinglot": {"shape": "parkinglot", "capacity": "least", "load": (0.5, 0.95)},
    "parkinglotopen": {"shape": "parkinglot", "capacity": None, "load": (0.5, 0.999)},
    "nested": {"shape": "nested", "capacity": None},
    "diamonds": {"shape": "diamonds", "capacity": "least"},
    "grid": {"shape": "grid", "capacity": "least"},
    "torus": {"shape": "torus", "capacity": "least", "load": (0.2, 0.7)},
    "starofrings": {"shape": "starofrings", "capacity": "least", "load": (0.2, 0.8)},
    "twinrings": {"shape": "twinrings", "capacity": None, "load": (0.1, 0.5)},
    "twinringstight": {"shape": "twinrings", "capacity": "least", "load": (0.5, 0.9)},
    "counterrings": {"shape": "counterrings", "load": (0.2, 0.8)},
    "crowd": {"shape": "crowd", "capacity": "least", "load": (0.5, 0.9)},
    "crowdany": {"shape": "crowd", "order": "ARBITRARY"},
    "alone": {"shape": "alone", "capacity": "least"},
    "idle": {"load": (0.01, 0.05), "capacity": "least"},
    "brim": {"load": (0.9999, 0.999999), "capacity": None},
    "epsilon": {"load": (1.0 + 2e-9, 1.0 + 1e-7), "capacity": None},
    "dots": {"bursts": (1.0, 8.0), "capacity": "least"},
    "floods": {"bursts": (1e5, 1e7), "capacity": "least"},
    "uneventenfold": {"spread": 10.0, "capacity": "least", "bursts": (1.0, 1e5)},
    "eonlatency": {"latency": (1e3, 1e6), "capacity": "least"},
    "somelatency": {"latency": (0.0, 100.0), "style": "somelatency", "capacity": "least"},
    "mixed": {"style": "mixed", "capacity": "least"},
    "mixedopen": {"style": "mixed", "capacity": None, "load": (0.6, 0.95)},
    "mixedcyclic": {"style": "mixed", "shape": "cyclic", "capacity": "least", "load": (0.2, 0.6)},
    "mixedany": {"style": "mixed", "order": "ARBITRARY", "capacity": "least"},
    "exact": {"style": "exact", "capacity": None},
    "exactany": {"style": "exact", "order": "ARBITRARY", "capacity": None},
    "exactcyclic": {"style": "exact", "shape": "cyclic", "capacity": None},
    "ubitover": {"style": "ubitover", "capacity": None},
    "anyfattree": {"order": "ARBITRARY", "shape": "fattree", "capacity": "least"},
    "anyparkinglot": {"order": "ARBITRARY", "shape": "parkinglot", "capacity": None},
    "anynested": {"order": "ARBITRARY", "shape": "nested", "capacity": None},
    "anydiamonds": {"order": "ARBITRARY", "shape": "diamonds", "capacity": "least"},
    "anygrid": {"order": "ARBITRARY", "shape": "grid", "capacity": None, "load": (0.6, 0.95)},
    "anytorus": {"order": "ARBITRARY", "shape": "torus", "load": (0.1, 0.4)},
    "packetsgrid": {"packets": True, "style": "packets", "shape": "grid", "capacity": "least"},
    "packetsring": {"packets": True, "shape": "ring", "equal": True, "load": (0.1, 0.4)},
    "ethernet": {"style": "ethernet", "shape": "grid", "capacity": "least"},
    "xml": {"style": "xml", "capacity": "least"},
    "xmlcyclic": {"style": "xml", "shape": "cyclic", "load": (0.2, 0.6)},
}


def random_network(seed, kind):
    """File name and text of a network."""
    settings = {**PLAIN, **KINDS[kind]}
    rng = random.Random(f"{kind}/{seed}")
    graph = draw(rng, settings)
    graph["network"]["name"] = f"{kind}{seed}"
    if settings["style"] == "xml":
        return f"{kind}-{seed}.xml", as_xml(graph)
    if settings["style"] == "ethernet":
        return f"{kind}-{seed}.xml", as_xml(graph, with_stations=True)
    if settings["style"] in CHANGES:
        CHANGES[settings["style"]](rng, graph)
    if settings["style"] == "multicast":
        add_branches(rng, graph)
    if settings["style"] == "branches":
        add_long_branches(rng, graph)
    if settings["style"] == "packets":
        lengthen_packets(rng, graph)
    if settings["style"] == "units":
        spell_units(rng, graph)
    return f"{kind}-{seed}.json", json.dumps(graph, indent=1)


def draw(rng, settings):
    """A network in Mbit/s, bytes and µs."""
    servers, paths = SHAPES[settings["shape"]](rng, settings)
    paths = [path for path in paths for _ in range(settings["copies"])]
    spread = settings["spread"]
    apart = (lambda by: rng.uniform(1, by)) if spread > 1.0 else (lambda _: 1.0)
    rates = [1.0] * len(paths) if settings["equal"] else [rng.uniform(0.5, 1.0) * apart(spread**0.5) for _ in paths]
    # A rate that whole numbers of equal flows share in whole bit/s.
    services = [36.036 if settings["equal"] else rng.uniform(20, 40) * apart(spread) for _ in range(servers)]
    demand = [sum(r for r, path in zip(rates, paths) if s in path) for s in range(servers)]
    share = max(demand[s] / services[s] for s in range(servers))
    load = rng.uniform(*settings["load"]) / share
    network = {"time_unit": "us", "data_unit": "B", "rate_unit": "Mbps"}
    network["multiplexing"] = settings["order"]
    network["packetizer"] = settings["packets"]
    network["analysis_option"] = ["IS"]
    return {
        "network": network,
        "servers": [a_server(rng, s, rate, settings) for s, rate in enumerate(services)],
        "flows": [a_flow(rng, i, path, rate * load, settings) for i, (path, rate) in enumerate(zip(paths, rates))],
    }


def a_server(rng, index, rate, settings):
    latency = 20.0 if settings["equal"] else rng.uniform(*settings["latency"])
    pieces = range(settings["services"])
    # Early slow pieces; the last one has the long-term rate.
    rates = [rate * 0.7 ** (settings["services"] - 1 - k) for k in pieces]
    latencies = [latency * 3.0**k for k in pieces]
    rates = [r * settings["scale"] for r in rates]
    server = {"name": f"s{index}", "service_curve": {"latencies": latencies, "rates": rates}}
    capacity = settings["capacity"]
    if capacity is not None:
        fastest = max(rates)
        lines = {"least": fastest, "slower": fastest * rng.uniform(0.7, 0.99)}
        server["capacity"] = lines.get(capacity, max(fastest, 100.0 * settings["scale"]))
    return server


def a_flow(rng, index, path, rate, settings):
    bursts = settings["bursts"]
    if bursts == "some":
        burst = rng.choice([0.0, rng.uniform(200, 4000)])
    else:
        burst = 1000.0 if settings["equal"] else rng.uniform(*bursts)
    pieces = range(settings["buckets"])
    rate = round(rate, 9) if settings["equal"] else rate
    rate *= settings["scale"]
    bursts = [burst * settings["scale"] * 0.3**k for k in pieces]
    rates = [rate * 2.0**k for k in pieces]
    arrival = {"bursts": bursts, "rates": rates}
    packet = 50.0 * settings["scale"]
    return {"name": f"f{index}", "path": [f"s{s}" for s in path], "arrival_curve": arrival, "max_packet_length": packet}


def add_branches(rng, graph):
    """A second path for some flows, which leaves the first behind its head."""
    servers = [server["name"] for server in graph["servers"]]
    for flow in graph["flows"]:
        path = flow["path"]
        if rng.random() < 0.5:
            continue
        kept = path[: rng.randint(1, len(path))]
        onward = [s for s in servers if s not in path and int(s[1:]) > int(kept[-1][1:])]
        if onward:
            extra = sorted(rng.sample(onward, rng.randint(1, min(2, len(onward)))), key=lambda s: int(s[1:]))
            flow["multicast"] = [{"name": "p1", "path": kept + extra}]


def add_long_branches(rng, graph):
    """Up to three more paths of a flow, which leave it anywhere and go on along servers that others take in turn."""
    nexts = {}
    for flow in graph["flows"]:
        for here, there in zip(flow["path"], flow["path"][1:]):
            nexts.setdefault(here, set()).add(there)
    for flow in graph["flows"]:
        # A server is reached one way only: paths of a flow make a tree.
        taken = {flow["path"][0]: []}
        for here, there in zip(flow["path"], flow["path"][1:]):
            taken[there] = taken[here] + [here]
        for branch in range(rng.randint(0, 3)):
            path = taken[start := rng.choice(sorted(taken))] + [start]
            while (onward := sorted(nexts.get(path[-1], set()) - set(taken))) and rng.random() < 0.85:
                taken[onward[0]] = list(path)
                path.append(onward[0])
            if path[-1] != start:
                flow.setdefault("multicast", []).append({"name": f"p{branch + 1}", "path": path})


def lengthen_packets(rng, graph):
    """Packets of many lengths, no longer than a burst."""
    for flow in graph["flows"]:
        flow["max_packet_length"] = min(rng.uniform(64, 1500), flow["arrival_curve"]["bursts"][-1])


def spell_units(rng, graph):
    """The same network with units of objects, and with units in strings."""
    for server in graph["servers"]:
        curve = server["service_curve"]
        if rng.random() < 0.5:
            curve["latencies"] = [f"{latency * 1e3}ns" for latency in curve["latencies"]]
            curve["rates"] = [f"{rate / 8 * 1e3}kBps" for rate in curve["rates"]]
            server["capacity"] = f"{server['capacity'] / 1e3}Gbps"
        else:
            server["time_unit"], server["rate_unit"] = "ms", "kbps"
            curve["latencies"] = [latency / 1e3 for latency in curve["latencies"]]
            curve["rates"] = [rate * 1e3 for rate in curve["rates"]]
            server["capacity"] *= 1e3
    for flow in graph["flows"]:
        curve = flow["arrival_curve"]
        if rng.random() < 0.5:
            curve["bursts"] = [f"{burst * 8}b" for burst in curve["bursts"]]
            curve["rates"] = [f"{rate * 60}Mbpm" for rate in curve["rates"]]
        else:
            flow["data_unit"], flow["rate_unit"] = "kb", "Bps"
            curve["bursts"] = [burst * 8 / 1e3 for burst in curve["bursts"]]
            curve["rates"] = [rate * 1e6 / 8 for rate in curve["rates"]]
            flow["max_packet_length"] = flow["max_packet_length"] * 8 / 1e3


def quiet_servers(rng, graph):
    """Some servers without latency; one with at least 1 us, since Saihu fails on none at all."""
    for server in graph["servers"][1:]:
        if rng.random() < 0.5:
            server["service_curve"]["latencies"] = [0.0]


def mix_curves(rng, graph):
    """One to four buckets and one to three rate-latencies, some of which say nothing; lines of any speed."""
    for flow in graph["flows"]:
        curve = flow["arrival_curve"]
        burst, rate = curve["bursts"][0], curve["rates"][0]
        for _ in range(rng.randint(0, 3)):
            curve["bursts"].append(rng.choice([0.0, burst * rng.uniform(0.01, 1.5)]))
            curve["rates"].append(rate * rng.uniform(1.0, 200.0))
    for server in graph["servers"]:
        curve = server["service_curve"]
        rate, latency = curve["rates"][0], curve["latencies"][0]
        for _ in range(rng.randint(0, 2)):
            share = rng.uniform(0.1, 1.0)
            curve["rates"].append(rate * share)
            curve["latencies"].append(latency * rng.uniform(0.1, 2.0) * share)
        if "capacity" in server:
            server["capacity"] = rate * rng.choice([1.0, 1.0, 1.5, 10.0, 1000.0])


def fill_exactly(rng, graph):
    """Every server as fast as what its flows bring, in whole kbit/s."""
    demand = {server["name"]: 0 for server in graph["servers"]}
    for flow in graph["flows"]:
        kbps = rng.randint(100, 9000)
        flow["arrival_curve"]["rates"] = [kbps / 1e3]
        for name in flow["path"]:
            demand[name] += kbps
    for server in graph["servers"]:
        server["service_curve"]["rates"] = [(demand[server["name"]] or 1000) / 1e3]


def exceed_by_little(rng, graph):
    """As above, and one bit/s more of one flow."""
    fill_exactly(rng, graph)
    curve = rng.choice(graph["flows"])["arrival_curve"]
    curve["rates"] = [round(curve["rates"][0] + 1e-6, 6)]


CHANGES = {
    "somelatency": quiet_servers,
    "mixed": mix_curves,
    "exact": fill_exactly,
    "ubitover": exceed_by_little,
}


def as_xml(graph, with_stations=False):
    """The physical network: a switch for every server, a line for every pair, a station for every sink.

    A switch that flows leave by several lines has a server behind each. With stations, flows of one first server come from
    one station in front of it, as fast as that server.
    """
    lines = ["<elements>", f'<network name="{graph["network"]["name"]}" technology="FIFO+IS" overhead="0"/>']
    links = set()
    for server in graph["servers"]:
        curve = server["service_curve"]
        latency, rate = curve["latencies"][0], curve["rates"][0]
        capacity = server.get("capacity", rate)
        lines.append(
            f'<switch name="{server["name"]}" service-latency="{latency}us" service-rate="{rate}Mbps" '
            f'transmission-capacity="{capacity}Mbps"/>'
        )
        if with_stations:
            lines.append(
                f'<station name="e{server["name"]}" service-latency="1us" service-rate="{rate}Mbps" '
                f'transmission-capacity="{rate}Mbps"/>'
            )
    flows = []
    for flow in graph["flows"]:
        path = [f"e{flow['path'][0]}"] * with_stations + flow["path"]
        sink = f"t{flow['name']}"
        links.update(zip(path, path[1:] + [sink]))
        curve = flow["arrival_curve"]
        flows.append(
            f'<flow name="{flow["name"]}" arrival-curve="leaky-bucket" lb-burst="{curve["bursts"][0]}B" '
            f'lb-rate="{curve["rates"][0]}Mbps" maximum-packet-size="50B" source="{path[0]}"><target name="p0">'
        )
        flows += [f'<path node="{node}"/>' for node in path[1:] + [sink]]
        flows.append("</target></flow>")
        lines.append(f'<station name="{sink}"/>')
    for index, (source, target) in enumerate(sorted(links)):
        lines.append(f'<link name="l{index}" from="{source}" fromPort="o{index}" to="{target}" toPort="i{index}"/>')
    return "\n".join(lines + flows + ["</elements>"]) + "\n"
