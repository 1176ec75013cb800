"""MAC learning in thirty lines: `tenuto app python/examples/learning_switch.py`."""

from tenuto import App, FLOOD, output


class LearningSwitch(App):
    def start(self):
        # The port at which an address was seen, by switch and address.
        self.seen = {}

    def switch_up(self, datapath, ports, answer):
        self.forget(datapath, {port.number for port in ports})

    def port_status(self, datapath, port, reason, answer):
        if reason == 1 or not port.is_up:
            self.forget(datapath, {port.number})
            answer.delete({}, out_port=port.number)

    def packet_in(self, datapath, packet, answer):
        old = self.seen.get((datapath, packet.src))
        self.seen[datapath, packet.src] = packet.in_port
        if old not in (None, packet.in_port):
            answer.delete({"eth_dst": packet.src}, out_port=old)
        port = self.seen.get((datapath, packet.dst))
        if port is None:
            answer.send([output(FLOOD)])
        elif port != packet.in_port:
            answer.install(packet.addresses(), [output(port)], idle_timeout=60)

    def forget(self, datapath, ports):
        self.seen = {
            key: port for key, port in self.seen.items() if key[0] != datapath or port not in ports
        }
