(** What an accepted claim means: in every trace of the described network it holds. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Description Model Busy Accepts Ways Arrivals Groups Delay Backlog.
Import ListNotations.
Open Scope Z_scope.

(** A frame of flow i is at the end of its way at place x: its last bit is received. *)
Definition delivered (n : network) (t : trace) (v : visit) : Z := received n t v.

(** A message that is released when all ports are done with all but the mode, and due in the span. *)
Definition of_span (t : trace) (f : frame) (claim : Z) : Prop :=
  (forall p, s_done (t_span t) p <= f_release f) /\ inside t (f_release f + units t claim).

(** All frames of a message are delivered at a target within its claim. *)
Definition message_in_time (n : network) (t : trace) (i x : nat) (claim : Z) : Prop :=
  forall f, In f (t_frames t) -> f_flow f = i -> f_passed f = true -> of_span t f claim ->
  exists v, In v (t_visits t) /\ v_frame v = f /\ v_place v = x /\ t_dropped t v = false /\
            delivered n t v <= f_release f + units t claim.

(** No more than so many bits of flows are in the buffer, at any instant of the span. *)
Definition buffer_suffices (t : trace) (p : nat) (bits : Z) : Prop :=
  forall y, s_done (t_span t) p <= y -> inside t y -> sumif size (in_buffer p y) (t_visits t) <= bits.

Lemma nth_combine {A B} (l : list A) (m : list B) i a b :
  (i < length l)%nat -> (i < length m)%nat -> nth i (combine l m) (a, b) = (nth i l a, nth i m b).
Proof.
  revert m i. induction l as [|x l IH]; intros m i Hl Hm; [cbn in Hl; lia|].
  destruct m as [|z m]; [cbn in Hm; lia|]. destruct i as [|i]; cbn; [reflexivity|].
  apply IH; cbn in *; lia.
Qed.

Section Sound.
Variables (n : network) (c : claims) (t : trace).
Hypothesis V : follows n t.
(** Where nothing leaves these hold of any trace: [steady_windows]. *)
Hypothesis windows : windows_hold n c t.

(** The delay of a class at a port, from the queue to the hand-over. *)
Theorem port_delays : delays_ok n c = true ->
  forall v, In v (t_visits t) -> claimed n t v ->
  s_done (t_span t) (v_port v) <= v_arrival v -> inside t (due_by c t v) ->
  v_handover v <= v_arrival v + units t (delay c (v_port v) (class v)).
Proof.
  intros A v Hv Cv Dv Iv. apply (all_kept n c t A V windows (due_by c t v + 1) v Hv Cv Dv Iv). lia.
Qed.

(** All the way a frame is in time. *)
Lemma way_in_time : delays_ok n c = true -> forall fuel x v, (x < fuel)%nat -> In v (t_visits t) ->
  v_place v = x -> t_babbling t (flow_of v) = false ->
  (forall p, s_done (t_span t) p <= f_release (v_frame v)) ->
  let w := way_max n c false (flow_at n (flow_of v)) fuel x in
  inside t (f_release (v_frame v) + units t w) ->
  f_release (v_frame v) <= v_arrival v <= f_release (v_frame v) + units t w.
Proof.
  intros A. pose proof (good n c A) as good. pose proof (unit_positive _ _ V) as Up.
  induction fuel as [|fuel IH]; intros x v Hx Hv Px Bv Dv; cbn zeta; intros Iv; [lia|].
  cbn [way_max] in *. destruct (visit_from _ _ (ways_hold _ _ V) v Hv) as [[Pn Ar]|[w [Hw F]]].
  - unfold parent_of in Pn. rewrite Px in Pn. rewrite Pn in *. unfold units in *. lia.
  - pose proof F as [Ef [Pw Fb]]. cbn zeta in Fb. pose proof (parent_lt n c t good V v _ Hv Pw) as Lt.
    assert (Fl : flow_of w = flow_of v) by (unfold flow_of; now rewrite Ef).
    rewrite Px in Pw. unfold parent_of in Pw. rewrite Pw in *. cbn [andb] in *.
    assert (Pv := port_is n t V v Hv). rewrite Px in Pv.
    assert (Pp := port_is n t V w Hw). rewrite Fl in Pp. rewrite <- Pv, <- Pp in *.
    pose proof (port_facts n c good _ (port_lt n c t good V w Hw)) as Fw.
    pose proof (port_facts n c good _ (port_lt n c t good V v Hv)) as Fv.
    pose proof (port_order n c t good V w Hw). pose proof (due_after n c t A V w Hw) as Da.
    unfold due_by in Da. rewrite (class_of n t V w Hw), Fl in Da.
    specialize (IH (v_place w) w ltac:(lia) Hw eq_refl). rewrite Fl, Ef in IH. cbn zeta in IH.
    set (r := f_release (v_frame v)) in *. set (y := way_max _ _ _ _ _ _) in *.
    set (d := delay c _ _) in *. unfold units in *.
    assert (Ir : r <= v_arrival w <= r + y * t_unit t).
    { apply IH; auto. eapply inside_le; [|exact Iv]. nia. }
    assert (Hand : v_handover w <= v_arrival w + d * t_unit t).
    { pose proof (port_delays A w Hw) as D. rewrite (class_of n t V w Hw), Fl in D. apply D.
      - left. congruence.
      - etransitivity; [apply Dv|lia].
      - unfold due_by. rewrite (class_of n t V w Hw), Fl. fold d. eapply inside_le; [|exact Iv].
        unfold units. nia. }
    nia.
Qed.

(** From the release of a message to its last bit at a target. *)
Theorem target_delays : delays_ok n c = true -> nothing_lost n t ->
  forall i x claim, (i < length (n_flows n))%nat -> t_babbling t i = false ->
  target_ok n c (flow_at n i) x claim = true -> message_in_time n t i x claim.
Proof.
  intros A Lost i x claim Hi Bi Ok f Hf Ff Pf [Df In1]. pose proof (good n c A) as good.
  unfold target_ok in Ok. rewrite !andb_true_iff, Nat.ltb_lt, negb_true_iff, Z.leb_le in Ok.
  destruct Ok as [[[Hx Ad] Le] Ok]. rewrite <- Ff in Hx, Ad, Le.
  destruct (Lost f x Hf Hx (or_introl (conj Ad (conj Le Pf)))) as [v [Hv [Ev [Pv Sv]]]].
  exists v. repeat split; auto. assert (Fv : flow_of v = i) by (unfold flow_of; congruence).
  assert (Pt : v_port v = at_port (place_at (flow_at n i) x))
    by (rewrite (port_is n t V v Hv), Fv, Pv; reflexivity).
  pose proof (due_after n c t A V v Hv) as Da. pose proof (unit_positive _ _ V) as Up.
  pose proof (port_facts n c good _ (port_lt n c t good V v Hv)) as Fp.
  pose proof (way_in_time A (S x) x v ltac:(lia) Hv Pv ltac:(congruence)) as W.
  rewrite Fv, Ev in W. cbn zeta in W. specialize (W Df). unfold due_by in Da.
  pose proof (port_delays A v Hv ltac:(left; congruence)) as D. unfold due_by in D.
  rewrite (class_of n t V v Hv), Fv, Pt in *. set (y := way_max _ _ _ _ _ _) in *.
  set (d := delay c _ _) in *. unfold delivered, received. rewrite Pt. unfold units in *.
  assert (Ar : f_release f <= v_arrival v <= f_release f + y * t_unit t).
  { apply W. eapply inside_le; [|exact In1]. nia. }
  assert (v_handover v <= v_arrival v + d * t_unit t).
  { apply D; [etransitivity; [apply Df|lia]|]. eapply inside_le; [|exact In1]. nia. }
  nia.
Qed.

(** The buffer of a port. *)
Theorem port_backlogs : delays_ok n c = true ->
  forall p b, (p < length (n_ports n))%nat -> backlog_ok n c (entries n c) p b = true ->
  (forall v, In v (t_visits t) -> v_port v = p -> live t v -> claimed n t v) ->
  (forall y, s_done (t_span t) p <= y -> inside t y -> buffer_window n c t p b y) ->
  buffer_suffices t p (b_bits b).
Proof.
  intros A p b Hp Ok Cl Win y Hy Iy. destruct (sent_before _ _ (modes _ _ V) p Hp) as [lo [Hlo Fr]].
  assert (Fre : fresh t p lo) by (split; [lia|exact Fr]).
  destruct (Z.eq_dec (p_other (port_at n p)) 0).
  - apply (backlog_bound n c t p A V windows Hp lo y Fre); auto; lia.
  - apply (backlog_behind n c t p A V windows Hp b lo y); auto; lia.
Qed.

(** All that is claimed together. *)
Definition all_hold : Prop :=
  (forall v, In v (t_visits t) -> claimed n t v ->
     s_done (t_span t) (v_port v) <= v_arrival v -> inside t (due_by c t v) ->
     v_handover v <= v_arrival v + units t (delay c (v_port v) (class v))) /\
  (forall i j x claim, (i < length (n_flows n))%nat -> t_babbling t i = false ->
     nth_error (combine (f_targets (flow_at n i)) (nth i (q_targets c) [])) j = Some (x, Some claim) ->
     message_in_time n t i x claim) /\
  (forall p b, (p < length (n_ports n))%nat -> nth_error (q_backlogs c) p = Some (Some b) ->
     (forall v, In v (t_visits t) -> v_port v = p -> live t v -> claimed n t v) ->
     buffer_suffices t p (b_bits b)).

(** The windows of buffers are as claimed. *)
Definition buffers_hold : Prop := forall p b, nth_error (q_backlogs c) p = Some (Some b) ->
  forall y, s_done (t_span t) p <= y -> inside t y -> buffer_window n c t p b y.

Lemma backlog_accepted p b : rows_ok n c = true -> (p < length (n_ports n))%nat ->
  nth_error (q_backlogs c) p = Some (Some b) -> backlog_ok n c (entries n c) p b = true.
Proof.
  intros A Hp E. unfold rows_ok in A. cbn zeta in A. rewrite !andb_true_iff in A. destruct A as [_ B].
  unfold backlogs_ok in B. rewrite forallb_forall in B.
  assert (I : In (p, Some b) (combine (seq 0 (length (n_ports n))) (q_backlogs c))).
  { assert (Lp : (p < length (q_backlogs c))%nat) by (apply nth_error_Some; congruence).
    assert (Q : nth p (combine (seq 0 (length (n_ports n))) (q_backlogs c)) (0%nat, None) = (p, Some b)).
    { rewrite nth_combine by (rewrite ?seq_length; lia). rewrite seq_nth by exact Hp. f_equal. now apply nth_error_nth. }
    rewrite <- Q. apply nth_In. rewrite combine_length, seq_length. lia. }
  exact (B _ I).
Qed.

Theorem accepted_rows_hold : rows_ok n c = true -> nothing_lost n t -> buffers_hold -> all_hold.
Proof.
  intros A Lost Bu. pose proof A as Rows. unfold rows_ok in A. cbn zeta in A. rewrite !andb_true_iff in A.
  destruct A as [[A T] B]. split; [now apply port_delays|split].
  - intros i j x claim Hi Bi E. apply (target_delays A Lost i x claim Hi Bi).
    rewrite forallb_forall in T. apply nth_error_In in E.
    destruct (Nat.lt_ge_cases i (length (q_targets c))) as [L|G].
    + assert (I : In (flow_at n i, nth i (q_targets c) []) (combine (n_flows n) (q_targets c))).
      { assert (Q : nth i (combine (n_flows n) (q_targets c)) (no_flow, []) =
                    (flow_at n i, nth i (q_targets c) [])).
        { now apply nth_combine. }
        rewrite <- Q. apply nth_In. rewrite combine_length. lia. }
      specialize (T _ I). cbn [fst snd] in T. unfold targets_ok in T. rewrite forallb_forall in T.
      exact (T _ E).
    + rewrite (nth_overflow (q_targets c)) in E by exact G. destruct (f_targets _); destruct E.
  - intros p b Hp E Cl. apply (port_backlogs A p b Hp); auto. now apply backlog_accepted.
Qed.
End Sound.

(** In a steady mode nothing leaves. *)
Theorem accepted_claims_hold n c t : valid n t -> accepts n c = true -> all_hold n c t.
Proof.
  intros V A. unfold accepts in A. apply andb_true_iff in A. destruct A as [S A].
  apply accepted_rows_hold; auto; [apply V|exact (steady_windows n c t V S)|apply V|].
  intros p b _ y _ _ lo u _ _ _ v Hv _ L. rewrite (none_leaves n c t V S v Hv) in L. discriminate.
Qed.
