(** What happens in a network: a trace, and when it is one of a described network.

    No curve and no bound occurs here. Instants are whole numbers of an arbitrary unit, [t_unit] of
    which make a picosecond; so every rational instant is in some trace. A trace is finite and
    complete: from some instant on hosts release nothing, and what is under way comes out. (Any
    execution up to an instant is the beginning of such a trace.)

    Every assumption is a field of [valid], [frames_are_real] and so on, with the name under which
    plans print it in brackets. *)
From Coq Require Import ZArith List Bool.
From Tenuto Require Import Sums Description.
Import ListNotations.
Open Scope Z_scope.

(** A frame that a host releases. *)
Record frame := Frame {
  f_id : nat;
  f_flow : nat;
  f_level : Z;        (* its class *)
  f_message : Z;      (* the number of its message in the flow *)
  f_size : Z;         (* bits on the wire *)
  f_due : Z;          (* when its message was due *)
  f_release : Z;      (* when its message was released: when its frames came to the host's queue *)
  f_passed : bool     (* whether the meter of the first switch let it through *)
}.

(** A frame at one egress. Or it is dropped there ([t_dropped]): it is asked where it belongs when the scheduler would
    choose it, has no place in the mode any more, and nothing is on the line from [v_start] to [v_end]. *)
Record visit := Visit {
  v_frame : frame;
  v_place : nat;      (* in the tree of its flow *)
  v_port : nat;
  v_arrival : Z;      (* to the queue *)
  v_choice : Z;       (* the scheduler takes it from the queue *)
  v_start : Z;        (* its first bit goes on the line *)
  v_end : Z;          (* its last bit is on the line *)
  v_handover : Z;     (* from here on it travels: at most a tick after its end *)
  v_stamp : Z         (* at the source's port: what the first switch takes for its arrival *)
}.

(** The part of a trace that is spoken of. In a network with one mode this is all of it. *)
Record span := Span {
  s_since : nat -> Z;           (* what comes to a port from here on is of the mode *)
  s_done : nat -> Z;            (* and from here on nothing else is there any more *)
  s_until : option Z            (* a monitor has seen more than it bears with *)
}.
Definition always : span := Span (fun _ => -1) (fun _ => -1) None.

Record trace := TraceOf {
  t_unit : Z;
  t_frames : list frame;
  t_visits : list visit;
  t_others : list visit;        (* other traffic at the ports, of no flow *)
  t_babbling : nat -> bool;     (* flows of hosts that keep no contract *)
  t_dropped : visit -> bool;    (* at this port the frame is not sent, but dropped *)
  t_span : span
}.
Definition TraceIn u fs vs os babbling s : trace := TraceOf u fs vs os babbling (fun _ => false) s.
Definition Trace u fs vs os babbling : trace := TraceIn u fs vs os babbling always.

(** Of the same trace another part is spoken of. *)
Definition with_span (t : trace) (s : span) : trace :=
  TraceOf (t_unit t) (t_frames t) (t_visits t) (t_others t) (t_babbling t) (t_dropped t) s.

Definition size (v : visit) : Z := f_size (v_frame v).
Definition class (v : visit) : Z := f_level (v_frame v).
Definition flow_of (v : visit) : nat := f_flow (v_frame v).
Definition key (v : visit) : nat * nat := (f_id (v_frame v), v_place v).

(** Before the end of the span. *)
Definition before_end (t : trace) (y : Z) : bool :=
  match s_until (t_span t) with None => true | Some e => y <? e end.
Definition inside (t : trace) (y : Z) : Prop := before_end t y = true.

(** A frame at a port since all is of the mode. *)
Definition live (t : trace) (v : visit) : Prop :=
  s_since (t_span t) (v_port v) <= v_arrival v /\ inside t (v_arrival v).

(** All that uses one port. *)
Definition visits_at (t : trace) (p : nat) : list visit :=
  filter (fun v => Nat.eqb (v_port v) p) (t_visits t ++ t_others t).

(** It keeps the port. A frame that is dropped otherwise (while the port sends, from any place in a queue) is gone at once. *)
Definition takes_time (v : visit) : bool := v_start v <? v_end v.

Section Valid.
Variable n : network.
Variable t : trace.

(** [d] picoseconds in units of the trace. *)
Definition units (d : Z) : Z := d * t_unit t.

(** A line of [rate] bit/s sends [rate * d] of what makes [full] of a bit in [d] units. *)
Definition full : Z := ps_per_s * t_unit t.

(** ** Hosts *)

(** [sources], [clock]: a host keeps a contract: messages of their size, a period apart by a clock
    that may be fast, released when due or at most the jitter later, all their frames at once. *)
Record keeps_contract (i : nat) : Prop := {
  message_size : forall m,
    sumif f_size (fun f => Nat.eqb (f_flow f) i && (f_message f =? m)) (t_frames t)
      <= c_message (f_contract (flow_at n i));
  frame_size : forall f, In f (t_frames t) -> f_flow f = i ->
    f_size f <= c_frame (f_contract (flow_at n i));
  released : forall f, In f (t_frames t) -> f_flow f = i ->
    f_due f <= f_release f <= f_due f + units (c_jitter (f_contract (flow_at n i)));
  periods : forall f g, In f (t_frames t) -> In g (t_frames t) -> f_flow f = i -> f_flow g = i ->
    f_message f <= f_message g ->
    (f_message g - f_message f) * units (c_period (f_contract (flow_at n i))) * 1000000
      <= (f_due g - f_due f) * (1000000 + n_tolerance n);
}.

(** [frames]: sizes that an Ethernet has. The trace has each frame once. *)
Record frames_are_real : Prop := {
  frame_bounds : forall f, In f (t_frames t) -> n_frame_min n <= f_size f <= n_frame_max n;
  frame_flow : forall f, In f (t_frames t) -> (f_flow f < length (n_flows n))%nat;
  frame_class : forall f, In f (t_frames t) -> f_level f = f_class (flow_at n (f_flow f));
  frame_start : forall f, In f (t_frames t) -> 0 <= f_release f;   (* it starts empty *)
  frame_once : forall f g, In f (t_frames t) -> In g (t_frames t) -> f_id f = f_id g -> f = g
}.

(** ** Ports *)

(** One egress, with all that uses it. *)
Record port_works (p : nat) : Prop := {
  (* a frame comes to the queue, is chosen, sent, handed over, in this order *)
  in_order : forall v, In v (visits_at t p) ->
    0 <= v_arrival v <= v_choice v /\ v_choice v <= v_start v <= v_end v /\
    v_end v <= v_handover v <= v_end v + units (p_tick (port_at n p));
  (* the rate of the line: never slower, never faster. [drops]: to drop a frame takes no longer than it would have been
     on the line: from when the line is free until the next frame may begin *)
  rate_least : forall v, In v (visits_at t p) ->
    p_rate_min (port_at n p) * (v_end v - v_start v) <= full * size v;
  rate_most : forall v, In v (visits_at t p) -> t_dropped t v = false ->
    full * size v <= p_rate_max (port_at n p) * (v_end v - v_start v);
  (* what is dropped at no cost is gone when it is chosen *)
  gone_at_once : forall v, In v (visits_at t p) -> t_dropped t v = true ->
    v_arrival v < v_end v /\ (takes_time v = false -> v_choice v = v_end v);
  (* one frame at a time, and none is interrupted *)
  one_by_one : forall v w, In v (visits_at t p) -> In w (visits_at t p) -> takes_time v = true -> takes_time w = true ->
    v = w \/ v_end v <= v_start w \/ v_end w <= v_start v;
  (* while a frame waits, in the queue or below the scheduler, the port is not idle: it sends or drops *)
  never_idle : forall v x, In v (visits_at t p) -> v_arrival v <= x < v_start v ->
    exists w, In w (visits_at t p) /\ v_start w <= x < v_end w;
  (* what is chosen first is sent first *)
  sent_as_chosen : forall v w, In v (visits_at t p) -> In w (visits_at t p) -> takes_time v = true -> takes_time w = true ->
    v_choice v < v_choice w -> v_start v < v_start w;
  (* strict priority, in order of arrival within a class: what is chosen while v waits, and sent
     before it, is not below v; what is dropped in its turn neither *)
  strict_priority : forall v w, In v (visits_at t p) -> In w (visits_at t p) -> takes_time w = true ->
    v_start w < v_start v \/ takes_time v = false /\ v_choice w < v_choice v -> v_arrival v < v_choice w ->
    class w <= class v /\ (class w = class v -> v_arrival w <= v_arrival v);
  (* below the scheduler is room for p_below bits, or for a single frame; where there is none, none is asked *)
  room_below : forall v, In v (visits_at t p) -> takes_time v = true ->
    sumif size (fun w => takes_time w && (v_start w <=? v_start v) && (v_choice v <? v_end w)) (visits_at t p)
      <= Z.max (p_below (port_at n p)) (size v);
  (* other traffic is of a class below all flows, in frames of the stated size *)
  others_below : forall v, In v (t_others t) -> v_port v = p ->
    0 < size v <= p_other (port_at n p) /\
    forall i, (i < length (n_flows n))%nat -> f_class (flow_at n i) < class v
}.

(** ** Ways *)

(** The frame is at its source's port since its release: hosts add no delay ([latency]). *)
Definition from_host (v : visit) : Prop :=
  parent_of n (flow_of v) (v_place v) = None /\ v_arrival v = f_release (v_frame v).

(** [model]: whole frames go on, from w to v, by the switch that they cross; its latency, and the
    delay of the cable, are as described ([latency]). Frames need not keep an order ([order] is
    not needed). Behind the source's port stands the meter. *)
Definition from_switch (v w : visit) : Prop :=
  v_frame w = v_frame v /\ parent_of n (flow_of v) (v_place v) = Some (v_place w) /\
  let arrived := v_handover w + units (p_propagation (port_at n (v_port w))) in
  arrived + units (p_latency_min (port_at n (v_port v))) <= v_arrival v
    <= arrived + units (p_latency_max (port_at n (v_port v))).

(** A frame comes from somewhere, and each of its copies is at one place once. *)
Record ways : Prop := {
  visit_once : NoDup (map key (t_visits t));
  others_once : NoDup (t_others t);
  others_apart : forall v, In v (t_others t) -> ~ In v (t_visits t);
  visit_frame : forall v, In v (t_visits t) -> In (v_frame v) (t_frames t);
  visit_place : forall v, In v (t_visits t) ->
    (v_place v < length (f_places (flow_at n (flow_of v))))%nat /\
    v_port v = port_of n (flow_of v) (v_place v);
  visit_from : forall v, In v (t_visits t) ->
    from_host v \/ exists w, In w (t_visits t) /\ from_switch v w;
  (* what is dropped goes nowhere *)
  went_on : forall v w, In v (t_visits t) -> In w (t_visits t) -> from_switch v w -> t_dropped t w = false
}.

(** Nothing is lost ([faults]): what was released is sent by its source's port, and what passed the meter of
    the first switch at every place of its flow, if that has a place in the mode. *)
Definition nothing_lost : Prop := forall f x, In f (t_frames t) ->
  (x < length (f_places (flow_at n (f_flow f))))%nat ->
  f_admitted (flow_at n (f_flow f)) = true /\ f_leaves (flow_at n (f_flow f)) = false /\ f_passed f = true \/
    parent_of n (f_flow f) x = None ->
  exists v, In v (t_visits t) /\ v_frame v = f /\ v_place v = x /\ t_dropped t v = false.

(** ** Meters *)

(** What the first switch takes for the arrival of a frame: no earlier, and less than a nanosecond
    later. *)
Definition received (v : visit) : Z := v_handover v + units (p_propagation (port_at n (v_port v))).

(** The frames of flow i that pass its meter, with stamps from x to y. *)
Definition stamped (i : nat) (x y : Z) (v : visit) : bool :=
  Nat.eqb (flow_of v) i && match parent_of n (flow_of v) (v_place v) with None => true | _ => false end
  && f_passed (v_frame v) && (x <=? v_stamp v) && (v_stamp v <=? y).

(** A token bucket: between any two frames that it lets through it passes no more than the burst
    and what the rate fills in between. *)
Record meters_police (i : nat) : Prop := {
  stamps : forall v, In v (t_visits t) -> flow_of v = i ->
    parent_of n (flow_of v) (v_place v) = None ->
    received v <= v_stamp v < received v + units stamp_step;
  bucket : forall m v w, f_meter (flow_at n i) = Some m ->
    In v (t_visits t) -> In w (t_visits t) -> v_stamp v <= v_stamp w ->
    stamped i (v_stamp v) (v_stamp w) v = true -> stamped i (v_stamp v) (v_stamp w) w = true ->
    full * sumif (fun x => size x - m_uncounted m) (stamped i (v_stamp v) (v_stamp w)) (t_visits t)
      <= full * m_burst m + m_rate m * (v_stamp w - v_stamp v);
  (* what the meter drops goes no further *)
  dropped : forall v x, In v (t_visits t) -> flow_of v = i ->
    parent_of n (flow_of v) (v_place v) = Some x -> f_passed (v_frame v) = true
}.

(** ** Monitors *)

(** What comes to the monitor of flow i in the span. *)
Definition watched (i : nat) (v : visit) : bool :=
  Nat.eqb (flow_of v) i && match parent_of n (flow_of v) (v_place v) with None => true | _ => false end
  && before_end t (received v).

(** It divides what it sees into messages with numbers. A message is as large as it may be, its
    frames are not too far apart, and it begins no earlier than its guide time (the recursion:
    [Monitor.guide_times]): by stamps, and before any meter drops anything. *)
Record bears_with (i : nat) (m : monitor) (number : visit -> Z) (first : Z -> Z) : Prop := {
  seen_at : forall v, In v (t_visits t) -> watched i v = true ->
    received v <= v_stamp v < received v + units stamp_step;
  seen_size : forall k,
    sumif size (fun v => watched i v && (number v =? k)) (t_visits t) <= w_message m;
  seen_together : forall v, In v (t_visits t) -> watched i v = true ->
    first (number v) <= v_stamp v <= first (number v) + units (w_spread m);
  seen_in_time : forall v w, In v (t_visits t) -> In w (t_visits t) ->
    watched i v = true -> watched i w = true -> number v < number w ->
    first (number v) - units (w_jitter m) + (number w - number v) * units (w_period m) <= first (number w)
}.

(** ** Modes *)

(** All is of the mode: behind their sources' ports only flows of the mode come from [s_since] on,
    and what comes came to the port before when that was done with all else. *)
Record of_the_mode : Prop := {
  admitted : forall v, In v (t_visits t) -> live t v ->
    parent_of n (flow_of v) (v_place v) = None \/ f_admitted (flow_at n (flow_of v)) = true;
  drained : forall v w, In v (t_visits t) -> In w (t_visits t) -> from_switch v w -> live t v ->
    s_done (t_span t) (v_port w) <= v_arrival w;
  (* in between, all that had come before has been sent *)
  sent_before : forall p, (p < length (n_ports n))%nat -> exists u,
    s_since (t_span t) p <= u <= s_done (t_span t) p /\
    forall v, In v (t_visits t) -> v_port v = p -> v_arrival v < u -> v_end v <= u
}.

(** ** All together *)

(** [sources]: hosts keep their contracts, but for those that babble; the flows of these have
    meters in their first switch. *)
Record follows : Prop := {
  unit_positive : 0 < t_unit t;
  frames_real : frames_are_real;
  contracts : forall i, (i < length (n_flows n))%nat -> t_babbling t i = false -> keeps_contract i;
  babbling : forall i, (i < length (n_flows n))%nat -> t_babbling t i = true ->
    f_meter (flow_at n i) <> None;
  host_babbles : forall i j, (i < length (n_flows n))%nat -> (j < length (n_flows n))%nat ->
    port_of n i 0 = port_of n j 0 -> t_babbling t i = t_babbling t j;
  ports : forall p, (p < length (n_ports n))%nat -> port_works p;
  ways_hold : ways;
  meters : forall i, (i < length (n_flows n))%nat -> f_meter (flow_at n i) <> None ->
    meters_police i;
  monitors : forall i m, (i < length (n_flows n))%nat -> f_monitor (flow_at n i) = Some m ->
    exists number first, bears_with i m number first;
  modes : of_the_mode
}.

(** A trace of the network. What [follows] has of delays and buffers holds without the last. *)
Record valid : Prop := { valid_follows :> follows; lost_nothing : nothing_lost }.

End Valid.
