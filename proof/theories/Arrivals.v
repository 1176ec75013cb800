(** What comes to a queue in a window: by flow, by line, by group. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Intervals Description Model Line Contract Meter Monitor Accepts Ways.
Import ListNotations.
Open Scope Z_scope.

Lemma up_spec a b : 0 < b -> a <= up a b * b.
Proof.
  intros H. unfold up. pose proof (Z.mul_div_le (- a) b H). lia.
Qed.

Lemma up_nonneg a b : 0 < b -> 0 <= a -> 0 <= up a b.
Proof.
  intros H Ha. unfold up. pose proof (Z.div_le_upper_bound (- a) b 0 H). lia.
Qed.

Section Arrivals.
Variables (n : network) (c : claims) (t : trace).
Hypothesis good : wf n c = true.
Hypothesis V : follows n t.

Let unit_pos : 0 < t_unit t := unit_positive _ _ V.

(** Flow i at place x, in the queue from a to b. *)
Definition of_place (i x : nat) (a b : Z) (v : visit) : bool :=
  Nat.eqb (flow_of v) i && Nat.eqb (v_place v) x && (a <=? v_arrival v) && (v_arrival v <=? b).

Lemma of_place_spec i x a b v : of_place i x a b v = true <->
  flow_of v = i /\ v_place v = x /\ a <= v_arrival v <= b.
Proof. unfold of_place. rewrite !andb_true_iff, !Nat.eqb_eq, !Z.leb_le. tauto. Qed.

Definition bounded (e : entry) (i x : nat) (y : Z) : Prop :=
  forall a b w, s_since (t_span t) (port_of n i x) <= a -> inside t b -> b <= y -> 0 <= w -> b - a <= w ->
  scale c * t_unit t * sumif size (of_place i x a b) (t_visits t)
  <= t_unit t * e_burst e + e_rate e * w.

Lemma in_window i x a b v : s_since (t_span t) (port_of n i x) <= a -> inside t b ->
  In v (t_visits t) -> of_place i x a b v = true -> live t v.
Proof.
  intros Ha Hb Hv O. apply of_place_spec in O. destruct O as [Fv [Pv Av]].
  pose proof (visit_place _ _ (ways_hold _ _ V) v Hv) as [_ Po]. split.
  - rewrite Po, Fv, Pv. lia.
  - apply (inside_le t _ b); [lia|exact Hb].
Qed.

Lemma contract_facts i : (i < length (n_flows n))%nat ->
  let k := f_contract (flow_at n i) in
  0 <= c_message k /\ 0 <= c_frame k /\ 0 < c_period k /\ 0 <= c_jitter k /\
  match f_meter (flow_at n i) with None => True | Some m => meter_wf n m = true end /\
  match f_monitor (flow_at n i) with None => True | Some m => monitor_wf m = true end.
Proof.
  intros H. destruct (wf_parts n c good) as [_ [Hf _]]. specialize (Hf i H). unfold flow_wf in Hf.
  rewrite !andb_true_iff, !Z.leb_le, !Z.ltb_lt in Hf. cbn zeta. destruct (f_meter _), (f_monitor _); intuition lia.
Qed.

Lemma rate_nonneg i : (i < length (n_flows n))%nat -> 0 <= contract_rate n c (flow_at n i).
Proof.
  intros H. pose proof (contract_facts i H) as F. cbn zeta in F.
  pose proof (wf_parts n c good) as [_ [_ [? [_ ?]]]].
  apply up_nonneg; [lia|]. unfold scale, ps_per_s. nia.
Qed.

Lemma way_shrinks b f fuel x : forall v w, on_way n c t b fuel x v w -> flow_of v = f ->
  way_min n b (flow_at n f) fuel x <= way_max n c b (flow_at n f) fuel x.
Proof.
  intros v w [_ [_ [_ B]]] <-. unfold units in B. nia.
Qed.

Lemma frames_positive f : In f (t_frames t) -> 0 < f_size f.
Proof.
  intros H. pose proof (frame_bounds _ _ (frames_real _ _ V) f H).
  pose proof (wf_parts n c good). lia.
Qed.

Lemma nothing_less e a b w i x : 0 <= e_burst e -> 0 <= e_rate e -> 0 <= w ->
  (forall v, In v (t_visits t) -> of_place i x a b v = true -> False) ->
  scale c * t_unit t * sumif size (of_place i x a b) (t_visits t)
  <= t_unit t * e_burst e + e_rate e * w.
Proof. intros. rewrite sumif_empty by assumption. nia. Qed.

(** By the contract. *)
Lemma contract_bounds i x y : (i < length (n_flows n))%nat -> t_babbling t i = false ->
  kept n c t y -> bounded (by_contract n c i (flow_at n i) x) i x y.
Proof.
  intros Hi Bi K a b w Ha In1 Hb Hw Hab. pose proof (fun v => in_window i x a b v Ha In1) as Lv.
  set (f := flow_at n i). set (lo := way_min n false f (S x) x). set (hi := way_max n c false f (S x) x).
  pose proof (contract_facts i Hi) as F. cbn zeta in F. fold f in F.
  pose proof (rate_nonneg i Hi) as Rn. fold f in Rn.
  assert (W : forall v, In v (t_visits t) -> of_place i x a b v = true ->
            exists w, on_way n c t false (S x) x v w).
  { intros v Hv Ov. pose proof (Lv v Hv Ov) as L. apply of_place_spec in Ov. destruct Ov as [Fv [Pv Av]].
    apply (way_bounds n c t good V false y K); auto; try lia; intros; congruence. }
  pose proof (wf_parts n c good) as [_ [_ [Tol [_ Qp]]]].
  destruct (Z_le_gt_dec lo hi) as [Le|Gt].
  2: { assert (0 <= scale c * c_message (f_contract f))
         by (apply Z.mul_nonneg_nonneg; unfold scale, ps_per_s; lia).
       apply nothing_less; unfold by_contract; cbn [e_burst e_rate]; fold f lo hi;
         [assert (0 <= contract_rate n c f * (c_jitter (f_contract f) + Z.max 0 (hi - lo)))
            by (apply Z.mul_nonneg_nonneg; lia); lia|lia|lia|].
       intros v Hv Ov. destruct (W v Hv Ov) as [z Oz]. apply of_place_spec in Ov.
       pose proof (way_shrinks _ i _ _ _ _ Oz (proj1 Ov)) as Sh. fold f lo hi in Sh. lia. }
  unfold by_contract. cbn [e_burst e_rate]. fold f. fold lo hi. rewrite Z.max_r by lia.
  set (r := contract_rate n c f) in *.
  assert (S1 : sumif size (of_place i x a b) (t_visits t) <=
    sumif f_size (released_in i (a - units t hi) (b - units t lo)) (t_frames t)).
  { apply sumif_inject with (R := fun v g => v_frame v = g).
    - apply (visits_nodup n t V).
    - intros g Hg. pose proof (frames_positive g Hg). lia.
    - intros v Hv Ov. destruct (W v Hv Ov) as [z [Hz [Ez [_ Bz]]]].
      apply of_place_spec in Ov. destruct Ov as [Fv [Pv Av]].
      exists (v_frame v). repeat split; try lia.
      + apply (visit_frame _ _ (ways_hold _ _ V) v Hv).
      + apply released_in_spec. split; [exact Fv|]. unfold anchor in Bz. rewrite Ez, Fv in Bz.
        fold f lo hi in Bz. lia.
      + reflexivity.
    - intros v v' g Hv Hv' Ov Ov' <- E. apply of_place_spec in Ov, Ov'.
      apply (same_visit n t V); auto. unfold key. rewrite E. intuition congruence. }
  pose proof (contract_brings n t i unit_pos frames_positive Tol (scale c) r
    (a - units t hi) (b - units t lo) (w + units t (hi - lo))) as C.
  fold f in C.
  assert (scale c * t_unit t * sumif f_size (released_in i (a - units t hi) (b - units t lo)) (t_frames t)
    <= t_unit t * (scale c * c_message (f_contract f)) +
       r * (w + units t (hi - lo) + units t (c_jitter (f_contract f)))).
  { apply C; try lia.
    - apply (contracts _ _ V i Hi Bi).
    - unfold scale, ps_per_s. lia.
    - unfold units. nia.
    - unfold units. lia.
    - unfold r, contract_rate. apply up_spec. lia. }
  assert (0 <= scale c * t_unit t) by (unfold scale, ps_per_s; nia).
  set (z := sumif size _ _) in *. set (z' := sumif f_size _ _) in *.
  assert (scale c * t_unit t * z <= scale c * t_unit t * z') by nia.
  unfold units in *. lia.
Qed.

(** By the meter of the first switch. *)
Lemma meter_bounds m i x y : (i < length (n_flows n))%nat -> f_meter (flow_at n i) = Some m ->
  parent_of n i x <> None -> kept n c t y -> bounded (by_meter n c m i (flow_at n i) x) i x y.
Proof.
  intros Hi Hm Hx K a b w Ha In1 Hb Hw Hab. pose proof (fun v => in_window i x a b v Ha In1) as Lv.
  set (f := flow_at n i). set (lo := way_min n true f (S x) x). set (hi := way_max n c true f (S x) x).
  pose proof (contract_facts i Hi) as F. cbn zeta in F. rewrite Hm in F.
  destruct F as [_ [_ [_ [_ [Mw _]]]]]. unfold meter_wf in Mw.
  rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in Mw.
  pose proof (wf_parts n c good) as [_ [_ [_ [Fp Qp]]]].
  assert (W : forall v, In v (t_visits t) -> of_place i x a b v = true ->
            exists w, on_way n c t true (S x) x v w).
  { intros v Hv Ov. pose proof (Lv v Hv Ov) as L. apply of_place_spec in Ov. destruct Ov as [Fv [Pv Av]].
    apply (way_bounds n c t good V true y K); auto; try lia; intros; congruence. }
  unfold by_meter. cbn zeta. cbn [e_burst e_rate].
  set (r := up (n_frame_min n * per_ps c (m_rate m)) (n_frame_min n - m_uncounted m)).
  set (bu := up (n_frame_min n * (scale c * m_burst m)) (n_frame_min n - m_uncounted m)).
  fold f. fold lo hi.
  assert (0 <= r) by (unfold r, per_ps; apply up_nonneg; [lia|]; repeat apply Z.mul_nonneg_nonneg; lia).
  assert (0 <= bu) by (unfold bu, scale, ps_per_s; apply up_nonneg; [lia|]; repeat apply Z.mul_nonneg_nonneg; lia).
  destruct (Z_le_gt_dec lo hi) as [Le|Gt].
  2: { assert (0 <= bu + r * (stamp_step + Z.max 0 (hi - lo)))
         by (apply Z.add_nonneg_nonneg; [|apply Z.mul_nonneg_nonneg; unfold stamp_step]; lia).
       rewrite sumif_empty; [nia|].
       intros v Hv Ov. destruct (W v Hv Ov) as [z Oz]. apply of_place_spec in Ov.
       pose proof (way_shrinks _ i _ _ _ _ Oz (proj1 Ov)) as Sh. fold f lo hi in Sh. lia. }
  rewrite Z.max_r by lia.
  assert (S1 : sumif size (of_place i x a b) (t_visits t) <=
    sumif size (got n t i (a - units t hi) (b - units t lo)) (t_visits t)).
  { apply sumif_inject with (R := fun v w => v_frame w = v_frame v).
    - apply (visits_nodup n t V).
    - intros g Hg. pose proof (size_bounds n t V g Hg). lia.
    - intros v Hv Ov. destruct (W v Hv Ov) as [z [Hz [Ez [Pz Bz]]]].
      apply of_place_spec in Ov. destruct Ov as [Fv [Pv Av]].
      exists z. repeat split; auto; [|unfold size; rewrite Ez; lia].
      assert (Fz : flow_of z = i) by (unfold flow_of in *; congruence).
      unfold anchor in Bz. rewrite Fv in Bz. fold f lo hi in Bz.
      apply got_spec.
      repeat split; auto; [|lia|lia]. rewrite Ez.
      assert (Hp : parent_of n (flow_of v) (v_place v) <> None) by (rewrite Fv, Pv; exact Hx).
      destruct (parent_of n (flow_of v) (v_place v)) as [z'|] eqn:E; [|congruence].
      apply (dropped _ _ _ (meters _ _ V i Hi ltac:(congruence)) v z'); auto.
    - intros v v' g Hv Hv' Ov Ov' Ev Ev'. apply of_place_spec in Ov, Ov'.
      apply (same_visit n t V); auto. unfold key. rewrite <- Ev, <- Ev'. intuition congruence. }
  assert (C : scale c * t_unit t *
      sumif size (got n t i (a - units t hi) (b - units t lo)) (t_visits t)
    <= t_unit t * bu + r * (w + units t (hi - lo) + units t stamp_step)).
  { apply (meter_brings n t i m); auto; try lia.
    all: first
      [ solve [apply (meters _ _ V i Hi); congruence]
      | solve [intros v Hv; pose proof (size_bounds n t V v Hv); lia]
      | solve [unfold bu, scale; apply up_spec; lia]
      | solve [unfold r, per_ps; apply up_spec; lia]
      | solve [unfold units; nia] ]. }
  assert (0 <= scale c * t_unit t) by (unfold scale, ps_per_s; nia).
  set (z := sumif size (of_place _ _ _ _) _) in *. set (z' := sumif size (got _ _ _ _ _) _) in *.
  assert (scale c * t_unit t * z <= scale c * t_unit t * z') by nia.
  unfold units in *. lia.
Qed.

(** By what the monitor bears with. *)
Lemma monitor_bounds m i x y : (i < length (n_flows n))%nat -> f_monitor (flow_at n i) = Some m ->
  parent_of n i x <> None -> kept n c t y -> bounded (by_monitor n c m i (flow_at n i) x) i x y.
Proof.
  intros Hi Hm Hx K a b w Ha In1 Hb Hw Hab. pose proof (fun v => in_window i x a b v Ha In1) as Lv.
  set (f := flow_at n i). set (lo := way_min n true f (S x) x). set (hi := way_max n c true f (S x) x).
  pose proof (contract_facts i Hi) as F. cbn zeta in F. rewrite Hm in F.
  destruct F as [_ [_ [_ [_ [_ Mw]]]]]. unfold monitor_wf in Mw.
  rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in Mw.
  pose proof (wf_parts n c good) as [_ [_ [_ [Fp Qp]]]].
  assert (Sp : 0 < scale c) by (unfold scale, ps_per_s; lia).
  assert (W : forall v, In v (t_visits t) -> of_place i x a b v = true ->
            exists w, on_way n c t true (S x) x v w).
  { intros v Hv Ov. pose proof (Lv v Hv Ov) as L. apply of_place_spec in Ov. destruct Ov as [Fv [Pv Av]].
    apply (way_bounds n c t good V true y K); auto; try lia; intros; congruence. }
  unfold by_monitor. cbn zeta. cbn [e_burst e_rate].
  set (r := up (scale c * w_message m) (w_period m)). fold f. fold lo hi.
  assert (Rn : 0 <= r) by (apply up_nonneg; nia).
  assert (Jn : 0 <= w_jitter m + w_spread m + stamp_step) by (unfold stamp_step; lia).
  destruct (Z_le_gt_dec lo hi) as [Le|Gt].
  2: { assert (0 <= r * (w_jitter m + w_spread m + stamp_step + Z.max 0 (hi - lo)))
         by (apply Z.mul_nonneg_nonneg; lia).
       assert (0 <= scale c * w_message m) by (apply Z.mul_nonneg_nonneg; lia).
       rewrite sumif_empty; [rewrite Z.mul_0_r; apply Z.add_nonneg_nonneg; apply Z.mul_nonneg_nonneg; lia|].
       intros v Hv Ov. destruct (W v Hv Ov) as [z Oz]. apply of_place_spec in Ov.
       pose proof (way_shrinks _ i _ _ _ _ Oz (proj1 Ov)) as Sh. fold f lo hi in Sh. lia. }
  rewrite Z.max_r by lia. destruct (monitors _ _ V i m Hi Hm) as [number [first B]].
  assert (S1 : sumif size (of_place i x a b) (t_visits t) <=
    sumif size (heard n t i (a - units t hi) (b - units t lo)) (t_visits t)).
  { apply sumif_inject with (R := fun v w => v_frame w = v_frame v).
    - apply (visits_nodup n t V).
    - intros g Hg. pose proof (size_bounds n t V g Hg). lia.
    - intros v Hv Ov. destruct (W v Hv Ov) as [z [Hz [Ez [Pz Bz]]]].
      apply of_place_spec in Ov. destruct Ov as [Fv [Pv Av]].
      exists z. repeat split; auto; [|unfold size; rewrite Ez; lia].
      assert (Fz : flow_of z = i) by (unfold flow_of in *; congruence).
      unfold anchor in Bz. rewrite Fv in Bz. fold f lo hi in Bz.
      apply heard_spec. split; [|lia]. unfold watched. rewrite Pz, Fz, Nat.eqb_refl. cbn [andb].
      assert (Wm := way_min_nonneg n c good true f (S x) x). fold lo in Wm.
      apply (inside_le t _ b); [unfold units in *; nia|exact In1].
    - intros v v' g Hv Hv' Ov Ov' Ev Ev'. apply of_place_spec in Ov, Ov'.
      apply (same_visit n t V); auto. unfold key. rewrite <- Ev, <- Ev'. intuition congruence. }
  assert (C : scale c * t_unit t * sumif size (heard n t i (a - units t hi) (b - units t lo)) (t_visits t)
    <= t_unit t * (scale c * w_message m)
       + r * (w + units t (hi - lo) + units t (w_jitter m + w_spread m + stamp_step))).
  { apply (monitor_brings n t i m number first); auto; try lia.
    - intros v Hv. pose proof (size_bounds n t V v Hv). lia.
    - unfold units. nia.
    - unfold units. lia.
    - unfold r. apply up_spec. lia. }
  assert (0 <= scale c * t_unit t) by nia.
  set (z := sumif size (of_place _ _ _ _) _) in *. set (z' := sumif size (heard _ _ _ _ _) _) in *.
  assert (scale c * t_unit t * z <= scale c * t_unit t * z') by nia.
  unfold units in *. lia.
Qed.

Lemma entry_bounds i x y : (i < length (n_flows n))%nat ->
  t_babbling t i = false \/ parent_of n i x <> None -> kept n c t y ->
  bounded (entry_at n c i (flow_at n i) x) i x y.
Proof.
  intros Hi B K. unfold entry_at. destruct (is_root (flow_at n i) x) eqn:R.
  - apply contract_bounds; auto. destruct B as [B|B]; auto. unfold parent_of in B.
    unfold is_root in R. destruct (parent (place_at (flow_at n i) x)); congruence.
  - destruct (f_monitor (flow_at n i)) as [m|] eqn:Hw; [apply monitor_bounds; auto; now apply not_root|].
    destruct (f_meter (flow_at n i)) as [m|] eqn:Hm; [apply meter_bounds; auto; now apply not_root|].
    apply contract_bounds; auto. destruct (t_babbling t i) eqn:E; auto.
    now destruct (babbling _ _ V i Hi E).
Qed.

Lemma root_of v : In v (t_visits t) ->
  exists w, In w (t_visits t) /\ v_frame w = v_frame v /\ parent_of n (flow_of w) (v_place w) = None /\
    (parent_of n (flow_of v) (v_place v) <> None -> received n t w <= v_arrival v).
Proof.
  intros Hv. remember (v_place v) as x eqn:E. revert v Hv E.
  induction x as [x IH] using (well_founded_induction Wf_nat.lt_wf). intros v Hv ->.
  destruct (visit_from _ _ (ways_hold _ _ V) v Hv) as [[P _]|[w [Hw F]]].
  { exists v. repeat split; auto. congruence. }
  pose proof F as [Ef [Pw Fb]]. pose proof (parent_lt n c t good V v _ Hv Pw) as Lt.
  destruct (IH (v_place w) Lt w Hw eq_refl) as [r [Hr [Er [Pr Br]]]]. cbn zeta in Fb.
  pose proof (port_facts n c good _ (port_lt n c t good V v Hv)).
  pose proof (port_facts n c good _ (port_lt n c t good V w Hw)).
  pose proof (port_order n c t good V w Hw).
  destruct (parent_of n (flow_of w) (v_place w)) eqn:Pp.
  - exists r. repeat split; auto; [congruence|]. intros _. specialize (Br ltac:(discriminate)).
    unfold units in Fb. nia.
  - exists w. repeat split; auto. intros _. unfold received, units in *. nia.
Qed.

(** What passes a meter alone is no more than its burst. *)
Lemma passed_size v m : In v (t_visits t) -> f_meter (flow_at n (flow_of v)) = Some m ->
  parent_of n (flow_of v) (v_place v) <> None ->
  (n_frame_min n - m_uncounted m) * size v <= n_frame_min n * m_burst m /\ 0 < size v.
Proof.
  intros Hv Hm Np. pose proof (frame_lt n t V v Hv) as Hi.
  pose proof (wf_parts n c good) as [_ [_ [_ [Fp Qp]]]].
  pose proof (size_bounds n t V v Hv) as Sz. split; [|lia].
  pose proof (contract_facts _ Hi) as F. cbn zeta in F. rewrite Hm in F.
  destruct F as [_ [_ [_ [_ [Mw _]]]]]. unfold meter_wf in Mw.
  rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in Mw.
  destruct (root_of v Hv) as [w [Hw [Ew [Pw _]]]].
  assert (Fw : flow_of w = flow_of v) by (unfold flow_of; now rewrite Ew).
  assert (Mp : meters_police n t (flow_of v)) by (apply (meters _ _ V _ Hi); congruence).
  assert (Pa : f_passed (v_frame w) = true).
  { rewrite Ew. destruct (parent_of n (flow_of v) (v_place v)) as [z|] eqn:E; [|congruence].
    apply (dropped _ _ _ Mp v z); auto. }
  assert (Sw : stamped n (flow_of v) (v_stamp w) (v_stamp w) w = true).
  { unfold stamped. rewrite Pw, Pa, Fw, Nat.eqb_refl, Z.leb_refl. reflexivity. }
  pose proof (bucket _ _ _ Mp m w w Hm Hw Hw (Z.le_refl _) Sw Sw) as B.
  rewrite Z.sub_diag, Z.mul_0_r, Z.add_0_r in B.
  assert (Fu : 0 < full t) by (unfold full, ps_per_s; lia).
  apply Z.mul_le_mono_pos_l in B; auto.
  assert (size w - m_uncounted m <= m_burst m).
  { etransitivity; [|exact B]. etransitivity; [|apply sumif_one with (x := w); auto].
    - cbn. lia.
    - intros z Hz. pose proof (size_bounds n t V z Hz). lia. }
  replace (size v) with (size w) by (unfold size; now rewrite Ew). 
  assert (n_frame_min n <= size w) by (unfold size in *; rewrite Ew; lia). nia.
Qed.

(** No frame is larger than its entry says. *)
Lemma entry_frame v : In v (t_visits t) -> claimed n t v -> live t v ->
  scale c * size v <= e_frame (entry_at n c (flow_of v) (flow_at n (flow_of v)) (v_place v)).
Proof.
  intros Hv Cl Lv. pose proof (frame_lt n t V v Hv) as Hi.
  pose proof (wf_parts n c good) as [_ [_ [_ [Fp Qp]]]].
  assert (Sp : 0 < scale c) by (unfold scale, ps_per_s; lia).
  pose proof (size_bounds n t V v Hv) as Sz. pose proof (contract_facts _ Hi) as F. cbn zeta in F.
  assert (Con : t_babbling t (flow_of v) = false ->
    scale c * size v <= scale c * c_frame (f_contract (flow_at n (flow_of v)))).
  { intros B. apply Z.mul_le_mono_nonneg_l; [lia|].
    apply (frame_size _ _ _ (contracts _ _ V _ Hi B)); auto.
    apply (visit_frame _ _ (ways_hold _ _ V) v Hv). }
  unfold entry_at. destruct (is_root (flow_at n (flow_of v)) (v_place v)) eqn:R.
  { apply Con. destruct Cl as [?|P]; auto. unfold parent_of in P. unfold is_root in R.
    destruct (parent (place_at (flow_at n (flow_of v)) (v_place v))); congruence. }
  apply not_root in R. destruct (f_monitor (flow_at n (flow_of v))) as [m|] eqn:Hw.
  - unfold by_monitor. cbn zeta. cbn [e_frame]. apply Z.mul_le_mono_nonneg_l; [lia|].
    apply Z.min_glb; [|lia]. destruct (monitors _ _ V _ m Hi Hw) as [number [first B]].
    destruct (root_of v Hv) as [w [Hw' [Ew [Pw Rw]]]].
    replace (size v) with (size w) by (unfold size; now rewrite Ew).
    apply (heard_size n t (flow_of v) m number first B); auto.
    + intros z Hz. pose proof (size_bounds n t V z Hz). lia.
    + assert (Fw : flow_of w = flow_of v) by (unfold flow_of; now rewrite Ew).
      unfold watched. rewrite Pw, Fw, Nat.eqb_refl. cbn [andb].
      apply (inside_le t _ (v_arrival v)); [exact (Rw R)|apply Lv].
  - destruct (f_meter (flow_at n (flow_of v))) as [m|] eqn:Hm.
    + unfold by_meter. cbn zeta. cbn [e_frame]. apply Z.min_glb; [|nia].
      destruct F as [_ [_ [_ [_ [Mw _]]]]]. unfold meter_wf in Mw.
      rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in Mw.
      destruct (passed_size v m Hv Hm R) as [S1 S2].
      set (k := n_frame_min n - m_uncounted m) in *.
      assert (Uk : n_frame_min n * (scale c * m_burst m) <= up (n_frame_min n * (scale c * m_burst m)) k * k)
        by (apply up_spec; unfold k; lia).
      assert (scale c * (k * size v) <= scale c * (n_frame_min n * m_burst m))
        by (apply Z.mul_le_mono_nonneg_l; lia).
      apply Z.mul_le_mono_pos_r with (p := k); [unfold k|]; lia.
    + apply Con. destruct (t_babbling t (flow_of v)) eqn:E; auto.
      now destruct (babbling _ _ V _ Hi E).
Qed.
End Arrivals.
