(** Networks with modes: switches that raise the mode together, and from when on the rows of a mode
    hold. The description [n] is that of the network in the mode that is spoken of, the claims are
    its rows: `accepts` and the theorems of [Soundness] are about that mode.

    A frame that is dropped from a queue has a visit there ([t_dropped]); one that is dropped as it comes has none. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Description Model Busy Contract Accepts Ways Soundness.
Import ListNotations.
Open Scope Z_scope.

(** ** The start mode: its rows hold until a monitor has seen more than it bears with *)

Definition until (e : Z) : span := Span (fun _ => -1) (fun _ => -1) (Some e).

(** A flow has a place in the lowest mode, and what hosts do by higher contracts is in [f_contract]
    at their own ports and in what monitors bear with behind the first switch. *)
Lemma start_mode n t e : t_span t = until e ->
  (forall i, (i < length (n_flows n))%nat -> f_admitted (flow_at n i) = true) ->
  frames_are_real n t -> ways n t -> (forall p, (p < length (n_ports n))%nat -> port_works n t p) ->
  (forall v, In v (t_visits t) -> (v_port v < length (n_ports n))%nat) -> of_the_mode n t.
Proof.
  intros S A F W P L.
  assert (First : forall v, In v (t_visits t) -> 0 <= v_arrival v).
  { intros v Hv. assert (I : In v (visits_at t (v_port v))) by now apply at_port_in.
    pose proof (in_order _ _ _ (P _ (L v Hv)) v I). lia. }
  constructor.
  - intros v Hv _. right. apply A. apply (frame_flow _ _ F). now apply (visit_frame _ _ W).
  - intros v w _ Hw _ _. rewrite S. cbn. specialize (First w Hw). lia.
  - intros p _. exists (-1). rewrite S. cbn. split; [lia|]. intros v Hv _ Av. specialize (First v Hv). lia.
Qed.

(** ** A signal on a trunk *)

(** Signals are flow i, the only one of class 0 at p, within a token bucket of [burst] bits and [rate]
    bit/s; no other frame there is above s bits. This is so in every mode and between: nothing else is
    asked of other flows. *)
Record signals_at (n : network) (t : trace) (i p : nat) (s burst rate : Z) : Prop := {
  signals_bucket : forall x y, x <= y ->
    full t * sumif f_size (released_in i x y) (t_frames t) <= full t * burst + rate * (y - x);
  signals_first : forall w, In w (visits_at t p) -> 0 <= class w /\ (class w = 0 ->
    flow_of w = i /\ In (v_frame w) (t_frames t) /\ v_arrival w = f_release (v_frame w));
  frames_at_most : forall w, In w (visits_at t p) -> 0 < size w /\ (0 < class w -> size w <= s);
  below_at_most : 0 <= s /\ p_below (port_at n p) <= s;
  frames_positive : forall f, In f (t_frames t) -> 0 < f_size f;
  visits_apart : NoDup (visits_at t p);
  once_each : forall w w', In w (visits_at t p) -> In w' (visits_at t p) -> class w = 0 -> class w' = 0 ->
    v_frame w = v_frame w' -> w = w'
}.

(** A port that is fast enough for the signals, and sends s and their burst in d. *)
Record room_for_signals (n : network) (p : nat) (s burst rate d : Z) : Prop := {
  rate_enough : 0 <= rate <= p_rate_min (port_at n p) /\ 0 < p_rate_min (port_at n p);
  not_negative : 0 <= d;
  all_in_d : (s + burst) * ps_per_s <= p_rate_min (port_at n p) * d
}.

Theorem signal_in_time n t i p s burst rate d v : 0 < t_unit t -> port_works n t p ->
  signals_at n t i p s burst rate -> room_for_signals n p s burst rate d -> In v (visits_at t p) -> class v = 0 ->
  v_handover v <= v_arrival v + units t (d + p_tick (port_at n p)).
Proof.
  intros U W [K Cl Sz Be Fp Nd On] [[Rate Rp] Hd Room] Hv Cv.
  pose proof (in_order _ _ _ W v Hv) as Ov. assert (0 <= units t d) by (unfold units; nia).
  destruct (Z_le_gt_dec (v_end v) (v_arrival v + units t d)) as [|Late]; [unfold units in *; lia|exfalso].
  assert (Clr : cleared t p 0 (-1)).
  { intros w Hw _ Aw. pose proof (in_order _ _ _ W w Hw). lia. }
  assert (Bl : blocks n t p s 0 (-1) (v_arrival v)).
  { split; [tauto|]. intros w Hw Cw _ _. apply (Sz w Hw). exact Cw. }
  pose proof (Sz v Hv) as Sv.
  destruct (late_frame n t p W (fun w Hw => proj1 (Sz w Hw)) U Rp s 0 (-1) v (units t d) Bl Clr)
    as [u [Hu L]]; try assumption; try lia.
  rewrite (sumif_empty _ (came_above 0 _ _)) in L.
  2: { intros w Hw E. unfold came_above in E. rewrite !andb_true_iff, Z.ltb_lt in E.
       pose proof (Cl w Hw) as [? _]. lia. }
  assert (In1 : sumif size (came 0 u (v_arrival v)) (visits_at t p)
    <= sumif f_size (released_in i u (v_arrival v)) (t_frames t)).
  { apply sumif_inject with (R := fun w g => v_frame w = g); [exact Nd| | |].
    - intros g Hg. specialize (Fp g Hg). lia.
    - intros w Hw E. unfold came in E. rewrite !andb_true_iff, Z.eqb_eq, !Z.leb_le in E.
      destruct E as [[E0 E1] E2]. destruct (Cl w Hw) as [_ C]. destruct (C E0) as [Fw [Iw Aw]].
      exists (v_frame w). repeat split; auto; [|unfold size; lia].
      apply released_in_spec. split; [exact Fw|lia].
    - intros w w' g Hw Hw' C C' E E'. unfold came in C, C'. rewrite !andb_true_iff, Z.eqb_eq in C, C'.
      apply On; [auto|auto|tauto|tauto|congruence]. }
  specialize (K u (v_arrival v) (proj2 Hu)). assert (0 < full t) by (unfold full, ps_per_s; lia).
  set (x := sumif size _ _) in *. set (y := sumif f_size _ _) in *. set (R := p_rate_min _) in *.
  assert (full t * x <= full t * y) by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (rate * (v_arrival v - u) <= R * (v_arrival v - u)) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert (t_unit t * ((s + burst) * ps_per_s) <= t_unit t * (R * d)) by (apply Z.mul_le_mono_nonneg_l; lia).
  unfold full, units in *. lia.
Qed.

(** [held back]: a switch that learns of a raise serves no signal while it swaps, nor during a step of its purge.
    So a signal v may be in its queue later than the switch knows, and its last bit may go on the line (at [left]) later
    than the port's rules let it: both together by no more than eta. *)
Definition held_back (t : trace) (eta knows left : Z) (v : visit) : Prop :=
  Z.max 0 (v_arrival v - knows) + Z.max 0 (left - v_handover v) <= units t eta.

(** So a switch behind a trunk knows of a raise in time, if a signal is not lost: the term of a trunk
    in D_arrange. *)
Corollary trunk_in_time n t i p s burst rate d eta latency v knows left knows' : 0 < t_unit t -> port_works n t p ->
  signals_at n t i p s burst rate -> room_for_signals n p s burst rate d -> In v (visits_at t p) -> class v = 0 ->
  held_back t eta knows left v -> knows' <= left + units t (p_propagation (port_at n p) + latency) ->
  knows' <= knows + units t (d + p_tick (port_at n p) + p_propagation (port_at n p) + eta + latency).
Proof.
  intros U W S R Hv Cv A B. pose proof (signal_in_time n t i p s burst rate d v U W S R Hv Cv).
  unfold held_back, units in *. lia.
Qed.

(** ** A raise: signals spread, switches swap *)

(** The switches, by number: a part of the description. *)
Record fabric := Fabric {
  k_of : list (option nat);       (* of a port: its switch; none for a host's *)
  k_behind : list (option nat);   (* of a port: the switch behind its line; none for a host *)
  k_swap : list Z;                (* of a switch: to go by other tables *)
  k_purge : list Z                (* and to drop or move one frame that is queued *)
}.

(** A switch that purges serves signals after so many frames. *)
Definition purge_step : Z := 16.
Definition eta_of (k : fabric) (s : nat) : Z := nth s (k_swap k) 0 + purge_step * nth s (k_purge k) 0.

Definition switch_at (k : fabric) (s p : nat) : bool :=
  match nth p (k_of k) None with Some s' => Nat.eqb s s' | None => false end.
Definition ports_of (n : network) (k : fabric) (s : nat) : list nat :=
  filter (switch_at k s) (seq 0 (length (n_ports n))).
Definition latency_of (n : network) (k : fabric) (s : nat) : Z :=
  fold_right (fun p l => Z.max (p_latency_max (port_at n p)) l) 0 (ports_of n k s).

Record raise := Raise {
  r_switch : nat -> option nat;   (* the switch of a port; none for a host's, nor where only signals are sent *)
  r_trigger : Z;                  (* the last bit of the frame that is too much comes to its first switch *)
  r_starter : nat;
  r_knows : nat -> Z;             (* when a switch knows of the raise *)
  r_swapped : nat -> Z            (* from here on it goes by the tables of the mode *)
}.

Section Raise.
Variables (n : network) (t : trace) (r : raise).

Record raises : Prop := {
  (* after its swap a switch commits no frame that has no place in the mode *)
  no_late_commit : forall v s, In v (t_visits t) -> t_dropped t v = false -> r_switch r (v_port v) = Some s ->
    r_swapped r s <= v_choice v -> f_admitted (flow_at n (flow_of v)) = true;
  (* what is dropped there stood in a queue at the swap; what comes later without a place in the mode comes to no queue *)
  drops_what_stood : forall v s, In v (t_visits t) -> t_dropped t v = true -> r_switch r (v_port v) = Some s ->
    v_arrival v < r_swapped r s;
  (* what a host sends begins at its port; so do signals *)
  hosts_send : forall v, In v (t_visits t) -> r_switch r (v_port v) = None ->
    parent_of n (flow_of v) (v_place v) = None
}.

(** How it spreads. Signals are what has class 0, with a queue of their own. Other frames of the
    switch's ports that are queued when it turns are dropped or moved one by one. *)
Definition queued (k : fabric) (s : nat) (y : Z) (v : visit) : bool :=
  negb (class v =? 0) && switch_at k s (v_port v) && (v_arrival v <=? y) && (y <? v_end v).

Record spreads (k : fabric) : Prop := {
  raised_switch : forall p s, r_switch r p = Some s -> nth p (k_of k) None = Some s;
  (* [latency]: the starter has seen the frame *)
  starts : (r_starter r < length (k_swap k))%nat /\
    r_knows r (r_starter r) <= r_trigger r + units t (latency_of n k (r_starter r));
  no_sooner : forall s, r_trigger r <= r_knows r s;
  (* [signals]: a switch that knows sends a signal on every trunk, [held back] by no more than its swap and a step of
     its purge, and at least one copy of it comes; or the other knew before *)
  heard : forall p a b, nth p (k_of k) None = Some a -> nth p (k_behind k) None = Some b ->
    r_knows r b <= r_knows r a \/
    exists v left, In v (t_visits t) /\ v_port v = p /\ class v = 0 /\ held_back t (eta_of k a) (r_knows r a) left v /\
      r_knows r b <= left + units t (p_propagation (port_at n p) + latency_of n k b);
  (* [model]: swap and purge take no longer than the profile says *)
  swaps : forall s, (s < length (k_swap k))%nat -> exists y,
    r_knows r s <= y <= r_knows r s + units t (nth s (k_swap k) 0) /\
    r_swapped r s <= r_knows r s + units t (nth s (k_swap k) 0 +
      nth s (k_purge k) 0 * sumif (fun _ => 1) (queued k s y) (t_visits t))
}.

(** ** The drain *)

(** What the rows of the raise say of the ports of switches: no frame of a flow of the mode takes
    longer, and no busy period of all flows. [Raise.v] has it of checked rows. *)
Record raise_rows (longest : nat -> Z -> Z) (busy : nat -> Z) : Prop := {
  no_longer : forall v s, In v (t_visits t) -> r_switch r (v_port v) = Some s ->
    f_admitted (flow_at n (flow_of v)) = true ->
    let due := Z.max (v_arrival v) (r_trigger r) + units t (longest (v_port v) (class v)) in
    inside t due -> v_handover v <= due;
  no_busier : forall p x s, r_switch r p = Some s -> r_trigger r <= x -> inside t (x + units t (busy p)) ->
    exists u, x <= u <= x + units t (busy p) /\
    forall v, In v (t_visits t) -> v_port v = p -> v_arrival v < u -> v_end v <= u
}.

(** [from] of a port: all have swapped, and what the ports in front of it sent was of the mode. Port
    by port in the order of their feeding: where they feed one another in a circle there is none. *)
Record drains (mc : Z) (longest : nat -> Z -> Z) (busy from : nat -> Z) : Prop := {
  from_swapped : forall p, mc <= from p;
  from_feeding : forall i x y s, (i < length (n_flows n))%nat -> (x < length (f_places (flow_at n i)))%nat ->
    parent_of n i x = Some y -> r_switch r (port_of n i y) = Some s ->
    let q := port_of n i y in let p := port_of n i x in
    (from q + busy q) + longest q (f_class (flow_at n i)) + p_propagation (port_at n q) + p_latency_max (port_at n p) <= from p;
  later : forall p, 0 < from p /\ 0 <= busy p;
  takes_time : forall p, 0 <= p_propagation (port_at n p) /\ 0 <= p_latency_max (port_at n p)
}.

Definition drained_span (busy from : nat -> Z) (e : option Z) : span := Span
  (fun p => match r_switch r p with None => -1 | Some _ => r_trigger r + units t (from p) end)
  (fun p => match r_switch r p with None => -1 | Some _ => r_trigger r + units t (from p + busy p) end) e.

Theorem drained_is_of_the_mode mc longest busy from e :
  raises -> 0 < t_unit t -> (forall p s, r_switch r p = Some s -> r_swapped r s <= r_trigger r + units t mc) ->
  raise_rows longest busy -> drains mc longest busy from -> t_span t = drained_span busy from e ->
  (forall p s, (p < length (n_ports n))%nat -> r_switch r p = Some s ->
     inside t (r_trigger r + units t (from p + busy p))) ->
  frames_are_real n t -> ways n t -> (forall p, (p < length (n_ports n))%nat -> port_works n t p) ->
  (forall v, In v (t_visits t) -> (v_port v < length (n_ports n))%nat) -> of_the_mode n t.
Proof.
  intros R U M Rows D S End F W P L.
  assert (Order : forall v, In v (t_visits t) -> 0 <= v_arrival v <= v_choice v).
  { intros v Hv. assert (I : In v (visits_at t (v_port v))) by now apply at_port_in.
    pose proof (in_order _ _ _ (P _ (L v Hv)) v I). lia. }
  assert (Ad : forall v, In v (t_visits t) -> live t v ->
    parent_of n (flow_of v) (v_place v) = None \/ f_admitted (flow_at n (flow_of v)) = true).
  { intros v Hv [Lv _]. rewrite S in Lv. cbn in Lv. specialize (Order v Hv).
    destruct (r_switch r (v_port v)) as [s|] eqn:Es; [right|left; now apply (hosts_send R)].
    specialize (M _ s Es). pose proof (from_swapped _ _ _ _ D (v_port v)).
    destruct (t_dropped t v) eqn:Dv; [pose proof (drops_what_stood R v s Hv Dv Es); unfold units in *; nia|].
    apply (no_late_commit R v s Hv Dv Es). unfold units in *. nia. }
  constructor; [exact Ad| |].
  - intros v w Hv Hw [Ef [Pw Fs]] Live. destruct (Ad v Hv Live) as [|Av]; [congruence|].
    destruct Live as [Lv Iv]. rewrite S in Lv |- *. cbn in Lv |- *. specialize (Order w Hw) as Ow.
    destruct (r_switch r (v_port w)) as [s|] eqn:Es; [|lia]. cbn zeta in Fs.
    assert (Fl : flow_of w = flow_of v) by (unfold flow_of; now rewrite Ef).
    pose proof (visit_place _ _ W v Hv) as [Xv Pv]. pose proof (visit_place _ _ W w Hw) as [_ Pp].
    rewrite Fl in Pp. set (long := Z.max (v_arrival w) (r_trigger r) + units t (longest (v_port w) (class w))).
    assert (N : v_arrival v <= Z.max long (v_handover w) + units t (p_propagation (port_at n (v_port w)) +
      p_latency_max (port_at n (v_port v))) /\ (long < v_arrival v -> v_handover w <= long)).
    { split; [unfold units in *; lia|]. intros Lt. apply (no_longer _ _ Rows w s Hw Es ltac:(now rewrite Fl)).
      apply (inside_le t _ (v_arrival v)); [fold long; lia|exact Iv]. }
    assert (Hi : (flow_of v < length (n_flows n))%nat)
      by (apply (frame_flow _ _ F); now apply (visit_frame _ _ W)).
    rewrite Pp in Es. pose proof (from_feeding _ _ _ _ D _ _ _ s Hi Xv Pw Es) as G. cbn zeta in G.
    rewrite <- Pp, <- Pv in G. assert (Cw : f_class (flow_at n (flow_of v)) = class w).
    { rewrite <- Fl. symmetry. apply (frame_class _ _ F). now apply (visit_frame _ _ W). }
    rewrite Cw in G.
    destruct (r_switch r (v_port v)) as [s'|] eqn:Ev.
    + pose proof (takes_time _ _ _ _ D (v_port v)). pose proof (takes_time _ _ _ _ D (v_port w)).
      pose proof (later _ _ _ _ D (v_port w)) as La.
      assert (0 < units t (from (v_port w) + busy (v_port w))) by (unfold units; nia).
      assert (Gu : units t (from (v_port w) + busy (v_port w)) + units t (longest (v_port w) (class w)) +
        units t (p_propagation (port_at n (v_port w))) + units t (p_latency_max (port_at n (v_port v)))
        <= units t (from (v_port v))) by (unfold units; nia).
      assert (Nn : 0 <= units t (p_propagation (port_at n (v_port w))) /\
        0 <= units t (p_latency_max (port_at n (v_port v)))) by (unfold units; nia).
      assert (v_arrival v <= long + units t (p_propagation (port_at n (v_port w))) +
        units t (p_latency_max (port_at n (v_port v)))); [|unfold long in *; lia].
      destruct (Z_lt_ge_dec long (v_arrival v)) as [Lt|Ge]; [|lia].
      destruct N as [N1 N]. specialize (N Lt). unfold units in *. lia.
    + pose proof (hosts_send R v Hv Ev). congruence.
  - intros p Hp. rewrite S. cbn. destruct (r_switch r p) as [s|] eqn:Es.
    + destruct (no_busier _ _ Rows p (r_trigger r + units t (from p)) s Es) as [u [Hu E]].
      { pose proof (later _ _ _ _ D p). unfold units. nia. }
      { specialize (End p s Hp Es). replace (r_trigger r + units t (from p) + units t (busy p))
          with (r_trigger r + units t (from p + busy p)) by (unfold units; lia). exact End. }
      exists u. split; [unfold units in *; lia|exact E].
    + exists (-1). split; [lia|]. intros v Hv _ Av. specialize (Order v Hv). lia.
Qed.
End Raise.
