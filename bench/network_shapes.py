"""Shapes of random networks: how many servers, and the path of every flow."""


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


def sourcetree(rng, _settings):
    """Every flow from one first server towards another leaf: flows part on the way."""
    servers = rng.randint(4, 9)
    before = [None] + [rng.randint(max(0, s - 3), s - 1) for s in range(1, servers)]

    def way(server):
        return [] if server is None else way(before[server]) + [server]

    paths = [way(rng.randrange(1, servers)) for _ in range(rng.randint(4, 12))]
    # Some join late.
    return servers, [path[rng.choice([0, 0, 0, len(path) // 2]) :] for path in paths]


def twoservers(rng, _settings):
    """Many flows across each of two servers, and some over both."""
    return 2, [rng.choice([[0], [1], [0, 1]]) for _ in range(rng.randint(8, 24))] + [[0, 1]]


def branches(rng, _settings):
    """Servers in a tree of their own, for flows with long branches, and a way past it."""
    servers = rng.randint(7, 11)
    paths = []
    for _ in range(rng.randint(4, 9)):
        path = [rng.randrange(3)]
        while path[-1] + 1 < servers and (len(path) < 2 or rng.random() < 0.7):
            path.append(rng.randint(path[-1] + 1, min(path[-1] + 3, servers - 1)))
        paths.append(path)
    return servers, paths


def fewring(rng, _settings):
    """Two to four flows, each nearly all the way round."""
    servers = rng.randint(3, 9)
    turns = [(rng.randrange(servers), rng.randint(servers - 1, servers)) for _ in range(rng.randint(2, 4))]
    return servers, [[(first + i) % servers for i in range(length)] for first, length in turns]


def longtandem(rng, _settings):
    """Many servers in a row; flows over a few each, and one over all."""
    servers = rng.randint(10, 16)
    paths = [list(range(servers))]
    for _ in range(rng.randint(8, 16)):
        first = rng.randrange(servers - 1)
        paths.append(list(range(first, min(servers, first + rng.randint(1, 5)))))
    return servers, paths


def shuffled(rng, settings):
    """As forward, with servers in no order of their names."""
    servers, paths = forward(rng, settings)
    names = rng.sample(range(servers), servers)
    return servers, [[names[s] for s in path] for path in paths]


def fattree(rng, _settings):
    """Two pods of two edge and two upper switches below two cores: one server per line and direction."""
    names, paths = {}, []

    def port(here, there):
        return names.setdefault((here, there), len(names))

    for _ in range(rng.randint(6, 18)):
        (pod, edge), (to, leaf) = rng.sample([(p, e) for p in range(2) for e in range(2)], 2)
        host, up = rng.randrange(2), rng.randrange(2)
        nodes = [("edge", pod, edge), ("up", pod, up)]
        nodes += [("core", up), ("up", to, up)] if to != pod else []
        nodes += [("edge", to, leaf), ("host", to, leaf, host)]
        paths.append([port(*pair) for pair in zip(nodes, nodes[1:])])
    return len(names), paths


def dumbbell(rng, _settings):
    """Ends on both sides of one line."""
    left, right = rng.randint(2, 5), rng.randint(2, 5)
    flows = rng.randint(max(left, right), 12)
    return left + 1 + right, [[rng.randrange(left), left, left + 1 + rng.randrange(right)] for _ in range(flows)]


def parkinglot(rng, _settings):
    """One flow over all servers; at each some enter that leave behind it, or go on to the end."""
    servers = rng.randint(3, 9)
    paths = [list(range(servers))]
    for first in range(servers):
        paths += [list(range(first, rng.choice([first + 1, servers]))) for _ in range(rng.randint(1, 2))]
    return servers, paths


def nested(rng, _settings):
    """Each flow within the way of the one before."""
    servers = rng.randint(4, 10)
    paths, first, last = [], 0, servers
    while last - first > 0:
        paths += [list(range(first, last))] * rng.randint(1, 2)
        first, last = first + rng.randint(0, 1), last - rng.randint(0, 1)
        if len(paths) > 14:
            break
    return servers, paths


def diamonds(rng, _settings):
    """Flows part in two ways and meet again, several times."""
    count = rng.randint(2, 3)
    paths = []
    for _ in range(rng.randint(4, 12)):
        first = rng.randrange(count)
        path = []
        for at in range(first, rng.randint(first, count - 1) + 1):
            path += [3 * at, 3 * at + rng.randint(1, 2)]
        paths.append(path + ([3 * count] if rng.random() < 0.5 else []))
    paths = [[s for s in path if s < 3 * count or path[-2] >= 3 * count - 2] for path in paths]
    return 3 * count + 1, paths


def in_grid(rng, side, wraps):
    """Output ports of a square of switches; east or west first, then north or south."""
    names, paths = {}, []
    for _ in range(rng.randint(5, 16)):
        x, y, to_x, to_y = (rng.randrange(side) for _ in range(4))
        path = []
        while x != to_x:
            step = 1 if wraps or to_x > x else -1
            path.append(names.setdefault((x, y, step, 0), len(names)))
            x = (x + step) % side
        while y != to_y:
            step = 1 if wraps or to_y > y else -1
            path.append(names.setdefault((x, y, 0, step), len(names)))
            y = (y + step) % side
        path.append(names.setdefault((x, y, "host"), len(names)))
        paths.append(path)
    return len(names), paths


def grid(rng, _settings):
    return in_grid(rng, rng.randint(2, 4), False)


def torus(rng, _settings):
    return in_grid(rng, rng.randint(3, 4), True)


def starofrings(rng, _settings):
    """Rings with a hub in common; flows go along a ring, over the hub and along another."""
    rings, size = rng.randint(2, 3), rng.randint(2, 4)
    paths = []
    for _ in range(rng.randint(5, 12)):
        ring = rng.randrange(rings)
        path = [1 + ring * size + at for at in range(rng.randrange(size), size)]
        if rng.random() < 0.7:
            other = rng.choice([r for r in range(rings) if r != ring])
            path += [0] + [1 + other * size + at for at in range(rng.randint(1, size))]
        elif rng.random() < 0.5 and len(path) < size:
            path += [1 + ring * size + at for at in range(size - len(path))]
        paths.append(path)
    return 1 + rings * size, paths


def twinrings(rng, _settings):
    """Two rings that share two servers in a row."""
    sizes = rng.randint(3, 5), rng.randint(3, 5)
    first = list(range(sizes[0]))
    second = [0, 1] + list(range(sizes[0], sizes[0] + sizes[1] - 2))
    paths = []
    for _ in range(rng.randint(4, 9)):
        ring = rng.choice([first, second])
        at = rng.randrange(len(ring))
        paths.append([ring[(at + i) % len(ring)] for i in range(rng.randint(2, len(ring)))])
    return sizes[0] + sizes[1] - 2, paths


def counterrings(rng, _settings):
    """Both directions of a ring, whose flows leave by the same ports."""
    size = rng.randint(3, 5)
    paths = []
    for _ in range(rng.randint(5, 12)):
        at, hops, turn = rng.randrange(size), rng.randint(1, size - 1), rng.choice([0, 1])
        way = [(at + i * (1 - 2 * turn)) % size for i in range(hops)]
        end = (at + hops * (1 - 2 * turn)) % size
        paths.append([turn * size + server for server in way] + [2 * size + end])
    return 3 * size, paths


def crowd(rng, _settings):
    """Very many flows on few ways."""
    servers = rng.randint(4, 8)
    ways = [sorted(rng.sample(range(servers), rng.randint(1, min(4, servers)))) for _ in range(rng.randint(4, 12))]
    return servers, [rng.choice(ways) for _ in range(rng.randint(80, 240))]


def alone(rng, _settings):
    """Each flow by itself, servers that nobody comes to, and two that meet once."""
    count = rng.randint(2, 4)
    paths = [[3 * f + i for i in range(rng.randint(1, 3))] for f in range(count)]
    return 3 * count + 2, paths + [[3 * count], [3 * count]]


SHAPES = {
    "fattree": fattree,
    "dumbbell": dumbbell,
    "parkinglot": parkinglot,
    "nested": nested,
    "diamonds": diamonds,
    "grid": grid,
    "torus": torus,
    "starofrings": starofrings,
    "twinrings": twinrings,
    "counterrings": counterrings,
    "crowd": crowd,
    "alone": alone,
    "sourcetree": sourcetree,
    "twoservers": twoservers,
    "branches": branches,
    "fewring": fewring,
    "longtandem": longtandem,
    "shuffled": shuffled,
    "forward": forward,
    "cyclic": cyclic,
    "ring": ring,
    "tandem": tandem,
    "interleaved": interleaved,
    "mesh": mesh,
    "sourcesink": sourcesink,
    "sinktree": sinktree,
}
