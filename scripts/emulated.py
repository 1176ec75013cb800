"""`tenuto switch` in an emulated machine, on drivers that no network namespace has: zero-copy AF_XDP, and several processors.

    python3 scripts/emulated.py --kernel linux-image-6.18….deb           # a kernel package of Debian's, kept as a file
    python3 scripts/emulated.py --package NAME=VERSION --suite SUITE --sha256 HEX

Boots the kernel under QEMU without acceleration, with virtio network cards whose other ends are UDP sockets on the loopback
interface: what is sent into a socket is a frame that the guest's card receives, and the other way about. Each frame that comes back
is compared, and its order. By hand, not in CI: it wants a download of 50 MB or that file, and some minutes.

Wants qemu-system-x86, busybox-static, ethtool, iproute2, cpio and xz; no rights.
"""

import argparse
import contextlib
import hashlib
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

MODULES = ["net/core/failover", "drivers/net/net_failover", "drivers/net/virtio_net", "net/xdp/xsk_diag"]
APPLETS = "basename cut readlink sh mount insmod ip cat echo sleep ls kill ps grep mkdir poweroff dmesg stty setsid wc".split()
INIT = """#!/bin/sh
mount -t devtmpfs dev /dev; mount -t proc proc /proc; mount -t sysfs sys /sys
for module in /modules/*.ko; do insmod $module; done
ip link set lo up
stty -F /dev/ttyS0 raw -echo
echo '<'0'>' >/dev/ttyS0
exec setsid sh -c 'while read -r line; do eval "$line"; done' </dev/ttyS0 >/dev/ttyS0 2>&1
"""
# TCG on a busy machine is slow; nothing waits so long unless it is broken.
PATIENCE_S = 120.0
# Frames under way at a time: fewer than every ring and socket on the way holds.
WINDOW = 24
SWITCH_PORT = 6634


def initramfs(directory, kernel_tree, tenuto):
    """An archive with the program under test, its libraries, busybox and the modules."""
    root = os.path.join(directory, "root")
    for part in ("bin", "dev", "proc", "sys", "tmp", "modules"):
        os.makedirs(os.path.join(root, part))
    shutil.copy(shutil.which("busybox"), os.path.join(root, "bin/busybox"))
    for applet in APPLETS:
        os.symlink("busybox", os.path.join(root, "bin", applet))
    for name, program in (("tenuto", tenuto), ("ethtool", shutil.which("ethtool")), ("ss", shutil.which("ss"))):
        target = os.path.join(root, "bin", name)
        subprocess.run(["strip", "--strip-debug", "-o", target, program], check=True)
        libraries = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
        for library in re.findall(r"(/\S+) \(", libraries):
            os.makedirs(root + os.path.dirname(library), exist_ok=True)
            shutil.copy(library, root + library)
    base = os.path.join(kernel_tree, "usr/lib/modules")
    base = os.path.join(base, os.listdir(base)[0], "kernel")
    for number, module in enumerate(MODULES):
        with open(os.path.join(root, f"modules/{number}.ko"), "wb") as target:
            subprocess.run(["xz", "-dc", os.path.join(base, module + ".ko.xz")], check=True, stdout=target)
    with open(os.path.join(root, "init"), "w", encoding="ascii") as target:
        target.write(INIT)
    os.chmod(os.path.join(root, "init"), 0o755)
    archive = os.path.join(directory, "initramfs")
    with open(archive, "wb") as target:
        subprocess.run("find . | cpio -o -H newc --quiet", shell=True, check=True, cwd=root, stdout=target)
    return archive


class Cable:
    """The outer end of one of the guest's cards."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.setblocking(False)
        self.port = self.socket.getsockname()[1]
        self.guest = free_port(socket.SOCK_DGRAM)

    def device(self, number, more):
        ends = f"local.type=inet,local.host=127.0.0.1,local.port={self.guest},"
        ends += f"remote.type=inet,remote.host=127.0.0.1,remote.port={self.port}"
        card = f"virtio-net-pci,netdev=n{number},id=card{number},mac=02:00:00:00:01:{number:02x},disable-legacy=on"
        card = ",".join(filter(None, [card, more]))
        return ["-netdev", f"dgram,id=n{number},{ends}", "-device", card]

    def send(self, frame):
        self.socket.sendto(frame, ("127.0.0.1", self.guest))

    def received(self, wait_s):
        """A frame, or None if none came for so long."""
        if not select.select([self.socket], [], [], wait_s)[0]:
            return None
        return self.socket.recv(4096)


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Guest:
    """A running machine: a shell on its second serial line, and its cards' cables."""

    def __init__(self, directory, kernel, archive, processors, cards):
        self.cables = [Cable() for _ in cards]
        self.openflow_at = free_port(socket.SOCK_STREAM)
        monitor = os.path.join(directory, f"monitor-{processors}")
        command = ["qemu-system-x86_64", "-machine", "q35,accel=tcg", "-cpu", "max", "-smp", str(processors), "-m", "768",
                   "-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio",
                   "-monitor", f"unix:{monitor},server=on,wait=off", "-kernel", kernel, "-initrd", archive,
                   "-append", "console=ttyS0 quiet panic=-1 mitigations=off ipv6.disable=1"]
        for number, (cable, card) in enumerate(zip(self.cables, cards)):
            command += cable.device(number, card)
        forward = f"user,id=control,restrict=on,hostfwd=tcp:127.0.0.1:{self.openflow_at}-:{SWITCH_PORT}"
        command += ["-netdev", forward, "-device", "virtio-net-pci,netdev=control,mac=02:00:00:00:02:01"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.heard = b""
        self.asked = 0
        self.monitor_at = monitor
        self.hear("its start")
        self.control = f"eth{len(cards)}"
        self.run(f"ip addr add 10.0.2.15/24 dev {self.control}; ip link set {self.control} up")
        for number in range(len(cards)):
            self.run(f"ip link set eth{number} up")

    def run(self, command):
        """What a command of the guest's shell prints."""
        self.asked += 1
        self.process.stdin.write(f"{command}\necho '<'{self.asked}'>'\n".encode())
        self.process.stdin.flush()
        return self.hear(command)

    def hear(self, command):
        """What is printed until the mark behind a command."""
        mark = f"<{self.asked}>"
        until = time.monotonic() + PATIENCE_S
        while mark.encode() not in self.heard:
            if not select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                raise SystemExit(f"the guest does not answer `{command}`: {self.heard[-2000:].decode(errors='replace')}")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise SystemExit(f"the guest has ended: {self.heard[-2000:].decode(errors='replace')}")
            self.heard += more
        said, self.heard = self.heard.split(mark.encode(), 1)
        return said.decode(errors="replace").strip()

    def until(self, command, part):
        """Repeats a command until its output has this in it."""
        until = time.monotonic() + PATIENCE_S
        while part not in (said := self.run(command)):
            if time.monotonic() > until:
                raise SystemExit(f"`{command}` never said `{part}`, but: {said}")
            time.sleep(0.2)
        return said

    def set_link(self, number, is_on):
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.connect(self.monitor_at)
            for line in ("", f"set_link n{number} {'on' if is_on else 'off'}\n"):
                monitor.sendall(line.encode())
                said = b""
                # Its prompt comes first, and again behind what it has echoed.
                while not said.endswith(b"(qemu) ") or line[:-1].encode() and b"\n" not in said:
                    said += monitor.recv(4096)

    def start(self, *more, ports, kind="xdp"):
        """Starts a switch, waits for it and gives it its two entries; what it said."""
        flags = " ".join(f"--port {port},kind={kind}" for port in ports)
        flags = f"--name s1 --datapath-id 1 {flags} --fail-mode secure --listen ptcp:0.0.0.0:{SWITCH_PORT} {' '.join(more)}"
        self.run(f"tenuto switch {flags} >/tmp/out 2>/tmp/said & echo $! > /tmp/pid")
        said = self.until("cat /tmp/said", "is up")
        with OpenFlow(self.openflow_at) as switch:
            switch.forward(1, 2)
            switch.forward(2, 1)
        return said

    def stop(self, signal="TERM"):
        self.run(f"kill -{signal} $(cat /tmp/pid); wait")
        return self.run("cat /tmp/out /tmp/said")

    def ports(self):
        """Per port: frames received, sent, and not taken by the device."""
        with OpenFlow(self.openflow_at) as switch:
            return switch.ports()

    def close(self):
        self.process.kill()
        self.process.wait()


class OpenFlow:
    """As much of OpenFlow 1.3 as is wanted here."""

    def __init__(self, port):
        until = time.monotonic() + PATIENCE_S
        while True:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
            try:
                self.send(0, b"")
                self.wait(0)
                return
            except OSError:
                self.socket.close()
                if time.monotonic() > until:
                    raise
                time.sleep(0.3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, kind, body):
        self.socket.sendall(struct.pack("!BBHI", 4, kind, 8 + len(body), 1) + body)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise OSError("the connection was closed")
            data += more
        return data

    def wait(self, kind):
        while True:
            _, found, length, _ = struct.unpack("!BBHI", self.exactly(8))
            body = self.exactly(length - 8)
            if found == 1:
                raise SystemExit(f"the switch refuses: {body.hex()}")
            if found == kind:
                return body

    def forward(self, source, target):
        match = struct.pack("!HHIII", 1, 12, 0x80000004, source, 0)
        actions = struct.pack("!HHIH6x", 0, 16, target, 0)
        entry = struct.pack("!QQBBHHHIIIH2x", 0, 0, 0, 0, 0, 0, 5, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
        self.send(14, entry + match + struct.pack("!HH4x", 4, 8 + len(actions)) + actions)
        self.send(20, b"")
        self.wait(21)

    def ports(self):
        self.send(18, struct.pack("!HH4xI4x", 4, 0, 0xFFFFFFFF))
        body = self.wait(19)[8:]
        found = {}
        for at in range(0, len(body), 112):
            number, = struct.unpack_from("!I", body, at)
            received, sent = struct.unpack_from("!QQ", body, at + 8)
            found[number] = (received, sent, struct.unpack_from("!Q", body, at + 48)[0])
        return found


def numbered(number, size, tag=None):
    """A frame without FCS of `size` bytes with its number, of a protocol that is nobody's."""
    head = bytes.fromhex("0200000000020200000000 01".replace(" ", ""))
    if tag is not None:
        head += struct.pack("!HH", 0x8100, tag)
    return (head + struct.pack("!HI", 0x88B5, number)).ljust(size, bytes([number & 255]))


def cross(source, target, count, size, tag=None):
    """Sends frames, never more than a window at a time, and demands each of them back in order."""
    sent = heard = 0
    while heard < count:
        while sent < count and sent - heard < WINDOW:
            source.send(numbered(sent, size, tag))
            sent += 1
        frame = target.received(PATIENCE_S)
        if frame != numbered(heard, size, tag):
            found = "nothing" if frame is None else frame[:24].hex()
            raise SystemExit(f"frame {heard} of {count} with {size} B: {found} came instead")
        heard += 1


def drain(cable, quiet_s=1.0):
    """Takes what still comes; how many that was."""
    count = 0
    while cable.received(quiet_s) is not None:
        count += 1
    return count


# The driver's zero-copy wants the kernel's own mapping of memory for the device.
ZERO_COPY = "iommu_platform=on"
MODE = "native zero-copy"


def say(text):
    print(text, flush=True)


def both_ways(guest, count, size, tag=None):
    left, right = guest.cables[:2]
    cross(left, right, count, size, tag)
    cross(right, left, count, size, tag)


def demand(holds, text):
    if not holds:
        raise SystemExit(text)


def start_in_zero_copy(guest, *more):
    said = guest.start(*more, ports=["eth0", "eth1"])
    demand(said.count(MODE) == 2, f"not in zero-copy: {said}")


def same_memory(guest):
    """Sockets as the kernel shows them: both in zero-copy, both on the same memory."""
    sockets = guest.run("ss --xdp -e")
    memories = re.findall(r"umem\(id:(\d+),.*zc:(\d)", sockets)
    demand(len(memories) == 2 and len(set(memories)) == 1 and memories[0][1] == "1", sockets)


def frames_pass(guest):
    before = guest.ports()
    for size in (60, 64, 1500, 1514):
        both_ways(guest, 500, size)
    both_ways(guest, 300, 64, tag=0x0001)
    both_ways(guest, 300, 1518, tag=0x6064)
    after = guest.ports()
    for port in (1, 2):
        passed = tuple(b - a for a, b in zip(before[port], after[port]))
        demand(passed == (2600, 2600, 0), f"counters of port {port}: {before} and then {after}")
    say("60, 64, 1500 and 1514 B, tagged too: 2600 each way, whole, in order and counted")


def flood(guest):
    """More frames than the memory has chunks, as fast as they go: some are lost on the way, and no chunk with them."""
    left, right = guest.cables[:2]
    for number in range(12_000):
        left.send(numbered(number, 60))
    through = drain(right, 10.0)
    both_ways(guest, 500, 1514)
    say(f"a flood of 12000, of which {through} came through; then 500 each way")


def links(guest):
    left, right = guest.cables[:2]
    guest.set_link(1, False)
    guest.until("cat /tmp/said", "link eth1 is down")
    guest.set_link(1, True)
    guest.until("cat /tmp/said", "link eth1 is up")
    both_ways(guest, 100, 64)
    say("a carrier lost and found again: 100 each way")
    guest.run("ip link set eth1 down")
    refused = guest.ports()[2][2]
    for number in range(200):
        left.send(numbered(number, 60))
        time.sleep(0.01)
    until = time.monotonic() + PATIENCE_S
    while (count := guest.ports()[2][2] - refused) < 200 and time.monotonic() < until:
        time.sleep(0.2)
    demand(count == 200, f"{count} of 200 refused while eth1 is off")
    guest.run("ip link set eth1 up")
    lost = first_through(left, right)
    both_ways(guest, 100, 64)
    say(f"switched off: 200 refused and none late; on again, {lost} lost until one was through, then 100 each way")


def first_through(source, target):
    """Sends frames until one is through; how many were lost before. None from earlier may come."""
    for number in range(400):
        source.send(numbered(1 << 20 | number, 60))
        frame = target.received(0.5)
        if frame is not None:
            found, = struct.unpack_from("!I", frame, 14)
            demand(found >= 1 << 20, f"a frame from before: {frame[:24].hex()}")
            drain(target)
            return found - (1 << 20)
    raise SystemExit("nothing passes any more")


def killed(guest):
    guest.stop("KILL")
    start_in_zero_copy(guest)
    both_ways(guest, 200, 1514)
    say("killed and started again: in zero-copy, 200 each way")


def removed(guest, modes):
    """The second card is taken from its driver and given back: an interface of the same name with another index."""
    left, right = guest.cables[:2]
    device = guest.run("basename $(readlink -f /sys/class/net/eth1/device)")
    driver = "/sys/bus/virtio/drivers/virtio_net"
    guest.run(f"echo {device} > {driver}/unbind")
    guest.until("cat /tmp/said", "port eth1 is lost")
    guest.run(f"echo {device} > {driver}/bind; ip link set eth1 up")
    guest.until("cat /tmp/said", "port eth1 is back")
    said = guest.until("cat /tmp/said; echo .", "link eth1 is up")
    demand(said.count(MODE) == modes, f"{modes} times in zero-copy, but: {said}")
    first_through(left, right)
    both_ways(guest, 200, 64)
    say("removed and made again: 200 each way")


def no_complaint(guest):
    console = guest.run("dmesg | grep -E -A 12 'WARNING: |BUG: |Oops|Call Trace|soft lockup'; true")
    demand(not console, f"the kernel complains: {console}")


def zero_copy(guest):
    start_in_zero_copy(guest)
    same_memory(guest)
    say("two cards in zero-copy on the same memory")
    for part in (frames_pass, flood, links, killed):
        part(guest)
    removed(guest, 3)
    guest.stop()
    no_complaint(guest)


def fallback(guest):
    """Without that mapping the driver refuses zero-copy, and a copy is made."""
    said = guest.start(ports=["eth0", "eth1"])
    demand(MODE + ":" in said and said.count("AF_XDP in mode native copy") == 2, said)
    both_ways(guest, 200, 1514)
    say("zero-copy refused, native copy taken: 200 each way; " + said.splitlines()[0])
    guest.stop()
    no_complaint(guest)


THREADS = """for task in /proc/$(cat /tmp/pid)/task/*; do
echo $(cat $task/comm) $(grep Cpus_allowed_list $task/status) $(cut -d' ' -f40,41 $task/stat); done; grep VmLck /proc/$(cat /tmp/pid)/status"""


def threads(guest):
    """Two threads at the devices and one that decides, each on a processor of its own."""
    flags = "--io-threads 2 --io-processors 2,3 --processor 1 --fifo 40 --lock-memory --wait"
    for kind in ("xdp", "packet-ring"):
        for wait in ("adaptive", "block", "spin"):
            said = guest.start(flags, wait, ports=["eth0", "eth1"], kind=kind)
            warnings = [line for line in said.splitlines() if "warning" in line and "rests for" not in line]
            demand(not warnings, said)
            for size in (60, 1514):
                both_ways(guest, 500, size)
            if wait == "adaptive":
                say(guest.run(THREADS.replace("\n", " ")))
                removed(guest, 3 if kind == "xdp" else 0)
            guest.stop()
            say(f"{kind}, {wait}: 1000 each way, whole and in order")
    no_complaint(guest)


PARTS = {
    "zero-copy": (2, [ZERO_COPY, ZERO_COPY], zero_copy),
    "fallback": (2, ["", ""], fallback),
    "threads": (4, [ZERO_COPY, ZERO_COPY], threads),
}


KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def package(arguments, directory):
    """The kernel package: a file, or fetched with apt from the mirror that this machine uses, into lists of its own."""
    if arguments.kernel:
        return arguments.kernel
    sites = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Origin: Debian"],
                           check=True, capture_output=True, text=True).stdout.split()
    lists = os.path.join(directory, "apt")
    for part in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(lists, part))
    with open(os.path.join(lists, "sources.list"), "w", encoding="utf-8") as target:
        target.write(f"deb [signed-by={KEYRING}] {sites[0]} {arguments.suite} main\n")
    settings = {"Dir::Etc::sourcelist": lists + "/sources.list", "Dir::Etc::sourceparts": "-", "Dir::State::lists": lists + "/lists",
                "Dir::Cache": lists + "/cache", "APT::Sandbox::User": ""}
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    subprocess.run(["apt-get", *options, "-qq", "update"], check=True)
    subprocess.run(["apt-get", *options, "-qq", "download", arguments.package], check=True, cwd=directory)
    return next(os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".deb"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", metavar="FILE", help="a kernel package of Debian's")
    parser.add_argument("--package", metavar="NAME=VERSION", help="fetched with apt instead")
    parser.add_argument("--suite", default="trixie-backports", help="where it is (default: %(default)s)")
    parser.add_argument("--sha256", help="of the package")
    parser.add_argument("--tenuto", default=os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "debug/tenuto"))
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all unless said")
    arguments = parser.parse_args()
    # The machine ends with us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    if bool(arguments.kernel) == bool(arguments.package) or not set(arguments.parts) <= set(PARTS):
        parser.error("one of --kernel and --package, and parts that there are")
    with tempfile.TemporaryDirectory() as directory:
        found = package(arguments, directory)
        with open(found, "rb") as source:
            digest = hashlib.sha256(source.read()).hexdigest()
        if arguments.sha256 not in (None, digest):
            raise SystemExit(f"{found}: its SHA-256 is {digest}")
        tree = os.path.join(directory, "kernel")
        subprocess.run(["dpkg-deb", "-x", found, tree], check=True)
        kernel = next(name for name in os.listdir(tree + "/boot") if name.startswith("vmlinuz"))
        say(f"{kernel}, SHA-256 of its package {digest}")
        archive = initramfs(directory, tree, arguments.tenuto)
        for name in arguments.parts or PARTS:
            processors, cards, part = PARTS[name]
            say(f"== {name}: {processors} processors")
            guest = Guest(directory, f"{tree}/boot/{kernel}", archive, processors, cards)
            with contextlib.closing(guest):
                part(guest)


if __name__ == "__main__":
    main()
