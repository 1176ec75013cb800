(** A checker of traces: what it says yes to is a trace of the network. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Description Model.
Import ListNotations.
Open Scope Z_scope.

Definition frame_dec (f g : frame) : {f = g} + {f <> g}.
Proof. decide equality; first [apply Z.eq_dec | apply Nat.eq_dec | apply bool_dec]. Defined.

Definition visit_dec (v w : visit) : {v = w} + {v <> w}.
Proof. decide equality; first [apply Z.eq_dec | apply Nat.eq_dec | apply frame_dec]. Defined.

Definition same (v w : visit) : bool := if visit_dec v w then true else false.
Definition same_frame (v w : frame) : bool := if frame_dec v w then true else false.

Definition each {A} (l : list A) (f : A -> bool) : bool := forallb f l.
Definition implies (a b : bool) : bool := if a then b else true.
Definition some {A} (o : option A) : bool := match o with Some _ => true | None => false end.
Definition is_none (o : option nat) : bool := match o with None => true | _ => false end.

Fixpoint once {A} (eqb : A -> A -> bool) (l : list A) : bool :=
  match l with [] => true | x :: r => negb (existsb (eqb x) r) && once eqb r end.

(** The line is busy from a to b. *)
Fixpoint busy (l : list visit) (fuel : nat) (a b : Z) : bool :=
  if b <=? a then true else
  match fuel with
  | O => false
  | S fuel =>
    match find (fun w => (v_start w <=? a) && (a <? v_end w)) l with
    | Some w => busy l fuel (v_end w) b
    | None => false
    end
  end.

Section Check.
Variables (n : network) (t : trace).

Definition contract_b (i : nat) : bool :=
  let c := f_contract (flow_at n i) in
  let mine := filter (fun f => Nat.eqb (f_flow f) i) (t_frames t) in
  (0 <=? c_message c) &&
  each mine (fun f => (sumif f_size (fun g => Nat.eqb (f_flow g) i && (f_message g =? f_message f)) (t_frames t)
                        <=? c_message c)
    && (f_size f <=? c_frame c) && (f_due f <=? f_release f)
    && (f_release f <=? f_due f + units t (c_jitter c))
    && each mine (fun g => implies (f_message f <=? f_message g)
         ((f_message g - f_message f) * units t (c_period c) * 1000000
          <=? (f_due g - f_due f) * (1000000 + n_tolerance n)))).

Definition frames_b : bool :=
  each (t_frames t) (fun f => (n_frame_min n <=? f_size f) && (f_size f <=? n_frame_max n)
    && (f_flow f <? length (n_flows n))%nat && (f_level f =? f_class (flow_at n (f_flow f)))
    && (0 <=? f_release f)
    && each (t_frames t) (fun g => implies (Nat.eqb (f_id f) (f_id g)) (same_frame f g))).

Definition in_turn_b (v w : visit) : bool :=
  (same v w || (v_end v <=? v_start w) || (v_end w <=? v_start v)) && implies (v_choice v <? v_choice w) (v_start v <? v_start w).

Definition port_b (p : nat) : bool :=
  let l := visits_at t p in
  let q := port_at n p in
  each l (fun v => (0 <=? v_arrival v) && (v_arrival v <=? v_choice v) && (v_choice v <=? v_start v)
    && (v_start v <=? v_end v) && (v_end v <=? v_handover v)
    && (v_handover v <=? v_end v + units t (p_tick q))
    && (p_rate_min q * (v_end v - v_start v) <=? full t * size v)
    && (if t_dropped t v then (v_arrival v <? v_end v) && (takes_time v || (v_choice v =? v_end v))
        else full t * size v <=? p_rate_max q * (v_end v - v_start v))
    && busy l (length l) (v_arrival v) (v_start v)
    && implies (takes_time v)
         (sumif size (fun w => takes_time w && (v_start w <=? v_start v) && (v_choice v <? v_end w)) l
          <=? Z.max (p_below q) (size v))
    && each l (fun w => implies (takes_time v && takes_time w) (in_turn_b v w)
         && implies (takes_time w && ((v_start w <? v_start v) || negb (takes_time v) && (v_choice w <? v_choice v))
              && (v_arrival v <? v_choice w))
              ((class w <=? class v) && implies (class w =? class v) (v_arrival w <=? v_arrival v))))
  && each (filter (fun v => Nat.eqb (v_port v) p) (t_others t)) (fun v =>
       (0 <? size v) && (size v <=? p_other q)
       && each (seq 0 (length (n_flows n))) (fun i => f_class (flow_at n i) <? class v)).

Definition from_b (v : visit) : bool :=
  match parent_of n (flow_of v) (v_place v) with
  | None => v_arrival v =? f_release (v_frame v)
  | Some x => existsb (fun w => same_frame (v_frame w) (v_frame v) && Nat.eqb (v_place w) x &&
      let arrived := v_handover w + units t (p_propagation (port_at n (v_port w))) in
      (arrived + units t (p_latency_min (port_at n (v_port v))) <=? v_arrival v) &&
      (v_arrival v <=? arrived + units t (p_latency_max (port_at n (v_port v))))) (t_visits t)
  end.

Definition ways_b : bool :=
  once (fun a b => Nat.eqb (fst a) (fst b) && Nat.eqb (snd a) (snd b)) (map key (t_visits t)) &&
  once same (t_others t) &&
  each (t_others t) (fun v => negb (existsb (same v) (t_visits t))) &&
  each (t_visits t) (fun v => existsb (same_frame (v_frame v)) (t_frames t)
    && (v_place v <? length (f_places (flow_at n (flow_of v))))%nat
    && Nat.eqb (v_port v) (port_of n (flow_of v) (v_place v)) && from_b v
    && each (t_visits t) (fun w => implies (same_frame (v_frame w) (v_frame v)
         && match parent_of n (flow_of v) (v_place v) with Some x => Nat.eqb x (v_place w) | None => false end)
       (negb (t_dropped t w)))).

Definition nothing_lost_b : bool :=
  each (t_frames t) (fun f => each (seq 0 (length (f_places (flow_at n (f_flow f))))) (fun x =>
    implies (f_admitted (flow_at n (f_flow f)) && negb (f_leaves (flow_at n (f_flow f))) && f_passed f || is_none (parent_of n (f_flow f) x))
      (existsb (fun v => same_frame (v_frame v) f && Nat.eqb (v_place v) x && negb (t_dropped t v)) (t_visits t)))).
Definition meter_b (i : nat) : bool :=
  let mine := filter (fun v => Nat.eqb (flow_of v) i) (t_visits t) in
  match f_meter (flow_at n i) with
  | None => true
  | Some m =>
    each mine (fun v => if is_none (parent_of n (flow_of v) (v_place v))
      then (received n t v <=? v_stamp v) && (v_stamp v <? received n t v + units t stamp_step)
      else f_passed (v_frame v)) &&
    each mine (fun v => each mine (fun w => implies (v_stamp v <=? v_stamp w)
      (full t * sumif (fun x => size x - m_uncounted m) (stamped n i (v_stamp v) (v_stamp w)) (t_visits t)
       <=? full t * m_burst m + m_rate m * (v_stamp w - v_stamp v))))
  end.

(** A monitor that takes the messages of the flow for what they are: this is enough for the traces here. *)
Definition number (v : visit) : Z := f_message (v_frame v).
Definition first (i : nat) (k : Z) : Z :=
  let mine := filter (fun v => watched n t i v && (number v =? k)) (t_visits t) in
  match mine with [] => 0 | v :: r => fold_right (fun w s => Z.min (v_stamp w) s) (v_stamp v) r end.

Definition monitor_b (i : nat) : bool :=
  let mine := filter (watched n t i) (t_visits t) in
  match f_monitor (flow_at n i) with
  | None => true
  | Some m => (0 <=? w_message m) &&
    each mine (fun v => (received n t v <=? v_stamp v) && (v_stamp v <? received n t v + units t stamp_step)
      && (sumif size (fun w => watched n t i w && (number w =? number v)) (t_visits t) <=? w_message m)
      && (first i (number v) <=? v_stamp v) && (v_stamp v <=? first i (number v) + units t (w_spread m))
      && each mine (fun w => implies (number v <? number w)
           (first i (number v) - units t (w_jitter m) + (number w - number v) * units t (w_period m)
            <=? first i (number w))))
  end.

Definition live_b (v : visit) : bool :=
  (s_since (t_span t) (v_port v) <=? v_arrival v) && before_end t (v_arrival v).

Definition modes_b : bool :=
  each (t_visits t) (fun v => implies (live_b v)
    ((is_none (parent_of n (flow_of v) (v_place v)) || f_admitted (flow_at n (flow_of v))) &&
     each (t_visits t) (fun w => implies (same_frame (v_frame w) (v_frame v)
         && match parent_of n (flow_of v) (v_place v) with Some x => Nat.eqb x (v_place w) | None => false end)
       (s_done (t_span t) (v_port w) <=? v_arrival w)))) &&
  each (seq 0 (length (n_ports n))) (fun p =>
    existsb (fun u => (s_since (t_span t) p <=? u) && (u <=? s_done (t_span t) p) &&
        each (t_visits t) (fun v => implies (Nat.eqb (v_port v) p && (v_arrival v <? u)) (v_end v <=? u)))
      (s_since (t_span t) p :: map v_end (t_visits t))).

Definition follows_b : bool :=
  let flows := seq 0 (length (n_flows n)) in
  (0 <? t_unit t) && frames_b &&
  each flows (fun i => if t_babbling t i then some (f_meter (flow_at n i)) else contract_b i) &&
  each flows (fun i => each flows (fun j =>
    implies (Nat.eqb (port_of n i 0) (port_of n j 0)) (Bool.eqb (t_babbling t i) (t_babbling t j)))) &&
  each (seq 0 (length (n_ports n))) port_b && ways_b && each flows meter_b &&
  each flows monitor_b && modes_b.

Definition valid_b : bool := follows_b && nothing_lost_b.

(** ** It is right *)

Ltac both := rewrite ?andb_true_iff, ?orb_true_iff, ?Z.leb_le, ?Z.ltb_lt, ?Z.eqb_eq, ?Nat.eqb_eq, ?Nat.ltb_lt in *.

Lemma each_in {A} (l : list A) f x : each l f = true -> In x l -> f x = true.
Proof. intros H. unfold each in H. rewrite forallb_forall in H. apply H. Qed.

Lemma each_index k f i : each (seq 0 k) f = true -> (i < k)%nat -> f i = true.
Proof. intros H L. apply (each_in _ _ _ H). apply in_seq. lia. Qed.

Lemma implies_true a b : implies a b = true -> a = true -> b = true.
Proof. intros H ->. exact H. Qed.

Lemma same_eq v w : same v w = true -> v = w.
Proof. unfold same. destruct (visit_dec v w); congruence. Qed.

Lemma same_frame_eq v w : same_frame v w = true -> v = w.
Proof. unfold same_frame. destruct (frame_dec v w); congruence. Qed.

Lemma once_nodup {A} eqb (l : list A) : (forall x, eqb x x = true) -> once eqb l = true -> NoDup l.
Proof.
  intros R. induction l as [|x r IH]; cbn; intros H; constructor; apply andb_true_iff in H; destruct H as [H1 H2]; auto.
  intros Hx. apply negb_true_iff in H1. assert (existsb (eqb x) r = true); [|congruence].
  apply existsb_exists. eauto.
Qed.

Lemma busy_spec l fuel : forall a b x, busy l fuel a b = true -> a <= x < b ->
  exists w, In w l /\ v_start w <= x < v_end w.
Proof.
  induction fuel as [|fuel IH]; intros a b x H Hx; cbn in H; destruct (b <=? a) eqn:E; both; try lia; try discriminate.
  destruct (find _ l) as [w|] eqn:F; [|discriminate].
  apply find_some in F. destruct F as [Hw F]. both.
  destruct (Z_lt_ge_dec x (v_end w)); [exists w; split; auto; lia|].
  apply (IH (v_end w) b); auto. lia.
Qed.

Lemma filter_flow i f : In f (t_frames t) -> f_flow f = i ->
  In f (filter (fun f => Nat.eqb (f_flow f) i) (t_frames t)).
Proof. intros H E. apply filter_In. split; auto. now apply Nat.eqb_eq. Qed.

Lemma contract_right i : contract_b i = true -> keeps_contract n t i.
Proof.
  unfold contract_b. cbn zeta. intros H. apply andb_true_iff in H. destruct H as [Hm H].
  assert (E : forall f, In f (t_frames t) -> f_flow f = i -> _) by
    (intros f Hf Ff; exact (each_in _ _ _ H (filter_flow i f Hf Ff))).
  clear H. both. constructor.
  - intros m. destruct (existsb (fun f => Nat.eqb (f_flow f) i && (f_message f =? m)) (t_frames t)) eqn:X.
    + apply existsb_exists in X. destruct X as [f [Hf Xf]]. both. destruct Xf as [Ff <-].
      specialize (E f Hf Ff). both. tauto.
    + rewrite sumif_none; [exact Hm|]. intros f Hf. apply not_true_iff_false. intros Xf.
      assert (existsb (fun f => Nat.eqb (f_flow f) i && (f_message f =? m)) (t_frames t) = true); [|congruence].
      apply existsb_exists. eauto.
  - intros f Hf Ff. specialize (E f Hf Ff). both. tauto.
  - intros f Hf Ff. specialize (E f Hf Ff). both. lia.
  - intros f g Hf Hg Ff Fg Le. specialize (E f Hf Ff). both. destruct E as [_ E].
    pose proof (each_in _ _ _ E (filter_flow i g Hg Fg)) as G. cbn beta in G.
    let h := fresh in pose proof (implies_true _ _ G ltac:(now apply Z.leb_le)) as h; clear G; rename h into G. both. exact G.
Qed.

Lemma frames_right : frames_b = true -> frames_are_real n t.
Proof.
  intros H. assert (E := fun f => each_in _ _ f H). clear H. constructor; intros f.
  - intros Hf. specialize (E f Hf). both. lia.
  - intros Hf. specialize (E f Hf). both. tauto.
  - intros Hf. specialize (E f Hf). both. tauto.
  - intros Hf. specialize (E f Hf). both. tauto.
  - intros g Hf Hg Eq. specialize (E f Hf). both. destruct E as [_ E].
    pose proof (each_in _ _ g E Hg) as G. cbn beta in G.
    let h := fresh in pose proof (implies_true _ _ G ltac:(now apply Nat.eqb_eq)) as h; clear G; rename h into G. now apply same_frame_eq.
Qed.

Lemma port_right p : port_b p = true -> port_works n t p.
Proof.
  unfold port_b. cbn zeta. intros H. apply andb_true_iff in H. destruct H as [H O].
  assert (E := fun v => each_in _ _ v H). clear H.
  assert (E2 : forall v w, In v (visits_at t p) -> In w (visits_at t p) -> _) by
    (intros v w Hv Hw; specialize (E v Hv); apply andb_true_iff in E; destruct E as [_ E];
     exact (each_in _ _ w E Hw)).
  assert (E3 : forall v w, In v (visits_at t p) -> In w (visits_at t p) -> takes_time v = true -> takes_time w = true -> in_turn_b v w = true).
  { intros v w Hv Hw Tv Tw. specialize (E2 v w Hv Hw). cbn beta in E2. apply andb_true_iff in E2. destruct E2 as [E2 _].
    rewrite Tv, Tw in E2. exact E2. }
  unfold in_turn_b in E3.
  constructor.
  - intros v Hv. specialize (E v Hv). both. lia.
  - intros v Hv. specialize (E v Hv). both. tauto.
  - intros v Hv D. specialize (E v Hv). cbn beta in E. rewrite D in E. both. tauto.
  - intros v Hv D. specialize (E v Hv). cbn beta in E. rewrite D in E. both. destruct E as [[[[_ [E0 E1]] _] _] _].
    split; [exact E0|]. intros T. destruct E1; [congruence|assumption].
  - intros v w Hv Hw Tv Tw. specialize (E3 v w Hv Hw Tv Tw). both. destruct E3 as [[[S|?]|?] _]; auto.
    left. now apply same_eq.
  - intros v x Hv Hx. specialize (E v Hv). both. destruct E as [[[_ B] _] _].
    apply (busy_spec _ _ _ _ x B Hx).
  - intros v w Hv Hw Tv Tw L. specialize (E3 v w Hv Hw Tv Tw). apply andb_true_iff in E3. destruct E3 as [_ S].
    apply Z.ltb_lt. apply (implies_true _ _ S). now apply Z.ltb_lt.
  - intros v w Hv Hw Tw L1 L2. specialize (E2 v w Hv Hw). clear E E3. cbn beta in E2. apply andb_true_iff in E2.
    destruct E2 as [_ S]. apply Z.ltb_lt in L2.
    let h := fresh in pose proof (implies_true _ _ S ltac:(rewrite Tw, L2; destruct L1 as [L1|[-> L1]]; apply Z.ltb_lt in L1;
      rewrite L1, ?orb_true_r; reflexivity)) as h; clear S; rename h into S.
    both. destruct S as [S1 S2]. split; auto.
    intros Eq. let h := fresh in pose proof (implies_true _ _ S2 ltac:(now apply Z.eqb_eq)) as h; clear S2; rename h into S2. both. exact S2.
  - intros v Hv Tv. specialize (E v Hv). both. destruct E as [[_ R] _]. apply Z.leb_le. exact (implies_true _ _ R Tv).
  - intros v Hv Pv.
    assert (I : In v (filter (fun v => Nat.eqb (v_port v) p) (t_others t)))
      by (apply filter_In; split; [auto|now apply Nat.eqb_eq]).
    pose proof (each_in _ _ v O I) as S. cbn beta in S. both. destruct S as [S1 S2]. split; [lia|].
    intros i Hi. pose proof (each_index _ _ i S2 Hi) as S. cbn beta in S. both. exact S.
Qed.

Lemma ways_right : ways_b = true -> ways n t.
Proof.
  unfold ways_b. rewrite !andb_true_iff. intros [[[H1 H2] H3] H4].
  assert (E := fun v => each_in _ _ v H4). clear H4. constructor.
  - apply (once_nodup _ _) in H1; auto. intros x. now rewrite !Nat.eqb_refl.
  - apply (once_nodup _ _) in H2; auto. intros x. unfold same. destruct (visit_dec x x); congruence.
  - intros v Hv Hw. pose proof (each_in _ _ v H3 Hv) as X. cbn beta in X. apply negb_true_iff in X.
    assert (existsb (same v) (t_visits t) = true); [|congruence]. apply existsb_exists. exists v.
    split; auto. unfold same. destruct (visit_dec v v); congruence.
  - intros v Hv. specialize (E v Hv). both. destruct E as [[[[E _] _] _] _].
    apply existsb_exists in E. destruct E as [f [Hf Ef]]. apply same_frame_eq in Ef. congruence.
  - intros v Hv. specialize (E v Hv). both. tauto.
  - intros v Hv. specialize (E v Hv). both. destruct E as [[_ E] _]. unfold from_b in E.
    destruct (parent_of n (flow_of v) (v_place v)) as [x|] eqn:Pa.
    + right. apply existsb_exists in E. destruct E as [w [Hw Ew]]. exists w. split; auto.
      cbn zeta in Ew. both. destruct Ew as [[E1 E2] [E3 E4]]. apply same_frame_eq in E1.
      unfold from_switch. cbn zeta. rewrite Pa, E2. repeat split; auto.
    + left. split; auto. now both.
  - intros v w Hv Hw [Ef [Pw _]]. specialize (E v Hv). apply andb_true_iff in E. destruct E as [_ E].
    apply negb_true_iff. pose proof (each_in _ _ w E Hw) as F. cbn beta in F. apply (implies_true _ _ F).
    rewrite Pw, Nat.eqb_refl, andb_true_r. unfold same_frame. destruct (frame_dec _ _); congruence.
Qed.

Lemma nothing_lost_right : nothing_lost_b = true -> nothing_lost n t.
Proof.
  intros H5 f x Hf Hx Or. pose proof (each_in _ _ f H5 Hf) as X. cbn beta in X.
  pose proof (each_index _ _ x X Hx) as Y. cbn beta in Y.
  assert (Pr : f_admitted (flow_at n (f_flow f)) && negb (f_leaves (flow_at n (f_flow f))) && f_passed f
    || is_none (parent_of n (f_flow f) x) = true).
  { destruct Or as [[-> [-> ->]]| ->]; [reflexivity|apply orb_true_r]. }
  pose proof (implies_true _ _ Y Pr) as W. apply existsb_exists in W.
  destruct W as [v [Hv Xv]]. rewrite !andb_true_iff, negb_true_iff in Xv. both. destruct Xv as [[X1 X2] X3]. apply same_frame_eq in X1. eauto.
Qed.

Lemma meter_right i : meter_b i = true -> f_meter (flow_at n i) <> None -> meters_police n t i.
Proof.
  unfold meter_b. destruct (f_meter (flow_at n i)) as [m|] eqn:M; [|congruence]. cbn zeta.
  intros H _. apply andb_true_iff in H. destruct H as [H1 H2].
  assert (I : forall v, In v (t_visits t) -> flow_of v = i ->
    In v (filter (fun v => Nat.eqb (flow_of v) i) (t_visits t)))
    by (intros v Hv Fv; apply filter_In; split; [auto|now apply Nat.eqb_eq]).
  constructor.
  - intros v Hv Fv Pv. pose proof (each_in _ _ v H1 (I v Hv Fv)) as X. cbn beta in X.
    rewrite Pv in X. cbn [is_none] in X. both. exact X.
  - intros m' v w Em Hv Hw Le Sv Sw. assert (m' = m) as -> by congruence.
    assert (Fv : flow_of v = i) by (unfold stamped in Sv; both; tauto).
    assert (Fw : flow_of w = i) by (unfold stamped in Sw; both; tauto).
    pose proof (each_in _ _ v H2 (I v Hv Fv)) as X. cbn beta in X.
    pose proof (each_in _ _ w X (I w Hw Fw)) as Y. cbn beta in Y.
    let h := fresh in pose proof (implies_true _ _ Y ltac:(now apply Z.leb_le)) as h; clear Y; rename h into Y. both. exact Y.
  - intros v x Hv Fv Pv. pose proof (each_in _ _ v H1 (I v Hv Fv)) as X. cbn beta in X.
    rewrite Pv in X. exact X.
Qed.

Lemma monitor_right i m : monitor_b i = true -> f_monitor (flow_at n i) = Some m ->
  exists number first, bears_with n t i m number first.
Proof.
  unfold monitor_b. intros H M. rewrite M in H. cbn zeta in H. exists number, (first i).
  apply andb_true_iff in H. destruct H as [Hm H]. apply Z.leb_le in Hm.
  assert (I : forall v, In v (t_visits t) -> watched n t i v = true ->
    In v (filter (watched n t i) (t_visits t))) by (intros v Hv W; now apply filter_In).
  assert (E : forall v, In v (t_visits t) -> watched n t i v = true -> _)
    by (intros v Hv W; exact (each_in _ _ v H (I v Hv W))).
  clear H. cbn beta in E. constructor.
  - intros v Hv W. specialize (E v Hv W). both. tauto.
  - intros k. destruct (existsb (fun v => watched n t i v && (number v =? k)) (t_visits t)) eqn:X.
    + apply existsb_exists in X. destruct X as [v [Hv X]]. apply andb_true_iff in X. destruct X as [W K].
      apply Z.eqb_eq in K. subst k. specialize (E v Hv W). both. tauto.
    + rewrite sumif_none; [exact Hm|]. intros v Hv. apply not_true_iff_false. intros Xv.
      assert (existsb (fun v => watched n t i v && (number v =? k)) (t_visits t) = true); [|congruence].
      apply existsb_exists. eauto.
  - intros v Hv W. specialize (E v Hv W). both. tauto.
  - intros v w Hv Hw Wv Ww Lt. specialize (E v Hv Wv). apply andb_true_iff in E. destruct E as [_ E].
    pose proof (each_in _ _ w E (I w Hw Ww)) as F. cbn beta in F.
    let h := fresh in pose proof (implies_true _ _ F ltac:(now apply Z.ltb_lt)) as h; clear F; rename h into F.
    both. exact F.
Qed.

Lemma modes_right : modes_b = true -> of_the_mode n t.
Proof.
  unfold modes_b. rewrite andb_true_iff. intros [H S].
  assert (L : forall v, live t v -> live_b v = true).
  { intros v [L1 L2]. unfold live_b. rewrite andb_true_iff, Z.leb_le. auto. }
  assert (E : forall v, In v (t_visits t) -> live t v -> _)
    by (intros v Hv Lv; exact (implies_true _ _ (each_in _ _ v H Hv) (L v Lv))).
  clear H. constructor.
  - intros v Hv Lv. specialize (E v Hv Lv). apply andb_true_iff in E. destruct E as [E _].
    apply orb_true_iff in E. destruct E as [E|E]; [left|now right].
    destruct (parent_of n (flow_of v) (v_place v)); [discriminate|reflexivity].
  - intros v w Hv Hw [Ef [Pw _]] Lv. specialize (E v Hv Lv). apply andb_true_iff in E. destruct E as [_ E].
    pose proof (each_in _ _ w E Hw) as F. cbn beta in F. rewrite Pw in F. apply Z.leb_le.
    apply (implies_true _ _ F). rewrite andb_true_iff. split; [|apply Nat.eqb_refl].
    unfold same_frame. destruct (frame_dec _ _); congruence.
  - intros p Hp. pose proof (each_index _ _ p S Hp) as F. cbn beta in F. apply existsb_exists in F.
    destruct F as [u [_ F]]. rewrite !andb_true_iff, !Z.leb_le in F. destruct F as [[F1 F2] F3].
    exists u. split; [lia|]. intros v Hv Pv Av. pose proof (each_in _ _ v F3 Hv) as G. cbn beta in G.
    apply Z.leb_le. apply (implies_true _ _ G). rewrite andb_true_iff, Nat.eqb_eq, Z.ltb_lt. auto.
Qed.

Theorem checked_trace_follows : follows_b = true -> follows n t.
Proof.
  unfold follows_b. cbn zeta. intros H. apply andb_true_iff in H. destruct H as [H Hmo].
  apply andb_true_iff in H. destruct H as [H Hwa]. apply andb_true_iff in H. destruct H as [H Hm].
  apply andb_true_iff in H. destruct H as [H Hw]. apply andb_true_iff in H. destruct H as [H Hp].
  apply andb_true_iff in H. destruct H as [H Hb]. apply andb_true_iff in H. destruct H as [H Hc].
  apply andb_true_iff in H. destruct H as [Hu Hf]. apply Z.ltb_lt in Hu.
  constructor; auto using frames_right, ways_right.
  - intros i Hi B. pose proof (each_index _ _ i Hc Hi) as X. cbn beta in X. rewrite B in X.
    now apply contract_right.
  - intros i Hi B. pose proof (each_index _ _ i Hc Hi) as X. cbn beta in X. rewrite B in X.
    destruct (f_meter (flow_at n i)); [congruence|discriminate].
  - intros i j Hi Hj E. pose proof (each_index _ _ i Hb Hi) as X. cbn beta in X.
    pose proof (each_index _ _ j X Hj) as Y. cbn beta in Y.
    let h := fresh in pose proof (implies_true _ _ Y ltac:(now apply Nat.eqb_eq)) as h; clear Y; rename h into Y. now apply Bool.eqb_prop.
  - intros p Hl. apply port_right. now apply (each_index _ _ p Hp).
  - intros i Hi M. apply meter_right; auto. now apply (each_index _ _ i Hm).
  - intros i m Hi M. apply (monitor_right i m); auto. now apply (each_index _ _ i Hwa).
  - now apply modes_right.
Qed.

Theorem checked_trace_is_valid : valid_b = true -> valid n t.
Proof.
  unfold valid_b. intros H. apply andb_true_iff in H. destruct H as [F L].
  split; [now apply checked_trace_follows|now apply nothing_lost_right].
Qed.
End Check.
