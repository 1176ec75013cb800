"""OpenFlow applications for the controller of Tenuto.

An application is a class with the events that it handles::

    from tenuto import App, FLOOD, output

    class Hub(App):
        def packet_in(self, datapath, packet, answer):
            answer.send([output(FLOOD)])

``tenuto app hub.py`` runs it. See docs/applications.md.
"""

from .app import Answer, App
from .openflow import (
    ALL,
    ANY,
    CONTROLLER,
    FLOOD,
    IN_PORT,
    SEND_FLOW_REM,
    TABLE,
    FlowRemoved,
    FlowStats,
    Packet,
    Port,
    PortStats,
    group,
    output,
    pop_vlan,
    push_vlan,
    set_field,
    set_queue,
)

__all__ = [
    "ALL", "ANY", "Answer", "App", "CONTROLLER", "FLOOD", "FlowRemoved", "FlowStats", "IN_PORT", "Packet",
    "Port", "PortStats", "SEND_FLOW_REM", "TABLE", "group", "output", "pop_vlan", "push_vlan", "set_field",
    "set_queue",
]
