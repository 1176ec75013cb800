"""Random networks in Saihu's output-port JSON and in the XML of xTFA, by kind and seed."""

import json
import random

# What is not listed in a kind stays as here.
PLAIN = {
    "order": "FIFO",
    "shape": "forward",
    "capacity": 100.0,  # Mbit/s, "least" for the service rate itself, None for no line
    "load": (0.3, 0.85),
    "latency": (1.0, 50.0),  # µs
    "buckets": 1,
    "services": 1,
    "packets": False,
    "scale": 1.0,
    "equal": False,
    "longest": 5,
    "style": "plain",
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
    if settings["style"] == "multicast":
        add_branches(rng, graph)
    if settings["style"] == "units":
        spell_units(rng, graph)
    return f"{kind}-{seed}.json", json.dumps(graph, indent=1)


def draw(rng, settings):
    """A network in Mbit/s, bytes and µs."""
    servers, paths = SHAPES[settings["shape"]](rng, settings)
    rates = [1.0] * len(paths) if settings["equal"] else [rng.uniform(0.5, 1.0) for _ in paths]
    # A rate that whole numbers of equal flows share in whole bit/s.
    services = [36.036 if settings["equal"] else rng.uniform(20, 40) for _ in range(servers)]
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
        server["capacity"] = fastest if capacity == "least" else capacity * settings["scale"]
    return server


def a_flow(rng, index, path, rate, settings):
    burst = 1000.0 if settings["equal"] else rng.uniform(200, 4000)
    pieces = range(settings["buckets"])
    rate = round(rate, 9) if settings["equal"] else rate
    rate *= settings["scale"]
    bursts = [burst * settings["scale"] * 0.3**k for k in pieces]
    rates = [rate * 2.0**k for k in pieces]
    arrival = {"bursts": bursts, "rates": rates}
    packet = 50.0 * settings["scale"]
    return {"name": f"f{index}", "path": [f"s{s}" for s in path], "arrival_curve": arrival, "max_packet_length": packet}


def forward(rng, settings):
    servers = rng.randint(5, 9)
    longest = min(settings["longest"], servers)
    flows = rng.randint(4, 16)
    return servers, [sorted(rng.sample(range(servers), rng.randint(1, longest))) for _ in range(flows)]


def cyclic(rng, _settings):
    servers = rng.randint(3, 7)
    turns = [(rng.randrange(servers), rng.randint(2, servers)) for _ in range(rng.randint(3, 10))]
    return servers, [[(first + i) % servers for i in range(length)] for first, length in turns]


def ring(rng, _settings):
    """Every flow goes all the way round."""
    servers = rng.randint(3, 8)
    return servers, [[(first + i) % servers for i in range(servers)] for first in range(servers)]


def tandem(rng, _settings):
    """One flow over all servers, one across each pair of neighbours."""
    servers = rng.randint(3, 9)
    return servers, [list(range(servers))] + [[s, s + 1] for s in range(servers - 1)]


def interleaved(rng, _settings):
    servers = rng.randint(3, 7)
    paths = [list(range(servers))]
    for _ in range(rng.randint(3, 9)):
        first = rng.randrange(servers)
        paths.append(list(range(first, rng.randint(first, servers - 1) + 1)))
    return servers, paths


def mesh(rng, _settings):
    """All ways through two rows of servers into one."""
    levels = rng.randint(2, 4)
    ways = [[2 * level + (way >> level & 1) for level in range(levels)] for way in range(2**levels)]
    return 2 * levels + 1, [way + [2 * levels] for way in ways]


def sourcesink(rng, _settings):
    """Every flow from its own first server to the last; flows join on the way."""
    servers = rng.randint(3, 8)
    return servers, [list(range(first, servers)) for first in range(servers)]


def sinktree(rng, _settings):
    servers = rng.randint(4, 8)
    onward = [rng.randint(s + 1, servers - 1) for s in range(servers - 1)] + [servers]
    paths = []
    for _ in range(rng.randint(4, 10)):
        at = rng.randrange(servers - 1)
        path = [at]
        while onward[at] < servers and (len(path) < 2 or rng.random() < 0.8):
            at = onward[at]
            path.append(at)
        paths.append(path)
    return servers, paths


SHAPES = {
    "forward": forward,
    "cyclic": cyclic,
    "ring": ring,
    "tandem": tandem,
    "interleaved": interleaved,
    "mesh": mesh,
    "sourcesink": sourcesink,
    "sinktree": sinktree,
}


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


def as_xml(graph):
    """The physical network: a switch for every server, a line for every pair, a station for every sink.

    A switch that flows leave by several lines has a server behind each.
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
    flows = []
    for flow in graph["flows"]:
        path = flow["path"]
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
