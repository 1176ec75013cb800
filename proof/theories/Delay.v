(** Every claimed delay holds, by induction over the instant by which it is due. Circles of ports
    need nothing more: what a frame waits for came before that instant. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Intervals Description Model Busy Accepts Ways Arrivals Groups.
Import ListNotations.
Open Scope Z_scope.

Section Delay.
Variables (n : network) (c : claims) (t : trace).
Hypothesis accepted : delays_ok n c = true.
Hypothesis V : follows n t.

Let unit_pos : 0 < t_unit t := unit_positive _ _ V.

Lemma good : wf n c = true.
Proof. unfold delays_ok in accepted. apply andb_true_iff in accepted. tauto. Qed.

Lemma port_accepted p : (p < length (n_ports n))%nat -> port_ok n c (entries n c) p = true.
Proof.
  intros Hp. unfold delays_ok in accepted. apply andb_true_iff in accepted.
  destruct accepted as [_ A]. cbn zeta in A. rewrite forallb_forall in A. apply A. apply in_seq. lia.
Qed.

(** The row of a frame's class at its port. *)
Lemma row_of_entry v : In v (t_visits t) -> In (entry_for n c v) (filter (at_place (v_port v)) (entries n c)) ->
  exists r, In r (rows_at c (v_port v)) /\ r_class r = class v /\ delay c (v_port v) (class v) = r_delay r /\
  row_ok n c (v_port v) (filter (at_place (v_port v)) (entries n c)) r = true.
Proof.
  intros Hv Ie. pose proof (port_accepted _ (port_lt n c t good V v Hv)) as A. unfold port_ok in A.
  rewrite !andb_true_iff, !forallb_forall in A. destruct A as [[_ E] R].
  specialize (E _ Ie). rewrite (class_entry n c t V v Hv) in E.
  unfold delay. destruct (find (fun r => r_class r =? class v) (rows_at c (v_port v))) as [r|] eqn:F.
  - pose proof (find_some _ _ F) as [Hr Kr]. exists r. repeat split; auto. now apply Z.eqb_eq.
  - exfalso. apply existsb_exists in E. destruct E as [r [Hr Kr]].
    pose proof (find_none _ _ F r Hr). cbn in H. congruence.
Qed.

Lemma row_for v : In v (t_visits t) -> live t v -> exists r,
  In r (rows_at c (v_port v)) /\ r_class r = class v /\ delay c (v_port v) (class v) = r_delay r /\
  row_ok n c (v_port v) (filter (at_place (v_port v)) (entries n c)) r = true.
Proof. intros Hv Lv. apply row_of_entry; [exact Hv|now apply (entry_for_in n c t V)]. Qed.

(** Where one frame has a claim, all that comes to the port has. *)
Lemma all_claimed v : In v (t_visits t) -> live t v -> claimed n t v ->
  forall e, In e (filter (at_place (v_port v)) (entries n c)) ->
  t_babbling t (e_flow e) = false \/ parent_of n (e_flow e) (e_place e) <> None.
Proof.
  intros Hv Lv Cv e He. pose proof (port_accepted _ (port_lt n c t good V v Hv)) as A.
  unfold port_ok in A. rewrite !andb_true_iff in A. destruct A as [[O _] _].
  unfold one_side, of_host, of_switch in O. apply orb_true_iff in O.
  pose proof (entry_for_in n c t V v Hv Lv) as Iv. pose proof He as He'.
  apply filter_In in He'. destruct He' as [He' Pe]. apply Nat.eqb_eq in Pe.
  apply entries_spec in He'. destruct He' as [i [x [Hi [Hx [_ Ee]]]]]. subst e.
  destruct (entry_names n c i (flow_at n i) x) as [Nf [Np [Npo [Fr _]]]]. rewrite Nf, Np.
  destruct (entry_names n c (flow_of v) (flow_at n (flow_of v)) (v_place v)) as [_ [_ [_ [Frv _]]]].
  unfold parent_of. destruct O as [O|O]; rewrite forallb_forall in O.
  - left. pose proof (O _ He) as R1. pose proof (O _ Iv) as R2. rewrite Fr in R1.
    unfold entry_for in R2. rewrite Frv in R2. unfold from_port in R1, R2.
    destruct (parent (place_at (flow_at n i) x)) eqn:E1; [discriminate|].
    destruct (parent (place_at (flow_at n (flow_of v)) (v_place v))) eqn:E2; [discriminate|].
    assert (X : forall j z, (j < length (n_flows n))%nat -> (z < length (f_places (flow_at n j)))%nat ->
                parent (place_at (flow_at n j) z) = None -> z = 0%nat).
    { intros j z Hj Hz E. pose proof (place_facts n c good j z Hj Hz) as W. unfold place_wf in W.
      rewrite E in W. apply andb_true_iff in W. now apply Nat.eqb_eq. }
    pose proof (visit_place _ _ (ways_hold _ _ V) v Hv) as [Xv Pv].
    rewrite <- (host_babbles _ _ V (flow_of v) i).
    + destruct Cv as [|Cv]; auto. unfold parent_of in Cv. congruence.
    + apply (frame_lt n t V v Hv).
    + exact Hi.
    + rewrite (X i x Hi Hx E1) in Npo, Pe.
      rewrite (X (flow_of v) (v_place v) (frame_lt n t V v Hv) Xv E2) in Pv.
      rewrite <- Pv. unfold port_of. rewrite <- Npo, Pe. reflexivity.
  - specialize (O _ He). rewrite Fr, Nf in O. unfold from_port in O.
    destruct (parent (place_at (flow_at n i) x)); [right; discriminate|left].
    destruct (t_babbling t i) eqn:B; auto. pose proof (babbling _ _ V i Hi B).
    destruct (f_meter (flow_at n i)); congruence.
Qed.

(** An instant from which on all that comes is of the mode, and nothing is left of before. *)
Definition fresh (p : nat) (lo : Z) : Prop := s_since (t_span t) p <= lo /\
  forall v, In v (t_visits t) -> v_port v = p -> v_arrival v < lo -> v_end v <= lo.

Lemma fresh_cleared p k lo : fresh p lo -> (p < length (n_ports n))%nat ->
  (exists i, (i < length (n_flows n))%nat /\ f_class (flow_at n i) = k) -> cleared t p k lo.
Proof.
  intros [_ F] Hp [i [Hi Ki]] v Hv Kv Av. apply filter_In in Hv. destruct Hv as [Hv Pv].
  apply Nat.eqb_eq in Pv. apply in_app_iff in Hv. destruct Hv as [Hv|Hv]; [now apply F|].
  pose proof (others_below _ _ _ (ports _ _ V p Hp) v Hv Pv) as [_ O]. specialize (O i Hi). lia.
Qed.

(** What blocks, rounded down to bits. *)
Lemma blocks_row p k lo hi : (p < length (n_ports n))%nat -> fresh p lo -> inside t hi ->
  (forall v, In v (t_visits t) -> v_port v = p -> live t v -> claimed n t v) ->
  blocks n t p (blocking n c p k (filter (at_place p) (entries n c)) / scale c) k lo hi.
Proof.
  intros Hp [Fs Fr] Hh Cl. pose proof (scale_pos n c good) as Sp. unfold blocking.
  set (low := max_of e_frame _). split.
  - apply Z.div_le_lower_bound; nia.
  - intros v Hv Kv Ev Cv. apply filter_In in Hv. destruct Hv as [Hv Pv]. apply Nat.eqb_eq in Pv.
    apply Z.div_le_lower_bound; [lia|]. apply in_app_iff in Hv. destruct Hv as [Hv|Hv].
    + pose proof (in_order _ _ _ (ports _ _ V p Hp) v) as O. rewrite <- Pv in O at 1.
      specialize (O (at_port_in t v Hv)). specialize (Fr v Hv Pv).
      assert (Lv : live t v).
      { split; [rewrite Pv; lia|]. apply (inside_le t _ hi); [lia|exact Hh]. }
      pose proof (entry_frame n c t good V v Hv (Cl v Hv Pv Lv) Lv) as E.
      assert (e_frame (entry_for n c v) <= low); [|unfold entry_for in *; lia].
      apply max_of_in. apply filter_In. split; [rewrite <- Pv; now apply (entry_for_in n c t V v)|].
      rewrite (class_entry n c t V v Hv). now apply Z.ltb_lt.
    + pose proof (others_below _ _ _ (ports _ _ V p Hp) v Hv Pv) as [O _]. nia.
Qed.

(** The windows of the rows are as claimed: of flows that leave, no frame comes later that could be
    in front of a frame of the row's class. *)
Definition windows_hold : Prop := forall f r lo u,
  In f (t_visits t) -> In r (rows_at c (v_port f)) -> r_class r = class f ->
  fresh (v_port f) lo -> lo <= u -> last_begin t (v_port f) (in_the_way n c (v_port f) (class f) (filter (at_place (v_port f)) (entries n c))) (class f) (v_arrival f) u ->
  forall v, In v (t_visits t) -> v_port v = v_port f -> leaving n c v = true -> class v <= class f ->
  u <= v_arrival v <= v_choice f -> early t u (r_window r) v.

(** Where nothing leaves. *)
Lemma none_leaves : steady n = true -> forall v, In v (t_visits t) -> leaving n c v = false.
Proof.
  intros S v Hv. unfold steady in S. rewrite forallb_forall in S. unfold leaving, leaves.
  apply andb_false_iff. left. unfold entry_for.
  destruct (entry_names n c (flow_of v) (flow_at n (flow_of v)) (v_place v)) as [-> _].
  apply negb_true_iff. apply S. apply nth_In. apply (frame_lt n t V v Hv).
Qed.

Lemma steady_windows : steady n = true -> windows_hold.
Proof.
  intros S f r lo u Hf _ _ _ _ _ v Hv _ L. rewrite (none_leaves S v Hv) in L. discriminate.
Qed.

Hypothesis windows : windows_hold.

(** No claim is negative. *)
Lemma due_after v : In v (t_visits t) -> v_arrival v <= due_by c t v.
Proof.
  intros Hv. pose proof (port_lt n c t good V v Hv) as Hp. pose proof (port_accepted _ Hp) as A.
  unfold port_ok in A. rewrite !andb_true_iff, !forallb_forall in A. destruct A as [_ R].
  pose proof (port_facts n c good _ Hp). assert (0 <= delay c (v_port v) (class v)).
  { unfold delay. destruct (find _ _) as [r|] eqn:F; [|lia]. apply find_some in F. destruct F as [Hr _].
    specialize (R r Hr). unfold row_ok in R. rewrite !andb_true_iff, Z.leb_le in R. lia. }
  unfold due_by, units. nia.
Qed.

(** The step: what was due before was in time, so this frame is. *)
Lemma in_time f lo : In f (t_visits t) -> claimed n t f -> fresh (v_port f) lo -> lo <= v_arrival f ->
  inside t (due_by c t f) -> kept n c t (due_by c t f) -> v_handover f <= due_by c t f.
Proof.
  intros Hf Cf Fre Df Inf' K. pose proof (due_after f Hf) as Da.
  assert (Lf : live t f).
  { split; [destruct Fre; lia|]. now apply (inside_le t _ (due_by c t f)). }
  destruct (row_for f Hf Lf) as [r [Hr [Kr [Dr Ok]]]]. set (p := v_port f) in *.
  pose proof (port_lt n c t good V f Hf) as Hp. fold p in Hp.
  pose proof (all_claimed f Hf Lf Cf) as ClE. fold p in ClE.
  unfold row_ok in Ok. set (es := filter (at_place p) (entries n c)) in *.
  set (d := r_delay r - p_tick (port_at n p)) in *. rewrite !andb_true_iff, Z.leb_le in Ok.
  destruct Ok as [[Hd Hw] Bel]. rewrite Kr in Bel. set (k := class f) in *.
  pose proof (port_facts n c good p Hp) as Fp. pose proof (port_order n c t good V f Hf) as Of. fold p in Of.
  assert (Due : due_by c t f = v_arrival f + units t d + units t (p_tick (port_at n p))).
  { unfold due_by. fold p k. rewrite Dr. unfold d, units. lia. }
  destruct (Z_le_gt_dec (v_handover f) (due_by c t f)) as [|Late]; auto. exfalso.
  assert (Hud : 0 <= units t d) by (unfold units; nia).
  pose proof (Cl n c t V p ClE) as Cl. pose proof (scale_pos n c good) as Sp.
  pose proof (blocks_row p k lo (v_arrival f) Hp Fre (proj2 Lf) Cl) as Bl. fold es in Bl.
  set (s := blocking n c p k es / scale c) in *.
  assert (Hs : 0 <= s).
  { apply Z.div_pos; [|lia]. unfold blocking.
    pose proof (max_of_nonneg e_frame (filter (fun e => k <? e_class e) es)). lia. }
  assert (Inf : In f (visits_at t p)) by (apply at_port_in; auto).
  destruct (late_frame n t p (ports _ _ V p Hp) (fun v => sizes_at n c t good V p v Hp) unit_pos
    ltac:(lia) s k lo f (units t d) Bl) as [u [Hu [La L]]]; try exact Inf; try reflexivity; try lia.
  { apply fresh_cleared; auto. exists (flow_of f). split; [apply (frame_lt n t V f Hf)|].
    symmetry. apply (class_of n t V f Hf). }
  assert (Ho : forall v, In v (t_others t) -> v_port v = p -> k < class v).
  { intros v Hv Pv. unfold k. rewrite (class_of n t V f Hf).
    apply (others_below _ _ _ (ports _ _ V p Hp) v Hv Pv). apply (frame_lt n t V f Hf). }
  set (b := Z.min (v_arrival f + units t d) (v_choice f)) in *.
  pose proof (in_order _ _ _ (ports _ _ V p Hp) f Inf) as Oc.
  pose proof (groups_bring n c t good V p (due_by c t f) Hp K ClE (r_hint r) (r_window r) k u (v_arrival f) b d _ _ _
    Hw ltac:(lia) Hd ltac:(lia) ltac:(unfold units in *; nia) ltac:(pose proof (proj1 Fre); unfold p in *; lia)
    ltac:(apply (inside_le t _ (due_by c t f)); [unfold units in *; nia|exact Inf'])
    (fun v Hv Pv Lv Kv Av => windows f r lo u Hf Hr Kr Fre (proj1 Hu) La v Hv Pv Lv Kv ltac:(lia)) Ho Bel) as G.
  set (x1 := sumif size (came _ _ _) _) in *. set (x2 := sumif size (came_above _ _ _) _) in *.
  pose proof (Z.mul_div_le (blocking n c p k es) (scale c) Sp) as Bs. fold s in Bs.
  pose proof (wf_parts n c good) as [_ [_ [_ [_ Qp]]]].
  set (R := p_rate_min (port_at n p)) in *. unfold per_ps in G. fold R in G.
  assert (L' : q_scale c * (R * (v_arrival f + units t d + 1 - u))
               <= q_scale c * (full t * (s + x1 + x2))) by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (Bs' : t_unit t * (scale c * s) <= t_unit t * blocking n c p k es)
    by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (0 < q_scale c * R) by nia.
  replace (q_scale c * (full t * (s + x1 + x2))) with
    (t_unit t * (scale c * s) + scale c * t_unit t * (x1 + x2)) in L' by (unfold scale, full; ring).
  unfold units in *. lia.
Qed.

Theorem all_kept : forall y, kept n c t y.
Proof.
  intros y. destruct (Z_le_gt_dec y 0) as [Le|Gt].
  - intros v Hv _ _ _ D. exfalso. pose proof (due_after v Hv). pose proof (port_order n c t good V v Hv). lia.
  - apply Z.gt_lt, Z.lt_le_incl in Gt. revert y Gt. apply Zlt_lower_bound_ind. intros y IH Hy v Hv Cv Dv Iv D.
    pose proof (due_after v Hv). pose proof (port_order n c t good V v Hv).
    destruct (sent_before _ _ (modes _ _ V) _ (port_lt n c t good V v Hv)) as [lo [Hlo Fr]].
    apply (in_time v lo); auto; [split; [lia|exact Fr]|lia|]. apply IH. lia.
Qed.

(** Also of what comes before a port is known to be done with all else, but after it was. *)
Corollary fresh_in_time f lo : In f (t_visits t) -> claimed n t f -> fresh (v_port f) lo -> lo <= v_arrival f ->
  inside t (due_by c t f) -> v_handover f <= due_by c t f.
Proof. intros Hf Cf Fre Df I. apply (in_time f lo); auto. apply all_kept. Qed.
End Delay.
