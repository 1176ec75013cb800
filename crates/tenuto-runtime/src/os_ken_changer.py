"""A controller on os-ken that changes the mode of all its switches: [MC-SDN] III-A, VII-A.

The first line of its input is JSON: the address and port to listen at, how long it rests before the way
back, how an experimenter's message that tells of an excess begins behind its header, and per datapath id the
messages that install, raise and lower; bytes in hexadecimal. Such a message, or a packet-in, is the request to
raise. It prints how far it is, with CLOCK_MONOTONIC in ns.
"""
import json
import sys
import time

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.ofproto import ofproto_parser, ofproto_v1_3

ORDER = {}


class ModeChanger(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.switches = {}
        self.awaited = set()
        self.doing = "install"
        self.is_high = False

    def say(self, word):
        print(word, time.monotonic_ns(), flush=True)

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, event):
        datapath = event.msg.datapath
        commands = ORDER["switches"][str(datapath.id)]
        # Whatever the framework does for a message, it does when the mode changes, and not before.
        parsed = {way: [parse(datapath, it) for it in commands[way]] for way in ("raise", "lower")}
        self.switches[datapath.id] = (datapath, parsed)
        for message in commands["install"]:
            datapath.send(bytes.fromhex(message))
        self.close(datapath)

    def close(self, datapath):
        self.awaited.add(datapath.id)
        datapath.send_msg(datapath.ofproto_parser.OFPBarrierRequest(datapath))

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
    def barrier(self, event):
        self.awaited.discard(event.msg.datapath.id)
        is_whole = len(self.switches) == len(ORDER["switches"])
        if self.awaited or not is_whole or self.doing is None:
            return
        done, self.doing = self.doing, None
        self.say({"install": "ready", "raise": "raised", "lower": "lowered"}[done])
        if done == "raise":
            hub.spawn_after(ORDER["rest_s"], self.change, "lower")

    @set_ev_cls([ofp_event.EventOFPPacketIn, ofp_event.EventOFPExperimenter], MAIN_DISPATCHER)
    def requested(self, event):
        if isinstance(event, ofp_event.EventOFPExperimenter) and not is_violation(event.msg):
            return
        # Of several requests the first is what the change is for.
        if self.doing is None and not self.is_high:
            self.change("raise")

    def change(self, way):
        self.doing, self.is_high = way, way == "raise"
        self.say({"raise": "raising", "lower": "lowering"}[way])
        for datapath, commands in self.switches.values():
            for message in commands[way]:
                message.xid = None
                datapath.send_msg(message)
            self.close(datapath)

    @set_ev_cls(ofp_event.EventOFPErrorMsg, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def refused(self, event):
        print("refused type %d code %d" % (event.msg.type, event.msg.code), flush=True)


def parse(datapath, text):
    data = bytes.fromhex(text)
    version, kind, length, xid = ofproto_parser.header(data)
    return ofproto_parser.msg(datapath, version, kind, length, xid, data)


def is_violation(message):
    start = bytes.fromhex(ORDER["violation"])
    return bytes(message.buf[8:8 + len(start)]) == start


if __name__ == "__main__":
    ORDER.update(json.loads(sys.stdin.readline()))
    cfg.CONF(args=["--ofp-listen-host", ORDER["address"],
                   "--ofp-tcp-listen-port", str(ORDER["port"])], project="tenuto")
    app_manager.AppManager.run_apps(["os_ken.controller.ofp_handler", "__main__"])
