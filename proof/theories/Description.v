(** A network as it is described, in one of its modes: ports, flows, their trees of ports. Numbers
    only, nothing happens.

    Times are picoseconds, sizes bits on the wire (frame and 20 B), rates bit/s. *)
From Coq Require Import ZArith List Bool.
Import ListNotations.
Open Scope Z_scope.

(** An egress: one direction of a line, with the switch (or host) in front of it. *)
Record port := Port {
  p_rate_min : Z;        (* the line is never slower *)
  p_rate_max : Z;        (* the line is never faster *)
  p_propagation : Z;     (* along the cable *)
  p_latency_min : Z;     (* of the switch: from the last bit received to the place in the queue *)
  p_latency_max : Z;
  p_below : Z;           (* bits that may stand below the scheduler, the line included *)
  p_tick : Z;            (* a frame is handed over so much later than its last bit *)
  p_other : Z            (* the largest frame of other traffic, below every class; 0 for none *)
}.

(** Messages of at most [c_message] bits in frames of at most [c_frame], a period apart, each
    released at most [c_jitter] later than it was due. *)
Record contract := Contract {
  c_message : Z;
  c_frame : Z;
  c_period : Z;
  c_jitter : Z
}.

(** A token bucket in the first switch: [m_uncounted] bits of every frame on the wire do not count
    (0: bytes on the wire count; 160: frames with FCS; 192: frames without). *)
Record meter := Meter {
  m_uncounted : Z;
  m_rate : Z;            (* counted bits per second *)
  m_burst : Z            (* counted bits *)
}.

(** A monitor in the first switch, in a mode that it watches: it bears with messages of at most
    [w_message] bits on the wire, a period apart, each at most [w_jitter] too early, the frames of
    one at most [w_spread] apart. More than that raises the mode. *)
Record monitor := Monitor {
  w_message : Z;
  w_period : Z;
  w_jitter : Z;
  w_spread : Z
}.

(** A place in a flow's tree: an egress, and the place before it (none at the source). *)
Record place := Place {
  at_port : nat;
  parent : option nat
}.

Record flow := FlowOfRaise {
  f_class : Z;           (* 0 is served first *)
  f_contract : contract; (* the highest of its contracts: no host knows the mode *)
  f_meter : option meter;
  f_monitor : option monitor;  (* where the flow has a contract above that of the mode *)
  f_admitted : bool;     (* it has a place in the mode: if not, no switch forwards it *)
  f_leaves : bool;       (* the mode that a raise goes to has no place for it: behind its source's port
                            it is served until the swap *)
  f_places : list place; (* parents come first *)
  f_targets : list nat   (* the last place on the way to each target *)
}.

(** A flow of a network in one mode, and in a network with one mode. *)
Definition FlowIn (k : Z) (c : contract) (m : option meter) (w : option monitor) (admitted : bool)
  (places : list place) (targets : list nat) : flow := FlowOfRaise k c m w admitted false places targets.
Definition Flow (k : Z) (c : contract) (m : option meter) (places : list place) (targets : list nat) : flow :=
  FlowIn k c m None true places targets.

Record network := Network {
  n_ports : list port;
  n_flows : list flow;
  n_tolerance : Z;       (* of clocks, parts per million: periods are so much shorter *)
  n_frame_min : Z;       (* the least and the largest frame of any flow *)
  n_frame_max : Z
}.

Definition no_port : port := Port 1 1 0 0 0 0 0 0.
Definition no_flow : flow := Flow 0 (Contract 0 0 1 0) None [] [].
Definition no_place : place := Place 0 None.

Definition port_at (n : network) (i : nat) : port := nth i (n_ports n) no_port.
Definition flow_at (n : network) (i : nat) : flow := nth i (n_flows n) no_flow.
Definition place_at (f : flow) (x : nat) : place := nth x (f_places f) no_place.

(** The place of a flow, and the one before. *)
Definition port_of (n : network) (i x : nat) : nat := at_port (place_at (flow_at n i) x).
Definition parent_of (n : network) (i x : nat) : option nat := parent (place_at (flow_at n i) x).

(** A nanosecond, in which meters stamp. *)
Definition stamp_step : Z := 1000.
Definition ps_per_s : Z := 1000000000000.
