(** Wrong theories. Each accepts a claim that a valid trace breaks: the theory is the checker on a
    description that leaves something out, the trace is one of the network as it is. A proof that
    fails refutes nothing; a trace that a proved checker accepts does. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Description Model Check Accepts Ways Soundness Backlog Modes Raise Drain Spread Examples.
Import ListNotations.
Open Scope Z_scope.

(** A claim of the theory, broken by a frame. *)
Definition breaks_delay (n : network) (c : claims) (t : trace) : Prop :=
  exists v r, In v (t_visits t) /\ claimed n t v /\
    In r (rows_at c (v_port v)) /\ r_class r = class v /\
    s_done (t_span t) (v_port v) <= v_arrival v /\ inside t (v_arrival v + units t (r_delay r)) /\
    v_arrival v + units t (r_delay r) < v_handover v.

(** A claim of the theory, broken by what stands in a buffer. *)
Definition breaks_backlog (c : claims) (t : trace) : Prop :=
  exists p b y, nth_error (q_backlogs c) p = Some (Some b) /\
    s_done (t_span t) p <= y /\ inside t y /\
    b_bits b < sumif size (in_buffer p y) (t_visits t).

(** What the theory says of [theory] is not so in [net]. *)
Definition refuted (theory net : network) : Prop := exists c t,
  accepts theory c = true /\ valid net t /\ (breaks_delay net c t \/ breaks_backlog c t).

Definition breaks_delay_b (n : network) (c : claims) (t : trace) : bool :=
  existsb (fun v => (negb (t_babbling t (flow_of v)) || negb (is_none (parent_of n (flow_of v) (v_place v)))) &&
    existsb (fun r => (r_class r =? class v) && (s_done (t_span t) (v_port v) <=? v_arrival v)
               && before_end t (v_arrival v + units t (r_delay r))
               && (v_arrival v + units t (r_delay r) <? v_handover v))
            (rows_at c (v_port v))) (t_visits t).

Lemma breaks_delay_right n c t : breaks_delay_b n c t = true -> breaks_delay n c t.
Proof.
  intros H. apply existsb_exists in H. destruct H as [v [Hv H]].
  apply andb_true_iff in H. destruct H as [H1 H2]. apply existsb_exists in H2.
  destruct H2 as [r [Hr H2]]. rewrite !andb_true_iff, Z.eqb_eq, Z.leb_le, Z.ltb_lt in H2.
  destruct H2 as [[[K D] I] L]. exists v, r. split; [exact Hv|]. split; [|tauto].
  apply orb_true_iff in H1. unfold claimed. destruct H1 as [H1|H1].
  - left. now apply negb_true_iff.
  - right. intros E. rewrite E in H1. discriminate.
Qed.

Ltac refute c t := exists c, t; split; [vm_compute; reflexivity|];
  split; [apply checked_trace_is_valid; vm_compute; reflexivity|].
Ltac delayed c t := refute c t; left; apply breaks_delay_right; vm_compute; reflexivity.

(** One flow, or two, at one host's port. *)
Definition sender (k m l j : Z) : flow := Flow k (Contract m l 1000000 j) None [Place 0 None] [0%nat].
Definition alone (p : port) (fs : list flow) : network := Network [p] fs 0 64 12304.
Definition other (size start : Z) : visit :=
  Visit (Frame 99 99 99 0 size 0 0 true) 0 0 start start start (start + size) (start + size) 0.
Definition one (d : Z) : claims := Claims 1000000 [[Row 0 d far]] [] [].

(** Other traffic that is on the line: forgotten blocking frame. *)
Definition with_other (s : Z) : port := Port fast fast 0 0 0 0 0 s.
Lemma forgotten_other_traffic :
  refuted (alone wire [sender 0 1000 1000 0]) (alone (with_other 1500) [sender 0 1000 1000 0]).
Proof.
  pose (f := Frame 0 0 0 0 1000 1 1 true).
  delayed (one 1000) (Trace 1 [f] [hop f 0 0 1 1500] [other 1500 0] nobody).
Qed.

(** A frame of a lower class that has begun. *)
Lemma forgotten_lower_class :
  refuted (alone wire [sender 0 1000 1000 0])
          (alone wire [sender 0 1000 1000 0; sender 1 1500 1500 0]).
Proof.
  pose (f := Frame 0 0 0 0 1000 1 1 true). pose (g := Frame 1 1 1 0 1500 0 0 true).
  delayed (one 1000) (Trace 1 [f; g] [hop f 0 0 1 1500; hop g 0 0 0 0] [] nobody).
Qed.

(** 64 B on the wire, without preamble and gap. *)
Lemma forgotten_gap :
  refuted (alone wire [sender 0 512 512 0]) (alone wire [sender 0 672 672 0]).
Proof.
  pose (f := Frame 0 0 0 0 672 0 0 true).
  delayed (one 512) (Trace 1 [f] [hop f 0 0 0 0] [] nobody).
Qed.

(** Release jitter: a late message and the next one in time. *)
Lemma forgotten_jitter :
  refuted (alone wire [sender 0 1000 1000 0]) (alone wire [sender 0 1000 1000 999500]).
Proof.
  pose (f := Frame 0 0 0 0 1000 0 999500 true). pose (g := Frame 1 0 0 1 1000 1000000 1000000 true).
  delayed (one 1000) (Trace 1 [f; g] [hop f 0 0 999500 999500; hop g 0 0 1000000 1000500] [] nobody).
Qed.

(** A frame of a message, taken for all of it. *)
Lemma one_frame_for_a_message :
  refuted (alone wire [sender 0 1000 1000 0]) (alone wire [sender 0 2000 1000 0]).
Proof.
  pose (f := Frame 0 0 0 0 1000 0 0 true). pose (g := Frame 1 0 0 0 1000 0 0 true).
  delayed (one 1000) (Trace 1 [f; g] [hop f 0 0 0 0; hop g 0 0 0 1000] [] nobody).
Qed.

(** The rounding of the pacer. *)
Lemma forgotten_tick :
  refuted (alone wire [sender 0 1000 1000 0])
          (alone (Port fast fast 0 0 0 0 5 0) [sender 0 1000 1000 0]).
Proof.
  pose (f := Frame 0 0 0 0 1000 0 0 true).
  delayed (one 1000) (Trace 1 [f] [Visit f 0 0 0 0 0 1000 1005 1005] [] nobody).
Qed.

(** A line at its nominal rate, though it may be slower. *)
Lemma forgotten_slow_line :
  refuted (alone wire [sender 0 1000 1000 0])
          (alone (Port 500000000000 fast 0 0 0 0 0 0) [sender 0 1000 1000 0]).
Proof.
  pose (f := Frame 0 0 0 0 1000 0 0 true).
  delayed (one 1000) (Trace 1 [f] [Visit f 0 0 0 0 0 2000 2000 2000] [] nobody).
Qed.

(** Bits below the scheduler: two frames of a lower class stand there. *)
Lemma forgotten_bits_below :
  refuted (alone wire [sender 0 1000 1000 0; sender 1 3000 1500 0])
          (alone (Port fast fast 0 0 0 3000 0 0) [sender 0 1000 1000 0; sender 1 3000 1500 0]).
Proof.
  pose (f := Frame 0 0 0 0 1000 1 1 true).
  pose (g := Frame 1 1 1 0 1500 0 0 true). pose (h := Frame 2 1 1 0 1500 0 0 true).
  delayed (Claims 1000000 [[Row 0 2500 far; Row 1 6000 far]] [] [])
    (Trace 1 [f; g; h]
      [ hop g 0 0 0 0; Visit h 0 0 0 0 1500 3000 3000 3000; Visit f 0 0 1 1500 3000 4000 4000 4000 ]
      [] nobody).
Qed.

(** The class above is forgotten. *)
Lemma forgotten_class_above :
  refuted (alone wire [sender 1 1000 1000 0])
          (alone wire [sender 1 1000 1000 0; sender 0 1500 1500 0]).
Proof.
  pose (f := Frame 0 0 1 0 1000 0 0 true). pose (g := Frame 1 1 0 0 1500 0 0 true).
  delayed (Claims 1000000 [[Row 1 1000 far]] [] [])
    (Trace 1 [f; g] [hop g 0 0 0 0; hop f 0 0 0 1500] [] nobody).
Qed.

(** Behind a switch whose latency varies: two frames come together. *)
Definition through (lmin : Z) : network := Network
  [wire; Port fast fast 0 lmin 1000 0 0 0]
  [Flow 0 (Contract 1000 1000 1500 0) None [Place 0 None; Place 1 (Some 0%nat)] [1%nat]] 0 64 12304.
Lemma forgotten_latency_jitter : refuted (through 1000) (through 0).
Proof.
  pose (f := Frame 0 0 0 0 1000 0 0 true). pose (g := Frame 1 0 0 1 1000 1500 1500 true).
  delayed (Claims 1000000 [[Row 0 1000 far]; [Row 0 1000 near]] [] [])
    (Trace 1 [f; g] [hop f 0 0 0 0; hop g 0 0 1500 1500; hop f 1 1 2000 2000; hop g 1 1 2500 3000] [] nobody).
Qed.

(** A meter that does not count preamble and gap, taken for one that counts the wire. *)
Definition metered (uncounted : Z) : network :=
  let f p := Flow 0 (Contract 672 672 1000000000 0) (Some (Meter uncounted 1000 1024))
               [Place p None; Place 3 (Some 0%nat)] [1%nat] in
  Network [wire; wire; wire; wire] [f 0%nat; f 1%nat; f 2%nat] 0 672 12304.
Lemma forgotten_uncounted_bits : refuted (metered 0) (metered 160).
Proof.
  pose (f i k := Frame (2 * i + k) i 0 0 672 0 0 true).
  pose (from i := [hop (f i 0%nat) 0 i 0 0; hop (f i 1%nat) 0 i 0 672]).
  pose (on i s := [hop (f i 0%nat) 1 3 672 s; hop (f i 1%nat) 1 3 1344 (s + 2016)]).
  refute (Claims 1000000 (repeat [Row 0 672 far] 3 ++ [[Row 0 3080 far]]) [] [])
    (Trace 1 (flat_map (fun i => [f i 0%nat; f i 1%nat]) [0; 1; 2]%nat)
      (from 0%nat ++ from 1%nat ++ from 2%nat ++ on 0%nat 672 ++ on 1%nat 1344 ++ on 2%nat 2016)
      [] (fun _ => true)).
  left. apply breaks_delay_right. vm_compute. reflexivity.
Qed.

(** A host that babbles, taken for one that keeps its contract. *)
Definition unmetered : network :=
  let f p := Flow 0 (Contract 672 672 1000000000 0) None [Place p None; Place 3 (Some 0%nat)] [1%nat] in
  Network [wire; wire; wire; wire] [f 0%nat; f 1%nat; f 2%nat] 0 672 12304.
Lemma babbler_by_its_contract : refuted unmetered (metered 160).
Proof.
  pose (f i k := Frame (2 * i + k) i 0 0 672 0 0 true).
  pose (from i := [hop (f i 0%nat) 0 i 0 0; hop (f i 1%nat) 0 i 0 672]).
  pose (on i s := [hop (f i 0%nat) 1 3 672 s; hop (f i 1%nat) 1 3 1344 (s + 2016)]).
  refute (Claims 1000000 (repeat [Row 0 672 far] 3 ++ [[Row 0 2100 far]]) [] [])
    (Trace 1 (flat_map (fun i => [f i 0%nat; f i 1%nat]) [0; 1; 2]%nat)
      (from 0%nat ++ from 1%nat ++ from 2%nat ++ on 0%nat 672 ++ on 1%nat 1344 ++ on 2%nat 2016)
      [] (fun _ => true)).
  left. apply breaks_delay_right. vm_compute. reflexivity.
Qed.

(** A burst that does not grow: behind the host's port the flow comes by its contract. What a class
    above held back there comes together at a slower line. *)
Definition behind (places : list place) : network := Network
  [wire; Port 500000000000 500000000000 0 0 0 0 0 0]
  [ Flow 1 (Contract 1000 1000 3000 0) None places [0%nat]; sender 0 3000 3000 0 ] 0 64 12304.
Lemma burst_not_grown :
  refuted (behind [Place 1 None]) (behind [Place 0 None; Place 1 (Some 0%nat)]).
Proof.
  pose (f := Frame 0 0 1 0 1000 0 0 true). pose (g := Frame 1 0 1 1 1000 3000 3000 true).
  pose (h := Frame 2 1 0 0 3000 0 0 true).
  delayed (Claims 1000000 [[Row 0 3000 far]; [Row 1 2000 far]] [] [])
    (Trace 1 [f; g; h]
      [ hop h 0 0 0 0; hop f 0 0 0 3000; hop g 0 0 3000 4000;
        Visit f 1 1 4000 4000 4000 6000 6000 6000; Visit g 1 1 5000 6000 6000 8000 8000 8000 ]
      [] nobody).
Qed.

(** Fluid line shaping: what a line brings in t is C t, as if frames had no length. *)
Definition two_ports (l : Z) : network := Network [wire; wire]
  [Flow 0 (Contract 1000 l 1000000 0) None [Place 0 None; Place 1 (Some 0%nat)] [1%nat]] 0 64 12304.
Lemma fluid_line_shaping : refuted (two_ports 0) (two_ports 1000).
Proof.
  pose (f := Frame 0 0 0 0 1000 0 0 true).
  delayed (Claims 1000000 [[Row 0 1000 far]; [Row 0 0 near]] [] [])
    (Trace 1 [f] [hop f 0 0 0 0; hop f 1 1 1000 1000] [] nobody).
Qed.

(** The clock of a host that is fast. *)
Definition clocked (tolerance : Z) : network := Network [wire]
  [ Flow 0 (Contract 1000 1000 2000 0) None [Place 0 None] [0%nat]; sender 1 3000 1000 0 ]
  tolerance 64 12304.
Lemma forgotten_clock_tolerance : refuted (clocked 0) (clocked 666667).
Proof.
  pose (f k := Frame (Z.to_nat k) 0 0 k 1000 (1200 * k) (1200 * k) true).
  pose (own (k : nat) := Frame (100 + k) 1 1 0 1000 0 0 true).
  delayed (Claims 1000000 [[Row 0 2100 far; Row 1 8100 far]] [] [])
    (Trace 1 (map f [0; 1; 2; 3; 4; 5; 6; 7; 8; 9; 10] ++ map own [1; 2; 3]%nat)
      (map (fun x => hop (f (fst x)) 0 0 (1200 * fst x) (snd x))
         [(0, 0); (1, 2000); (2, 3000); (3, 4000); (4, 5000); (5, 6000); (6, 8000); (7, 9000);
          (8, 10000); (9, 11000); (10, 12000)] ++
       [hop (own 1%nat) 0 0 0 1000; hop (own 2%nat) 0 0 0 7000; hop (own 3%nat) 0 0 0 13000])
      [] nobody).
Qed.

(** The backlog without what other traffic holds back: the sum of all that comes less what the
    line sends, and a frame. This is what `docs/theory/analysis.md`, "Backlog", says where other
    traffic is carried. *)
Definition steady : flow := Flow 0 (Contract 1000 1000 1000 0) None [Place 0 None] [0%nat].
Lemma backlog_behind_other_traffic :
  refuted (alone wire [steady]) (alone (with_other 12000) [steady]).
Proof.
  pose (f k := Frame (Z.to_nat k) 0 0 k 1000 (1000 * k + 1) (1000 * k + 1) true).
  pose (ks := [0; 1; 2; 3; 4; 5; 6; 7; 8; 9; 10; 11]).
  refute (Claims 1000000 [[Row 0 1000 far]] [] [Some (Backlog 2000 far)])
    (Trace 1 (map f ks) (map (fun k => hop (f k) 0 0 (1000 * k + 1) (1000 * k + 12000)) ks)
      [other 12000 0] nobody).
  right. exists 0%nat, (Backlog 2000 far), 12000.
  split; [reflexivity|]. split; [discriminate|]. split; [reflexivity|]. vm_compute. reflexivity.
Qed.

(** ** Modes *)

(** A host turns to its higher contract, and a monitor that bears with jitter has not seen anything:
    taken for one that sees the first message that is early. (The third of the findings.) *)
Definition half : port := Port 500000000000 500000000000 0 0 0 0 0 0.
Definition turned (m : monitor) (k : contract) : network :=
  Network [wire; half] [FlowIn 0 k None (Some m) true [Place 0 None; Place 1 (Some 0%nat)] [1%nat]] 0 64 1000.
Definition slow (f : frame) (arrival start : Z) : visit :=
  let e := start + 2 * f_size f in Visit f 1 1 arrival start start e e e.
Lemma monitor_without_leniency :
  refuted (turned (Monitor 1000 9000 0 0) (Contract 1000 1000 1000 0))
          (turned (Monitor 1000 9000 8000 0) (Contract 1000 1000 1000 0)).
Proof.
  pose (f := Frame 0 0 0 0 1000 0 0 true). pose (g := Frame 1 0 0 1 1000 1000 1000 true).
  delayed (Claims 1000000 [[Row 0 1000 far]; [Row 0 2500 far]] [] [])
    (TraceIn 1 [f; g] [hop f 0 0 0 0; hop g 0 0 1000 1000; slow f 1000 1000; slow g 2000 3000] [] nobody (until 9000)).
Qed.

(** The frames of a message come apart, as far as the monitor allows: not counted. *)
Lemma monitor_without_spread :
  refuted (turned (Monitor 2000 10000 0 0) (Contract 2000 1000 10000 9000))
          (turned (Monitor 2000 10000 0 9000) (Contract 2000 1000 10000 9000)).
Proof.
  pose (a := Frame 0 0 0 0 1000 0 0 true). pose (b := Frame 1 0 0 0 1000 0 9000 true).
  pose (c := Frame 2 0 0 1 1000 10000 10000 true). pose (d := Frame 3 0 0 1 1000 10000 10000 true).
  delayed (Claims 1000000 [[Row 0 3800 far]; [Row 0 3500 (Hint 1500 1 5 8)]] [] [])
    (TraceIn 1 [a; b; c; d]
      [ hop a 0 0 0 0; hop b 0 0 9000 9000; hop c 0 0 10000 10000; hop d 0 0 10000 11000;
        slow a 1000 1000; slow b 10000 10000; slow c 11000 12000; slow d 12000 14000 ] [] nobody (until 20000)).
Qed.

(** At its host's port a flow counts by the contract of the mode: what another flow of the host sends
    by its higher contract delays it before any switch has seen that. *)
Definition own_port (message : Z) : network := Network [wire; wire]
  [ FlowIn 0 (Contract message 1000 10000 0) None (Some (Monitor 1000 9000 0 0)) true
      [Place 0 None; Place 1 (Some 0%nat)] [1%nat]; sender 1 500 500 0 ] 0 64 12304.
Lemma own_port_by_the_mode : refuted (own_port 1000) (own_port 2000).
Proof.
  pose (f := Frame 0 0 0 0 1000 0 0 true). pose (h := Frame 1 0 0 0 1000 0 0 true).
  pose (g := Frame 2 1 1 0 500 0 0 true).
  delayed (Claims 1000000 [[Row 0 1500 far; Row 1 1700 far]; [Row 0 5000 far]] [] [])
    (TraceIn 1 [f; h; g]
      [ hop f 0 0 0 0; hop h 0 0 0 1000; hop g 0 0 0 2000; hop f 1 1 1000 1000; hop h 1 1 2000 2000 ]
      [] nobody (until 2000)).
Qed.

(** A switch that drops at its swap what waits, but goes on to forward what comes of a flow that has
    ended (until others have swapped, say). *)
Definition ended (a : bool) : network := Network [wire; wire; wire]
  [ FlowIn 1 (Contract 1000 1000 20000 0) None None true [Place 0 None; Place 1 (Some 0%nat)] [1%nat];
    FlowIn 0 (Contract 4000 1000 20000 0) None None a [Place 2 None; Place 1 (Some 0%nat)] [1%nat] ] 0 64 12304.
Definition e_ (i : nat) : frame := Frame i 1 0 0 1000 0 0 true.
Lemma forwarded_after_the_swap : refuted (ended false) (ended true).
Proof.
  pose (f := Frame 0 0 1 0 1000 0 0 true).
  delayed (Claims 1000000 [[Row 1 1000 far]; [Row 1 1500 far]; [Row 0 4000 far]] [] [])
    (Trace 1 [f; e_ 1; e_ 2; e_ 3; e_ 4]
      [ hop f 0 0 0 0; hop (e_ 1) 0 2 0 0; hop (e_ 2) 0 2 0 1000; hop (e_ 3) 0 2 0 2000; hop (e_ 4) 0 2 0 3000;
        hop (e_ 1) 1 1 1000 1000; hop (e_ 2) 1 1 2000 2000; hop (e_ 3) 1 1 3000 3000; hop (e_ 4) 1 1 4000 4000;
        hop f 1 1 1000 5000 ] [] nobody).
Qed.

(** D_mc for a transition bound: from the last swap on the rows of the higher mode hold. But what the
    flow that ended has held back is still there. The trace is one of the higher mode, drained at
    8000; all switches have swapped by 4500. *)
Definition since_4500 (done : Z) : span :=
  Span (fun p => if Nat.eqb p 1 then 4500 else -1) (fun p => if Nat.eqb p 1 then done else -1) None.
Definition held_back : network := Network [wire; wire; wire]
  [ FlowIn 1 (Contract 1000 1000 2000 0) None None true [Place 0 None; Place 1 (Some 0%nat)] [1%nat];
    FlowIn 0 (Contract 4000 1000 20000 0) None None false [Place 2 None; Place 1 (Some 0%nat)] [1%nat] ] 0 64 12304.
Lemma swapped_for_drained : exists c t, accepts held_back c = true /\
  valid held_back (with_span t (since_4500 8000)) /\ breaks_delay held_back c (with_span t (since_4500 4500)).
Proof.
  pose (f k := Frame (10 + Z.to_nat k) 0 1 k 1000 (2000 * k) (2000 * k) true).
  exists (Claims 1000000 [[Row 1 1000 far]; [Row 1 1500 far]; [Row 0 4000 far]] [] []).
  exists (Trace 1 [f 0; f 1; f 2; e_ 1; e_ 2; e_ 3; e_ 4]
      [ hop (f 0) 0 0 0 0; hop (f 1) 0 0 2000 2000; hop (f 2) 0 0 4000 4000;
        hop (e_ 1) 0 2 0 0; hop (e_ 2) 0 2 0 1000; hop (e_ 3) 0 2 0 2000; hop (e_ 4) 0 2 0 3000;
        hop (e_ 1) 1 1 1000 1000; hop (e_ 2) 1 1 2000 2000; hop (e_ 3) 1 1 3000 3000; hop (e_ 4) 1 1 4000 4000;
        hop (f 0) 1 1 1000 5000; hop (f 1) 1 1 3000 6000; hop (f 2) 1 1 5000 7000 ] [] nobody).
  split; [vm_compute; reflexivity|]. split; [apply checked_trace_is_valid; vm_compute; reflexivity|].
  apply breaks_delay_right. vm_compute. reflexivity.
Qed.

(** Signals of modes, not counted. *)
Lemma forgotten_signals :
  refuted (alone wire [sender 1 1000 1000 0]) (alone wire [sender 1 1000 1000 0; sender 0 1632 816 0]).
Proof.
  pose (f := Frame 0 0 1 0 1000 0 0 true). pose (s i := Frame i 1 0 0 816 0 0 true).
  delayed (Claims 1000000 [[Row 1 1000 far]] [] [])
    (Trace 1 [f; s 1%nat; s 2%nat] [hop (s 1%nat) 0 0 0 0; hop (s 2%nat) 0 0 0 816; hop f 0 0 0 1632] [] nobody).
Qed.

(** The backlog of flows and signals together with the largest frame of flows, where signals are
    larger: one of them may be on the line while smaller frames come. (Flows alone keep the bound:
    signals have a queue of their own.) *)
Definition signalled (frame : Z) : network := Network
  [ Port 999000000000 999000000000 0 0 0 0 0 0; wire ]
  [ Flow 0 (Contract 4200 frame 1000000000 0) None [Place 1 None] [];
    Flow 1 (Contract 999 999 1005 1004) None [Place 0 None; Place 1 (Some 0%nat)] [1%nat] ] 0 64 12304.
Lemma signal_on_the_line : refuted (signalled 64) (signalled 1400).
Proof.
  pose (s i := Frame i 0 0 0 1400 2004 2004 true).
  pose (f k := Frame (10 + Z.to_nat k) 1 1 k 999 (1005 * k) (Z.max 1004 (1005 * k)) true).
  pose (out k := let a := 1004 + 1000 * k in
    Visit (f k) 0 0 (f_release (f k)) a a (a + 1000) (a + 1000) (a + 1000)).
  pose (ks := [0; 1; 2; 3; 4]).
  refute (Claims 1000000 [[Row 1 2005 far]; [Row 0 5200 far; Row 1 8200 far]] [] [None; Some (Backlog 6200 near)])
    (Trace 1 (map s [1; 2; 3]%nat ++ map f ks)
      (map out ks ++ [hop (s 1%nat) 0 1 2004 2004; hop (s 2%nat) 0 1 2004 3404; hop (s 3%nat) 0 1 2004 4804] ++
       map (fun k => hop (f k) 1 1 (2004 + 1000 * k) (6204 + 999 * k)) ks) [] nobody).
  right. exists 1%nat, (Backlog 6200 near), 6203.
  split; [reflexivity|]. split; [discriminate|]. split; [reflexivity|]. vm_compute. reflexivity.
Qed.

(** ** Raises *)

(** A trace with all that a raise has, in which a frame breaks a claim. *)
Definition broken_in_raise (before during : network) (c : claims) (mc : Z) : Prop := exists t r,
  follows before (with_span t (always_until (Some (r_trigger r)))) /\ valid during (with_span t (always_until None)) /\
  raises (after during) t r /\
  (forall p s, r_switch r p = Some s -> r_swapped r s <= r_trigger r + units t mc) /\
  breaks_delay during c (with_span t (always_until None)).

Module Leaving.
(* flow 0 leaves, and is above three others that stay; port 1 is of a switch *)
Definition ending (leaves : bool) : flow :=
  FlowOfRaise 0 (Contract 4000 4000 5000 0) None None true leaves [Place 0 None; Place 1 (Some 0%nat)] [1%nat].
Definition staying (p : nat) : flow :=
  Flow 1 (Contract 1000 1000 100000 0) None [Place p None; Place 1 (Some 0%nat)] [1%nat].
Definition net (leaves : bool) : network :=
  Network (repeat wire 5) [ending leaves; staying 2; staying 3; staying 4] 0 64 12304.

(* the second message of flow 0 comes when the last frame of class 1 has waited for 5000, and before the swap *)
Definition e (k : Z) : frame := Frame (Z.to_nat (10 + k)) 0 0 k 4000 (5000 * k) (5000 * k) true.
Definition s (i : nat) : frame := Frame i i 1 0 1000 3000 3000 true.
Definition trace_ : trace := Trace 1 [e 0; e 1; s 1; s 2; s 3]
  [ hop (e 0) 0 0 0 0; hop (e 1) 0 0 5000 5000; hop (s 1) 0 2 3000 3000; hop (s 2) 0 3 3000 3000; hop (s 3) 0 4 3000 3000;
    hop (e 0) 1 1 4000 4000; hop (s 1) 1 1 4000 8000; hop (e 1) 1 1 9000 9000;
    hop (s 2) 1 1 4000 13000; hop (s 3) 1 1 4000 14000 ] [] nobody.
Definition raise_ : raise := Raise (fun p => match p with 1%nat => Some 0%nat | _ => None end) 8950 0
  (fun _ => 8950) (fun _ => 9050).

Lemma is_raise : raises (after (net true)) trace_ raise_.
Proof.
  constructor.
  - intros v x Hv _. each_visit Hv; cbn; intros E; inversion E; subst; vm_compute; auto; intros X; now destruct X.
  - intros v x _ D. discriminate.
  - intros v Hv. each_visit Hv; cbn; intros E; try discriminate; reflexivity.
Qed.

Lemma broken c : breaks_delay_b (net true) c (with_span trace_ (always_until None)) = true ->
  broken_in_raise (net false) (net true) c 100.
Proof.
  intros B. exists trace_, raise_. split; [apply checked_trace_follows; vm_compute; reflexivity|].
  split; [apply checked_trace_is_valid; vm_compute; reflexivity|]. split; [exact is_raise|].
  split; [|now apply breaks_delay_right].
  intros [|[|p]] x E; inversion E. vm_compute. discriminate.
Qed.

Definition hosts_ : list row := [Row 1 1000 far].
Definition rows_ (d : Z) (window : option Z) : claims := Claims 1000000
  [[Row 0 4000 far]; [RowOfRaise 0 8300 window near; RowOfRaise 1 d window far]; hosts_; hosts_; hosts_] [] [].
End Leaving.

(** The window is D_mc, counted from the trigger: but the busy period was there before. *)
Lemma window_without_busy_period : rows_ok (Leaving.net true) (Leaving.rows_ 10400 (Some 100)) = true /\
  broken_in_raise (Leaving.net false) (Leaving.net true) (Leaving.rows_ 10400 (Some 100)) 100.
Proof. split; [vm_compute; reflexivity|]. apply Leaving.broken. vm_compute. reflexivity. Qed.

(** Flows that leave, not counted from the trigger on. *)
Lemma forgotten_leaving : accepts (after (Leaving.net true)) (Leaving.rows_ 3100 None) = true /\
  broken_in_raise (Leaving.net false) (Leaving.net true) (Leaving.rows_ 3100 None) 100.
Proof. split; [vm_compute; reflexivity|]. apply Leaving.broken. vm_compute. reflexivity. Qed.

(** And a window that is long enough is accepted: both are refuted for what they leave out. *)
Lemma with_both : raise_accepts (Leaving.net false) (Leaving.rows_ 60000 None) (Leaving.net true)
  (Leaving.rows_ 60000 (Some 62000)) 100 [ []; [Stretch 61000 None (after_ 61000)]; []; []; [] ] = true.
Proof. vm_compute. reflexivity. Qed.

(** Drops that take longer than the frames would have taken on the line. All else is as the model has it: the trace is one of
    a network whose line may be slower, but what is sent is sent at the full rate. *)
Lemma drops_that_take_longer : exists cb cd ys t r,
  raise_accepts (Dropping.net false) cb (Dropping.net true) cd 100 ys = true /\
  follows (Dropping.slowest 1000000000 false) (with_span t (always_until (Some (r_trigger r)))) /\
  valid (Dropping.slowest 1000000000 true) (with_span t (always_until None)) /\
  raises (after (Dropping.net true)) t r /\
  (forall p s, r_switch r p = Some s -> r_swapped r s <= r_trigger r + units t 100) /\
  (forall v, In v (t_visits t) -> t_dropped t v = false -> fast * (v_end v - v_start v) <= full t * size v) /\
  breaks_delay (Dropping.net true) cd (with_span t (always_until None)).
Proof.
  exists (Dropping.claims_ None), (Dropping.claims_ (Some 90100)), Dropping.stretches, (Dropping.trace_ 100000), Dropping.raise_.
  split; [exact Dropping.is_accepted|]. split; [apply checked_trace_follows; vm_compute; reflexivity|].
  split; [apply checked_trace_is_valid; vm_compute; reflexivity|]. split; [Dropping.are_raises 100000|].
  split; [intros p s _; vm_compute; discriminate|]. split.
  - intros v Hv. each_visit Hv; vm_compute; intros D; first [discriminate D|discriminate].
  - apply breaks_delay_right. vm_compute. reflexivity.
Qed.

(** ** D_mc *)

(** A trace in which a switch swaps later than mc after the trigger. *)
Definition swaps_later (n : network) (k : fabric) (mc : Z) : Prop := exists t r,
  follows n (with_span t (always_until (Some (r_trigger r)))) /\ spreads n t r k /\
  exists p s, r_switch r p = Some s /\ r_trigger r + units t mc < r_swapped r s.

(** D_q left out: two switches, each drops what is queued frame by frame. *)
Lemma forgotten_purge : swaps_later TwoModes.low TwoModes.fabric_ (1136 + 20).
Proof.
  exists TwoModes.real, TwoModes.raise_. split; [exact TwoModes.low_is_followed|]. split; [exact TwoModes.signals_spread|].
  exists 2%nat, 1%nat. split; reflexivity.
Qed.

(** D_arrange without the frame that is on the line when a signal comes. *)
Lemma forgotten_frame_before_a_signal : swaps_later TwoModes.low
  (Fabric (k_of TwoModes.fabric_) (k_behind TwoModes.fabric_) [0; 0] [0; 0]) 100.
Proof.
  pose (at_once := fun s => match s with 0%nat => 3000 | _ => 4100 end).
  exists TwoModes.real, (Raise (r_switch TwoModes.raise_) 3000 0 at_once at_once).
  split; [exact TwoModes.low_is_followed|]. split; [|exists 2%nat, 1%nat; split; reflexivity].
  constructor.
  - exact (raised_switch _ _ _ _ TwoModes.signals_spread).
  - split; [cbn; lia|vm_compute; discriminate].
  - intros [|s]; vm_compute; discriminate.
  - intros p a b Ea Eb. destruct p as [|[|[|[|p]]]]; cbn in Ea, Eb; try discriminate; inversion Ea; inversion Eb; subst.
    + right. exists (hop TwoModes.signal 0 1 3000 4000), 4100. split; [cbn; tauto|]. repeat split; vm_compute; discriminate.
    + left. vm_compute. discriminate.
    + destruct p; discriminate.
  - intros [|[|s]] Hs; [| |cbn in Hs; lia].
    + exists 3000. repeat split; vm_compute; discriminate.
    + exists 4100. repeat split; vm_compute; discriminate.
Qed.

(** D_q by what the mode before can have queued: a host has turned to its higher contract, and while the
    switch turns its frames come and keep back those of another. *)
Module Queue.
Definition over_ (p : nat) : list place := [Place p None; Place 1 (Some 0%nat)].
Definition n : network := Network [wire; wire; wire]
  [ FlowIn 1 (Contract 20000 1000 1000000 0) None (Some (Monitor 1000 900000 1000 0)) true (over_ 0) [1%nat];
    FlowIn 2 (Contract 1000 1000 2000 0) None None true (over_ 2) [1%nat] ] 0 1000 12304.
Definition k : fabric := Fabric [None; Some 0%nat; None] [Some 0%nat; None; Some 0%nat] [20000] [100].
Definition c : claims := Claims 1000000 [ [Row 1 20000 far]; [Row 1 2010 far; Row 2 3000 far]; [Row 2 1000 far] ] []
  [None; Some (Backlog 3510 far); None].

(* twenty frames of a message, and ten messages of the other flow, which wait for them *)
Definition a (i : nat) : frame := Frame i 0 1 0 1000 0 0 true.
Definition b (i : nat) : frame := Frame (20 + i) 1 2 (Z.of_nat i) 1000 (2000 * Z.of_nat i) (2000 * Z.of_nat i) true.
Definition t : trace := Trace 1 (map a (seq 0 20) ++ map b (seq 0 10))
  (map (fun i => hop (a i) 0 0 0 (1000 * Z.of_nat i)) (seq 0 20) ++
   map (fun i => hop (a i) 1 1 (1000 * Z.of_nat i + 1000) (1000 * Z.of_nat i + 1000)) (seq 0 20) ++
   map (fun i => hop (b i) 0 2 (2000 * Z.of_nat i) (2000 * Z.of_nat i)) (seq 0 10) ++
   map (fun i => hop (b i) 1 1 (2000 * Z.of_nat i + 1000) (21000 + 1000 * Z.of_nat i)) (seq 0 10)) [] nobody.
(* the second frame is too much; the switch turns when eleven frames are queued *)
Definition r : raise := Raise (fun p => match p with 1%nat => Some 0%nat | _ => None end) 2000 0 (fun _ => 2000) (fun _ => 23100).

Lemma is_spread : spreads n t r k.
Proof.
  constructor.
  - intros [|[|p]] s E; inversion E. reflexivity.
  - split; [cbn; lia|vm_compute; discriminate].
  - intros s. vm_compute. discriminate.
  - intros p a b Ea Eb. destruct p as [|[|[|p]]]; cbn in Ea, Eb; try discriminate. destruct p; discriminate.
  - intros [|s] Hs; [|cbn in Hs; lia]. exists 20000. repeat split; vm_compute; discriminate.
Qed.
End Queue.

Lemma queued_in_the_mode_before : accepts Queue.n Queue.c = true /\
  swaps_later Queue.n Queue.k (0 + 20000 + 100 * (3510 / n_frame_min Queue.n)).
Proof.
  split; [vm_compute; reflexivity|]. exists Queue.t, Queue.r. split; [apply checked_trace_follows; vm_compute; reflexivity|].
  split; [exact Queue.is_spread|]. exists 1%nat, 0%nat. split; reflexivity.
Qed.

(** What lines have brought since is what was left out. *)
Lemma with_what_has_come : change_ok Queue.n Queue.c Queue.k [[0]] 0 20000 4500 24500 = true.
Proof. vm_compute. reflexivity. Qed.

(** D_arrange without what holds signals back at each switch on the way, as if a switch that learns of a raise swapped
    and sent signals at once: one swap is counted, and the second switch learns of the raise after the first has swapped. *)
Module Held.
Import TwoModes.
Definition k : fabric := Fabric (k_of fabric_) (k_behind fabric_) [2000; 2000] [0; 0].
Definition at_once : fabric := Fabric (k_of fabric_) (k_behind fabric_) [0; 0] [0; 0].
Definition late : frame := Frame 20 2 0 0 100 5000 5000 true.
Definition t : trace := TraceIn 1 [f 0 0; f 1 2000; g 0; late]
  (way (f 0 0) 0 1000 2000 ++ way (f 1 2000) 2000 3000 4000 ++ way (g 0) 1000 2000 3000 ++ [hop late 0 1 5000 5000]) [] nobody always.
Definition r : raise := Raise (r_switch raise_) 3000 0 (fun s => match s with 0%nat => 3000 | _ => 5100 end)
  (fun s => match s with 0%nat => 5000 | _ => 7100 end).

Lemma is_spread : spreads low t r k.
Proof.
  constructor.
  - exact (raised_switch _ _ _ _ signals_spread).
  - split; [cbn; lia|vm_compute; discriminate].
  - intros [|s]; vm_compute; discriminate.
  - intros p a b Ea Eb. destruct p as [|[|[|[|p]]]]; cbn in Ea, Eb; try discriminate; inversion Ea; inversion Eb; subst.
    + right. exists (hop late 0 1 5000 5000), 5100. split; [cbn; tauto|]. repeat split; vm_compute; discriminate.
    + left. vm_compute. discriminate.
    + destruct p; discriminate.
  - intros [|[|s]] Hs; [| |cbn in Hs; lia].
    + exists 3000. repeat split; vm_compute; discriminate.
    + exists 5100. repeat split; vm_compute; discriminate.
Qed.
End Held.

Lemma forgotten_holding_back :
  change_ok TwoModes.low TwoModes.low_claims Held.at_once [[0; 1100]; [200; 0]] 1100 0 0 1100 = true /\
  swaps_later TwoModes.low Held.k (1100 + 2000).
Proof.
  split; [vm_compute; reflexivity|]. exists Held.t, Held.r. split; [apply checked_trace_follows; vm_compute; reflexivity|].
  split; [exact Held.is_spread|]. exists 2%nat, 1%nat. split; reflexivity.
Qed.

(** With it the change is accepted. *)
Lemma with_holding_back :
  change_ok TwoModes.low TwoModes.low_claims Held.k [[0; 3100]; [2200; 0]] 3100 2000 0 5100 = true.
Proof. vm_compute. reflexivity. Qed.
