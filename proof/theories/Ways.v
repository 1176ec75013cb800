(** From the source's queue, or the first switch, to the queue of a place: how long a frame takes,
    as long as all claims on the way hold. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Description Model Accepts.
Import ListNotations.
Open Scope Z_scope.

Lemma not_root f x : is_root f x = false -> parent (place_at f x) <> None.
Proof. unfold is_root. destruct (parent (place_at f x)); congruence. Qed.

Section Facts.
Variables (n : network) (c : claims) (t : trace).
Hypothesis good : wf n c = true.
Hypothesis V : follows n t.

Lemma wf_parts :
  (forall p, (p < length (n_ports n))%nat -> port_wf (port_at n p) = true) /\
  (forall i, (i < length (n_flows n))%nat -> flow_wf n (flow_at n i) = true) /\
  0 <= n_tolerance n /\ 0 < n_frame_min n <= n_frame_max n /\ 0 < q_scale c.
Proof.
  unfold wf in good. rewrite !andb_true_iff, !forallb_forall, !Z.leb_le, !Z.ltb_lt in good.
  destruct good as [[[[[Hp Hf] ?] ?] ?] ?]. repeat split; auto.
  - intros p Hl. apply Hp. now apply nth_In.
  - intros i Hl. apply Hf. now apply nth_In.
Qed.

Lemma port_facts p : (p < length (n_ports n))%nat ->
  0 < p_rate_min (port_at n p) <= p_rate_max (port_at n p) /\ 0 <= p_propagation (port_at n p) /\
  0 <= p_latency_min (port_at n p) <= p_latency_max (port_at n p) /\
  0 <= p_below (port_at n p) /\ 0 <= p_tick (port_at n p) /\ 0 <= p_other (port_at n p).
Proof.
  intros H. destruct wf_parts as [Hp _]. specialize (Hp p H). unfold port_wf in Hp.
  rewrite !andb_true_iff, !Z.leb_le, !Z.ltb_lt in Hp. lia.
Qed.

Lemma port_good p :
  0 < p_rate_min (port_at n p) <= p_rate_max (port_at n p) /\ 0 <= p_propagation (port_at n p) /\
  0 <= p_latency_min (port_at n p) <= p_latency_max (port_at n p) /\
  0 <= p_below (port_at n p) /\ 0 <= p_tick (port_at n p) /\ 0 <= p_other (port_at n p).
Proof.
  destruct (Nat.lt_ge_cases p (length (n_ports n))) as [H|H]; [now apply port_facts|].
  unfold port_at. rewrite nth_overflow by exact H. cbn. lia.
Qed.

Lemma frame_lt v : In v (t_visits t) -> (flow_of v < length (n_flows n))%nat.
Proof. intros H. apply (frame_flow n t (frames_real n t V)). now apply (visit_frame _ _ (ways_hold n t V)). Qed.

Lemma class_of v : In v (t_visits t) -> class v = f_class (flow_at n (flow_of v)).
Proof. intros H. apply (frame_class n t (frames_real n t V)). now apply (visit_frame _ _ (ways_hold n t V)). Qed.

Lemma size_bounds v : In v (t_visits t) -> n_frame_min n <= size v <= n_frame_max n.
Proof. intros H. apply (frame_bounds n t (frames_real n t V)). now apply (visit_frame _ _ (ways_hold n t V)). Qed.

Lemma port_is v : In v (t_visits t) ->
  v_port v = at_port (place_at (flow_at n (flow_of v)) (v_place v)).
Proof. intros H. now apply (visit_place _ _ (ways_hold n t V)). Qed.

Lemma place_facts i x : (i < length (n_flows n))%nat -> (x < length (f_places (flow_at n i)))%nat ->
  place_wf n (flow_at n i) x = true.
Proof.
  intros Hi Hx. destruct wf_parts as [_ [Hf _]]. specialize (Hf i Hi). unfold flow_wf in Hf.
  rewrite !andb_true_iff, forallb_forall in Hf. apply Hf. apply in_seq. lia.
Qed.

Lemma port_lt v : In v (t_visits t) -> (v_port v < length (n_ports n))%nat.
Proof.
  intros H. rewrite port_is by auto. pose proof (visit_place _ _ (ways_hold n t V) v H) as [Hx _].
  pose proof (place_facts _ _ (frame_lt v H) Hx) as W. unfold place_wf in W.
  apply andb_true_iff in W. now apply Nat.ltb_lt.
Qed.

Lemma parent_lt v x : In v (t_visits t) -> parent_of n (flow_of v) (v_place v) = Some x ->
  (x < v_place v)%nat.
Proof.
  intros H P. pose proof (visit_place _ _ (ways_hold n t V) v H) as [Hx _].
  pose proof (place_facts _ _ (frame_lt v H) Hx) as W. unfold place_wf in W.
  unfold parent_of in P. rewrite P in W. apply andb_true_iff in W. now apply Nat.ltb_lt.
Qed.

Lemma at_port_in v : In v (t_visits t) -> In v (visits_at t (v_port v)).
Proof.
  intros H. apply filter_In. rewrite in_app_iff, Nat.eqb_refl. auto.
Qed.

Lemma port_order v : In v (t_visits t) ->
  0 <= v_arrival v <= v_end v /\ v_end v <= v_handover v <= v_end v + units t (p_tick (port_at n (v_port v))).
Proof.
  intros H. pose proof (in_order _ _ _ (ports n t V _ (port_lt v H)) v (at_port_in v H)). lia.
Qed.

Lemma same_visit v w : In v (t_visits t) -> In w (t_visits t) -> key v = key w -> v = w.
Proof.
  pose proof (visit_once _ _ (ways_hold n t V)) as D. revert D. generalize (t_visits t) as l.
  induction l as [|z r IH]; cbn; intros D; [tauto|].
  inversion D as [|? ? Nz Dr]; subst.
  intros [<-|Hv] [<-|Hw] E; auto.
  - destruct Nz. rewrite E. now apply in_map.
  - destruct Nz. rewrite <- E. now apply in_map.
Qed.

Lemma visits_nodup : NoDup (t_visits t).
Proof. apply NoDup_map_inv with (f := key). apply (visit_once _ _ (ways_hold n t V)). Qed.

Lemma visits_at_nodup p : NoDup (visits_at t p).
Proof.
  apply NoDup_filter. pose proof (others_once _ _ (ways_hold n t V)) as O.
  pose proof (others_apart _ _ (ways_hold n t V)) as A. pose proof visits_nodup as D. revert A D.
  generalize (t_visits t) as l. induction l as [|v r IH]; cbn; intros A D; [exact O|].
  inversion D as [|? ? Nv Dr]; subst. constructor.
  - rewrite in_app_iff. intros [H|H]; [contradiction|]. apply (A v H). now left.
  - apply IH; auto. intros w Hw Hr. apply (A w Hw). now right.
Qed.

Lemma sizes_at p v : (p < length (n_ports n))%nat -> In v (visits_at t p) -> 0 < size v.
Proof.
  intros Hp Hv. apply filter_In in Hv. destruct Hv as [Hv Pv]. apply Nat.eqb_eq in Pv.
  apply in_app_iff in Hv. destruct Hv as [Hv|Hv].
  - pose proof (size_bounds v Hv). pose proof wf_parts. lia.
  - now apply (others_below _ _ _ (ports n t V p Hp) v Hv Pv).
Qed.

(** ** Claims that hold *)

Definition due_by (v : visit) : Z := v_arrival v + units t (delay c (v_port v) (class v)).

(** A host that babbles has no claim at its own port. *)
Definition claimed (v : visit) : Prop :=
  t_babbling t (flow_of v) = false \/ parent_of n (flow_of v) (v_place v) <> None.

(** What came to a port when all was of the mode, and is due in the span and before y, is in time. *)
Definition kept (y : Z) : Prop :=
  forall v, In v (t_visits t) -> claimed v -> s_done (t_span t) (v_port v) <= v_arrival v ->
  inside t (due_by v) -> due_by v < y -> v_handover v <= due_by v.

Lemma inside_le x y : x <= y -> inside t y -> inside t x.
Proof.
  unfold inside, before_end. destruct (s_until (t_span t)); [|auto]. rewrite !Z.ltb_lt. lia.
Qed.

Lemma since_done p : (p < length (n_ports n))%nat -> s_since (t_span t) p <= s_done (t_span t) p.
Proof. intros H. destruct (sent_before _ _ (modes _ _ V) p H) as [u [? _]]. lia. Qed.

Lemma upstream y v w : kept y -> In v (t_visits t) -> In w (t_visits t) -> from_switch n t v w ->
  v_arrival v <= y -> live t v -> claimed w ->
  s_done (t_span t) (v_port w) <= v_arrival w /\ v_handover w <= v_arrival v /\
  v_handover w <= due_by w.
Proof.
  intros K Hv Hw F Hy L Cw. pose proof (drained _ _ (modes _ _ V) v w Hv Hw F L) as D.
  destruct F as [_ [_ F]]. cbn zeta in F.
  pose proof (port_facts _ (port_lt w Hw)). pose proof (port_facts _ (port_lt v Hv)).
  assert (v_handover w <= v_arrival v) by (pose proof (unit_positive _ _ V); unfold units in F; nia).
  repeat split; auto. destruct (Z_lt_ge_dec (due_by w) (v_arrival v)) as [|G]; [|lia].
  apply K; auto; [|lia]. apply (inside_le _ (v_arrival v)); [lia|apply L].
Qed.

Lemma way_min_nonneg b f fuel : forall x, 0 <= way_min n b f fuel x.
Proof.
  induction fuel as [|fuel IH]; intros x; cbn [way_min]; [lia|].
  destruct (parent (place_at f x)) as [z|]; [|lia]. specialize (IH z).
  pose proof (port_good (at_port (place_at f x))). pose proof (port_good (at_port (place_at f z))).
  destruct (b && is_root f z); lia.
Qed.

Definition anchor (metered : bool) (w : visit) : Z :=
  if metered then received n t w else f_release (v_frame w).

Definition on_way (b : bool) (fuel x : nat) (v w : visit) : Prop :=
  In w (t_visits t) /\ v_frame w = v_frame v /\ parent_of n (flow_of w) (v_place w) = None /\
  anchor b w + units t (way_min n b (flow_at n (flow_of v)) fuel x) <= v_arrival v
  <= anchor b w + units t (way_max n c b (flow_at n (flow_of v)) fuel x).

Lemma way_bounds b y : kept y -> forall fuel x v, (x < fuel)%nat -> In v (t_visits t) ->
  v_place v = x -> v_arrival v <= y -> live t v -> (b = false -> t_babbling t (flow_of v) = false) ->
  (b = true -> parent_of n (flow_of v) x <> None) -> exists w, on_way b fuel x v w.
Proof.
  intros K. induction fuel as [|fuel IH]; intros x v Hx Hv Px Hy Lv Bf Bt; [lia|].
  destruct (visit_from _ _ (ways_hold n t V) v Hv) as [[Pn A]|[w [Hw F]]].
  - rewrite Px in Pn. exists v. unfold on_way, anchor. cbn [way_min way_max].
    unfold parent_of in Pn |- *. rewrite Px, Pn. destruct b; [now destruct (Bt eq_refl)|].
    unfold units. repeat split; auto; lia.
  - pose proof F as [Ef [Pw Fb]]. cbn zeta in Fb. pose proof (parent_lt v _ Hv Pw) as Lt.
    assert (Fl : flow_of w = flow_of v) by (unfold flow_of; now rewrite Ef).
    pose proof (port_order w Hw). pose proof (port_facts _ (port_lt w Hw)).
    pose proof (port_facts _ (port_lt v Hv)). pose proof (unit_positive _ _ V).
    rewrite Px in Pw. unfold parent_of in Pw.
    assert (Pv := port_is v Hv). rewrite Px in Pv. assert (Pp := port_is w Hw). rewrite Fl in Pp.
    destruct (b && is_root (flow_at n (flow_of v)) (v_place w)) eqn:E.
    + exists w. unfold on_way. cbn [way_min way_max]. rewrite Pw, E, <- Pv.
      apply andb_true_iff in E. destruct E as [-> E]. unfold anchor, received.
      unfold is_root in E. unfold parent_of. rewrite Fl.
      destruct (parent (place_at (flow_at n (flow_of v)) (v_place w))); [discriminate|].
      rewrite !Z.add_0_l. repeat split; auto; lia.
    + assert (Cw : claimed w).
      { unfold claimed. rewrite Fl. destruct b; [right|left; auto]. now apply not_root. }
      destruct (upstream y v w K Hv Hw F Hy Lv Cw) as [Dw [Ew U]].
      destruct (IH (v_place w) w) as [r [Hr [Er [Pr Br]]]];
        [lia|exact Hw|reflexivity|lia| |rewrite Fl; exact Bf| |].
      { split; [pose proof (since_done _ (port_lt w Hw)); lia|].
        apply (inside_le _ (v_arrival v)); [lia|apply Lv]. }
      { intros ->. unfold parent_of. rewrite Fl. now apply not_root. }
      exists r. unfold on_way. cbn [way_min way_max]. rewrite Pw, E, <- Pv, <- Pp.
      rewrite Fl in Br. repeat split; auto; try congruence; unfold units in *; [nia|].
      unfold due_by, units in U. rewrite (class_of w Hw), Fl in U. nia.
Qed.
End Facts.
