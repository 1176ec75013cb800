"""Prints the OpenFlow 1.3 switch tests that ship with os-ken as lines a test runner can follow.

Needs os-ken. The tests are JSON: messages to install, and packets as expressions over os-ken's
packet library. What is printed has bytes in their place, a line each:

    test GROUP TAB FILE TAB DESCRIPTION
    install MESSAGE                 a flow-, group- or meter-mod
    send FRAME                      one frame into port 1
    stream PACKETS_PER_S SECONDS    the frames that follow, one after the other, over and over
    frame FRAME
    egress FRAME                    what must leave by port 2
    packet_in FRAME                 what must come to the controller
    miss TABLE,TABLE                tables that look it up and do not match
    rate UNIT VALUE MESSAGE         what must leave per second, in kbps (of 1024 bits) or pktps, of
                                    the frames that the match of this flow-mod takes behind port 2, 3
    end

Bytes are hexadecimal; XX*N stands for N bytes XX. One fault of the suite is mended here: os-ken
computes the checksum of SCTP over the text of a bytearray under Python 3.
"""

import inspect
import json
import os
import sys
from random import randint, seed

import netaddr

import os_ken
from os_ken.lib import packet as packet_folder
from os_ken.lib.packet import sctp
from os_ken.ofproto import ofproto_parser, ofproto_protocol, ofproto_v1_3, ofproto_v1_3_parser

PACKAGE = "os_ken.lib.packet"
# Two modules call something by the same name; the tests use these names for one of them.
RENAMED = {
    ("ipv6", "option"): "ipv6option",
    ("icmpv6", "echo"): "icmpv6echo",
    ("dhcp", "option"): "dhcpoption",
    ("dhcp", "options"): "dhcpoptions",
}


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def sctp_checksum(_self, data):
    # Least byte first; the library packs the number big-endian.
    return int.from_bytes(crc32c(bytes(data)).to_bytes(4, "little"), "big")


def names():
    """Every class of the packet library, by the name that the tests use."""
    found = {"netaddr": netaddr, "randint": randint}
    modules = [name[:-3] for name in os.listdir(os.path.dirname(packet_folder.__file__))
               if name.endswith(".py") and not name.startswith("_")]
    for name in sorted(modules):
        try:
            module = __import__(f"{PACKAGE}.{name}", fromlist=[name])
        except ImportError:
            continue
        for class_name, value in inspect.getmembers(module, inspect.isclass):
            if value.__module__ == module.__name__:
                found.setdefault(RENAMED.get((name, class_name), class_name), value)
    return found


class Datapath(ofproto_protocol.ProtocolDesc):
    """Enough of a connection for messages to be written."""

    def __init__(self):
        super().__init__(ofproto_v1_3.OFP_VERSION)


NAMES = names()
# Names that the port variables of the tests stand for.
PORTS = {"target_recv_port": 1, "target_send_port_1": 2, "target_send_port_2": 3,
         "tester_send_port": 1, "tester_recv_port_1": 2, "tester_recv_port_2": 3}


def with_ports(value):
    if isinstance(value, dict):
        return {key: with_ports(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_ports(item) for item in value]
    return PORTS.get(value, value) if isinstance(value, str) else value


def frame(layers):
    whole = eval("/".join(layers), dict(NAMES))  # the suite's own expressions
    whole.serialize()
    return bytes(whole.data)


def short(data):
    """Hexadecimal digits, with a run of one byte at the end written as such."""
    run = len(data) - len(data.rstrip(data[-1:])) if data else 0
    if run > 8:
        head = data[:len(data) - run].hex()
        return f"{head},{data[-1]:02x}*{run}"
    return data.hex()


def message(body):
    parsed = ofproto_parser.ofp_msg_from_jsondict(Datapath(), with_ports(body))
    parsed.set_xid(0)
    parsed.serialize()
    return bytes(parsed.buf).hex()


def print_ingress(ingress, out):
    if isinstance(ingress, list):
        out(f"send {short(frame(ingress))}")
        return
    packets = ingress["packets"]
    per_second, seconds = packets.get("pktps", 1000), packets.get("duration_time", 30)
    out(f"stream {per_second} {seconds}")
    is_random = any("randint" in layer for layer in packets["data"])
    for _ in range(per_second * seconds if is_random else 1):
        out(f"frame {short(frame(packets['data']))}")


def print_expected(step, out):
    if isinstance(step.get("egress"), list):
        out(f"egress {short(frame(step['egress']))}")
    elif "egress" in step:
        for rate in step["egress"]["throughput"]:
            flow_mod = {"OFPFlowMod": {"cookie": 1, "priority": 0x8001,
                                       "match": {"OFPMatch": rate["OFPMatch"]}}}
            unit = "kbps" if rate.get("kbps") else "pktps"
            out(f"rate {unit} {rate[unit]} {message(flow_mod)}")
    elif "PACKET_IN" in step:
        out(f"packet_in {short(frame(step['PACKET_IN']))}")
    else:
        out("miss " + ",".join(str(table) for table in step["table-miss"]))


def main():
    sctp.sctp._checksum = sctp_checksum
    seed(1)
    root = os.path.join(os.path.dirname(os_ken.__file__), "tests", "switch", "of13")
    wanted = sys.argv[1:]
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            relative = os.path.relpath(os.path.join(folder, name), root)
            if not name.endswith(".json") or (wanted and not relative.startswith(tuple(wanted))):
                continue
            group = "set_field" if "25_SET_FIELD" in relative else relative.split(os.sep)[0]
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                tests = [test for test in json.load(file) if isinstance(test, dict)]
            for test in tests:
                print(f"test {group}\t{relative}\t{test['description']}")
                for body in test["prerequisite"]:
                    print(f"install {message(body)}")
                for step in test["tests"]:
                    print_ingress(step["ingress"], print)
                    print_expected(step, print)
                print("end")


if __name__ == "__main__":
    assert ofproto_v1_3_parser
    main()
