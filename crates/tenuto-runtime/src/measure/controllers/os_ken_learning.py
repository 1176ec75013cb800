"""A learning switch for os-ken that answers as ours does: one flow-mod with the buffer of the packet."""
import logging
import sys

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import addrconv
from os_ken.ofproto import ofproto_v1_3


class Learning(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.places = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, event):
        datapath = event.msg.datapath
        ofp, parser = datapath.ofproto, datapath.ofproto_parser
        actions = [parser.OFPActionOutput(ofp.OFPP_CONTROLLER, 128)]
        apply = [parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, actions)]
        datapath.send_msg(parser.OFPFlowMod(
            datapath=datapath, priority=0, match=parser.OFPMatch(), instructions=apply))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        message = event.msg
        datapath = message.datapath
        ofp, parser = datapath.ofproto, datapath.ofproto_parser
        port = message.match["in_port"]
        dst, src = (addrconv.mac.bin_to_text(message.data[at:at + 6]) for at in (0, 6))
        places = self.places.setdefault(datapath.id, {})
        places[src] = port
        out = places.get(dst)
        if out is None:
            datapath.send_msg(parser.OFPPacketOut(
                datapath=datapath, buffer_id=message.buffer_id, in_port=port,
                actions=[parser.OFPActionOutput(ofp.OFPP_FLOOD)]))
            return
        apply = [parser.OFPInstructionActions(
            ofp.OFPIT_APPLY_ACTIONS, [parser.OFPActionOutput(out)])]
        datapath.send_msg(parser.OFPFlowMod(
            datapath=datapath, priority=1, buffer_id=message.buffer_id, instructions=apply,
            match=parser.OFPMatch(in_port=port, eth_dst=dst, eth_src=src)))


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR)
    cfg.CONF(args=["--ofp-listen-host", "127.0.0.1", "--ofp-tcp-listen-port", sys.argv[1]],
             project="tenuto")
    app_manager.AppManager.run_apps(["os_ken.controller.ofp_handler", "__main__"])
