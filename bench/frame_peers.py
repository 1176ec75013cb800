"""panco's bounds of frame networks, class by class under static priority: bits that flow, and whole frames.

Saihu offers none of it. Numbers in kbit and ms, with which lp_solve's six digits go furthest.
"""

import sys

from frame_networks import ports_of, rate_of, wire_bits


def load(folder):
    """Makes `folder` the panco that is imported; Saihu has one of its own, without static priorities."""
    for name in [name for name in sys.modules if name.split(".")[0] == "panco"]:
        del sys.modules[name]
    sys.path[:0] = [folder]
    import panco.lpSolvePath

    panco.lpSolvePath.LPSOLVEPATH = ["lp_solve", "-S3"]


def bounds(network, order, whole_frames, method):
    """Seconds per flow (of unicast flows, one class after the other) by `method`, TFA or PLP.

    `order` are the ports, each before those behind it. With whole frames every port on the way (but those to hosts) hands
    a frame on when its last bit is there: it serves a largest frame later, and its line lets a largest frame pass at once.
    """
    from panco.descriptor.curves import RateLatency, TokenBucket
    from panco.descriptor.server import Server
    from panco.fifo.fifoLP import FifoLP
    from panco.fifo.tfaLP import TfaLP
    from panco.staticpriorities.spFlow import SpFlow
    from panco.staticpriorities.spNetwork import SpNetwork

    place = {port: index for index, port in enumerate(order)}
    hosts = set(network["hosts"])
    servers = [
        Server([RateLatency(rate_of(network, p), network["switches"].get(p[0], 0.0) / 1e3)], [TokenBucket(0, rate_of(network, p))])
        for p in order
    ]
    classes = sorted({flow["priority"] for flow in network["flows"]})
    flows = [flow for level in classes for flow in network["flows"] if flow["priority"] == level]
    given = []
    for flow in flows:
        (way,) = ports_of(flow).values()
        kbit = wire_bits(flow) / 1e3
        curve = [TokenBucket(kbit, kbit / flow["period"] * 1e6)]
        given.append(SpFlow(curve, [place[port] for port in way], kbit, classes.index(flow["priority"])))

    class OfFrames(SpNetwork):
        def per_class_network(self, k, is_strict):
            found = super().per_class_network(k, is_strict)
            for index, (port, server) in enumerate(zip(order, found.servers)):
                longest = self.max_length[index][k]
                server.max_service_curve = [TokenBucket(longest, rate_of(network, port))]
                if port[1] not in hosts:
                    late = longest / rate_of(network, port)
                    server.service_curve = [RateLatency(c.rate, c.latency + late) for c in server.service_curve]
            return found

    delays = []
    for of_class in (OfFrames if whole_frames else SpNetwork)(servers, given).equiv_network(False):
        if method == "TFA":
            delays += list(TfaLP(of_class).all_delays)
        else:
            delays += list(FifoLP(of_class, polynomial=True, sfa=False, tfa=True).all_delays)
    return {flow["name"]: float(delay) / 1e3 for flow, delay in zip(flows, delays)}
