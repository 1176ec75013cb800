(** What stands in the buffer of a port. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Intervals Description Model Busy Accepts Ways Arrivals Groups Delay.
Import ListNotations.
Open Scope Z_scope.

(** In the buffer at an instant: came, and its last bit has not left. *)
Definition in_buffer (p : nat) (y : Z) (v : visit) : bool :=
  Nat.eqb (v_port v) p && (v_arrival v <=? y) && (y <? v_end v).

(** The last instant up to y at which nothing of before is there. *)
Definition across (u : Z) (v : visit) : bool := (v_arrival v <? u) && (u <? v_end v).
Definition last_empty (t : trace) (p : nat) (y u : Z) : Prop := u <= y /\
  (forall v, In v (visits_at t p) -> v_arrival v < u -> v_end v <= u) /\
  forall x, u < x <= y -> exists v, In v (visits_at t p) /\ across x v = true.

(** The window of a buffer's row is as claimed. *)
Definition buffer_window (n : network) (c : claims) (t : trace) (p : nat) (b : backlog) (y : Z) : Prop :=
  forall lo u, fresh t p lo -> lo <= u ->
  p_other (port_at n p) = 0 /\ last_empty t p y u \/
  (let es := filter (at_place p) (entries n c) in
   last_begin t p (in_the_way n c p (max_of e_class es) es) (max_of e_class es) y u) ->
  forall v, In v (t_visits t) -> v_port v = p -> leaving n c v = true -> u <= v_arrival v <= y ->
  early t u (b_window b) v.

Section Backlog.
Variables (n : network) (c : claims) (t : trace) (p : nat).
Hypothesis accepted : delays_ok n c = true.
Hypothesis V : follows n t.
Hypothesis windows : windows_hold n c t.
Hypothesis Hp : (p < length (n_ports n))%nat.
Variables (lo y : Z).
Hypothesis Fre : fresh t p lo.
Hypothesis Hlo : lo <= y.
Hypothesis Hin : inside t y.
Hypothesis alone : p_other (port_at n p) = 0.

Let unit_pos : 0 < t_unit t := unit_positive _ _ V.
Let good := good n c accepted.
Let works := ports _ _ V p Hp.

Notation P := (visits_at t p).
Notation es := (filter (at_place p) (entries n c)).

Lemma no_others v : In v (t_others t) -> v_port v = p -> False.
Proof. intros Hv Pv. pose proof (others_below _ _ _ works v Hv Pv). lia. Qed.

(** What is there since lo is of the mode. *)
Lemma recent v : In v (t_visits t) -> v_port v = p -> lo < v_end v -> v_arrival v <= y -> live t v.
Proof using Fre Hin.
  clear - Fre Hin. intros Hv Pv Ev Av. destruct Fre as [Fs Fr]. specialize (Fr v Hv Pv). split; [rewrite Pv; lia|].
  apply (inside_le t _ y); [lia|exact Hin].
Qed.

(** Since some instant nothing of before is there, and the line was busy. *)
Lemma empty_before : exists u, lo <= u <= y /\ last_empty t p y u /\
  (forall x, u <= x < y -> exists v, In v P /\ v_start v <= x < v_end v).
Proof.
  destruct (last_instant (fun u => negb (existsb (across u) P)) lo y) as [u [Hu [Qu Nu]]];
    [lia| |].
  { apply negb_true_iff, not_true_iff_false. intros E. apply existsb_exists in E.
    destruct E as [v [Hv E]]. unfold across in E. rewrite andb_true_iff, !Z.ltb_lt in E.
    apply filter_In in Hv. destruct Hv as [Hv Pv]. apply Nat.eqb_eq in Pv. apply in_app_iff in Hv.
    destruct Hv as [Hv|Hv]; [|exact (no_others v Hv Pv)]. pose proof (proj2 Fre v Hv Pv). lia. }
  exists u. split; [lia|]. split; [split; [lia|split]|].
  - intros v Hv Ha. apply negb_true_iff in Qu. destruct (Z_le_gt_dec (v_end v) u) as [|G]; auto.
    exfalso. assert (existsb (across u) P = true); [|congruence]. apply existsb_exists. exists v.
    split; auto. unfold across. rewrite andb_true_iff, !Z.ltb_lt. lia.
  - intros x Hx. specialize (Nu x Hx). apply negb_false_iff in Nu. now apply existsb_exists in Nu.
  - intros x Hx. specialize (Nu (x + 1) ltac:(lia)). apply negb_false_iff in Nu.
    apply existsb_exists in Nu. destruct Nu as [v [Hv E]]. unfold across in E.
    rewrite andb_true_iff, !Z.ltb_lt in E.
    destruct (Z_lt_ge_dec x (v_start v)).
    + apply (never_idle _ _ _ works v x Hv). lia.
    + exists v. split; auto. lia.
Qed.

(** Of those that the line has begun, one is unfinished. *)
Lemma one_unfinished l : 0 <= l -> (forall v, In v P -> v_start v < y < v_end v -> size v <= l) ->
  sumif size (fun v => (v_start v <? y) && (y <? v_end v)) P <= l.
Proof.
  intros Hl Sz.
  assert (D : forall v w, In v P -> In w P -> apart v_start v_end v w)
    by (intros v w Hv Hw Sv Sw; apply (one_by_one _ _ _ works); auto; now apply Z.ltb_lt).
  pose proof (at_most_one v_start v_end all (y - 1) P (visits_at_nodup n t V p) D) as One.
  assert (sumif size (fun v => (v_start v <? y) && (y <? v_end v)) P <=
          sumif (fun _ => l * 1) (fun v => all v && at_instant v_start v_end (y - 1) v) P).
  { apply sumif_le; [|intros; lia]. intros v Hv E. rewrite andb_true_iff, !Z.ltb_lt in E.
    split; [|specialize (Sz v Hv); lia]. cbn [all andb]. apply within_spec. lia. }
  rewrite sumif_scale in H. nia.
Qed.

Lemma backlog_bound b : backlog_ok n c (entries n c) p b = true -> buffer_window n c t p b y ->
  (forall v, In v (t_visits t) -> v_port v = p -> live t v -> claimed n t v) ->
  sumif size (in_buffer p y) (t_visits t) <= b_bits b.
Proof.
  intros Ok Win Cl. unfold backlog_ok in Ok. set (k := max_of e_class es) in *.
  set (l := max_of e_frame es) in *. rewrite alone in Ok. cbn [Z.eqb] in Ok. rewrite Z.add_0_l in Ok.
  rewrite !andb_true_iff, Z.leb_le in Ok. destruct Ok as [[Hb Hw] Bel].
  destruct (existsb (in_buffer p y) (t_visits t)) eqn:Any.
  2: { rewrite sumif_empty; [exact Hb|]. intros v Hv E.
       assert (existsb (in_buffer p y) (t_visits t) = true); [|congruence]. apply existsb_exists. eauto. }
  apply existsb_exists in Any. destruct Any as [v0 [Hv0 E0]]. unfold in_buffer in E0.
  rewrite !andb_true_iff, Nat.eqb_eq, Z.leb_le, Z.ltb_lt in E0. destruct E0 as [[E0 A0] B0].
  assert (L0 : live t v0) by (apply recent; auto; lia).
  pose proof (all_claimed n c t accepted V v0 Hv0 L0 (Cl v0 Hv0 E0 L0)) as ClE. rewrite E0 in ClE.
  pose proof (scale_pos n c good) as Sp. pose proof (port_facts n c good p Hp) as Fp.
  destruct empty_before as [u [Hu [La Cov]]]. pose proof La as [_ [Emp _]].
  assert (Fl : forall v, In v P -> In v (t_visits t) /\ v_port v = p).
  { intros v Hv. apply filter_In in Hv. destruct Hv as [Hv Pv]. apply Nat.eqb_eq in Pv.
    apply in_app_iff in Hv. destruct Hv as [Hv|Hv]; auto. destruct (no_others v Hv Pv). }
  assert (Cls : forall v, In v P -> lo < v_end v -> v_arrival v <= y -> class v <= k /\ size v <= l / scale c).
  { intros v Hv Ev Av. destruct (Fl v Hv) as [Iv Pv]. assert (Lv : live t v) by (apply recent; auto).
    pose proof (entry_for_in n c t V v Iv Lv) as Ie.
    rewrite Pv in Ie. split.
    - rewrite <- (class_entry n c t V v Iv). apply max_of_in. exact Ie.
    - apply Z.div_le_lower_bound; [lia|]. etransitivity; [apply (entry_frame n c t good V v Iv (Cl v Iv Pv Lv) Lv)|].
      apply (max_of_in e_frame). exact Ie. }
  assert (Hl : 0 <= l / scale c) by (apply Z.div_pos; [apply max_of_nonneg|lia]).
  pose proof (one_unfinished (l / scale c) Hl (fun v Hv Sv => proj2 (Cls v Hv ltac:(lia)
    ltac:(pose proof (in_order _ _ _ works v Hv); lia)))) as One.
  pose proof (groups_bring n c t good V p y Hp (all_kept n c t accepted V windows y) ClE (b_hint b) (b_window b) k u y y 0
    _ _ _ Hw ltac:(lia) (Z.le_refl 0) ltac:(unfold units; lia) (Z.le_refl y) ltac:(destruct Fre; lia) Hin
    (fun v Hv Pv Lv _ Av => Win lo u Fre (proj1 Hu) (or_introl (conj alone La)) v Hv Pv Lv Av)
    ltac:(intros v Hv Pv; destruct (no_others v Hv Pv)) Bel) as G.
  set (arr := fun v => (u <=? v_arrival v) && (v_arrival v <=? y)).
  set (fin := fun v => (u <? v_end v) && (v_end v <=? y)).
  assert (A : sumif size arr P <= sumif size (came k u y) P + sumif size (came_above k u y) P).
  { apply sumif_or; [intros v Hv; pose proof (sizes_at n c t good V p v Hp Hv); lia|].
    intros v Hv E. unfold arr in E. rewrite andb_true_iff, !Z.leb_le in E. unfold came, came_above.
    rewrite !andb_true_iff, !Z.leb_le, Z.eqb_eq, Z.ltb_lt. pose proof (in_order _ _ _ works v Hv).
    pose proof (comes_before_end n t p works (fun v => sizes_at n c t good V p v Hp) unit_pos v Hv).
    pose proof (Cls v Hv ltac:(lia) ltac:(lia)). lia. }
  assert (B : sumif size (in_buffer p y) (t_visits t) + sumif size fin P <= sumif size arr P).
  { assert (sumif size (in_buffer p y) (t_visits t) <= sumif size (in_buffer p y) P).
    { apply sumif_inject with (R := eq); [apply (visits_nodup n t V)| | |congruence].
      - intros v Hv. pose proof (sizes_at n c t good V p v Hp Hv). lia.
      - intros v Hv E. exists v. repeat split; auto; [|lia]. apply filter_In. rewrite in_app_iff.
        unfold in_buffer in E. rewrite !andb_true_iff in E. tauto. }
    etransitivity; [apply Z.add_le_mono_r, H|]. apply sumif_disjoint.
    - intros v Hv. pose proof (sizes_at n c t good V p v Hp Hv). lia.
    - intros v Hv E. unfold in_buffer, arr, fin in *. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt in E.
      specialize (Emp v Hv). split.
      + rewrite andb_true_iff, !Z.leb_le. lia.
      + apply andb_false_iff. right. apply Z.leb_gt. lia.
    - intros v Hv E. unfold arr, fin in *. rewrite andb_true_iff, Z.leb_le, Z.ltb_lt in E.
      specialize (Emp v Hv). pose proof (in_order _ _ _ works v Hv).
      rewrite andb_true_iff, !Z.leb_le. lia. }
  assert (C : p_rate_min (port_at n p) * (y - u) <= full t * (sumif size fin P + l / scale c)).
  { destruct (Z.eq_dec u y) as [->|].
    - rewrite Z.sub_diag, Z.mul_0_r. apply Z.mul_nonneg_nonneg; [unfold full, ps_per_s; lia|].
      pose proof (sumif_nonneg size fin P). 
      assert (0 <= sumif size fin P) by (apply H; intros v Hv; pose proof (sizes_at n c t good V p v Hp Hv); lia).
      lia.
    - pose proof (line_sent n t p works (fun v => sizes_at n c t good V p v Hp) unit_pos ltac:(lia)
        u (y - 1) (fun v => (v_start v <? y) && (u <? v_end v)) ltac:(lia)) as L.
      assert (Lp : p_rate_min (port_at n p) * (y - u) <=
        full t * sumif size (fun v => (v_start v <? y) && (u <? v_end v)) P).
      { replace (y - u) with (y - 1 + 1 - u) by lia. apply L. intros x Hx.
        destruct (Cov x) as [v [Hv Iv]]; [lia|]. exists v. split; [exact Hv|]. split; [exact Iv|].
        rewrite andb_true_iff, !Z.ltb_lt. lia. }
      assert (sumif size (fun v => (v_start v <? y) && (u <? v_end v)) P <=
        sumif size fin P + sumif size (fun v => (v_start v <? y) && (y <? v_end v)) P).
      { apply sumif_or; [intros v Hv; pose proof (sizes_at n c t good V p v Hp Hv); lia|].
        intros v Hv E. rewrite andb_true_iff, !Z.ltb_lt in E. unfold fin.
        rewrite !andb_true_iff, !Z.ltb_lt, Z.leb_le. lia. }
      assert (0 < full t) by (unfold full, ps_per_s; lia). nia. }
  set (bl := sumif size (in_buffer p y) _) in *. set (f := sumif size fin P) in *.
  set (a := sumif size arr P) in *. set (x1 := sumif size (came k u y) P) in *.
  set (x2 := sumif size (came_above k u y) P) in *.
  pose proof (Z.mul_div_le l (scale c) Sp) as Ld. pose proof (wf_parts n c good) as [_ [_ [_ [_ Qp]]]].
  unfold per_ps in G. set (R := p_rate_min (port_at n p)) in *. set (q := l / scale c) in *.
  assert (C' : q_scale c * (R * (y - u)) <= q_scale c * (full t * (f + q)))
    by (apply Z.mul_le_mono_nonneg_l; lia).
  replace (q_scale c * (full t * (f + q))) with (scale c * t_unit t * f + t_unit t * (scale c * q)) in C'
    by (unfold scale, full; ring).
  assert (Ld' : t_unit t * (scale c * q) <= t_unit t * l) by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (Z1 : 0 < scale c * t_unit t) by nia.
  assert (scale c * t_unit t * (bl + f) <= scale c * t_unit t * (x1 + x2))
    by (apply Z.mul_le_mono_nonneg_l; lia).
  apply Z.mul_le_mono_pos_l with (p := scale c * t_unit t); [exact Z1|]. lia.
Qed.
End Backlog.

(** With other traffic: what is in front when the busy period begins adds to it. *)
Section Behind.
Variables (n : network) (c : claims) (t : trace) (p : nat).
Hypothesis accepted : delays_ok n c = true.
Hypothesis V : follows n t.
Hypothesis windows : windows_hold n c t.
Hypothesis Hp : (p < length (n_ports n))%nat.

Let unit_pos : 0 < t_unit t := unit_positive _ _ V.
Let good := good n c accepted.
Let works := ports _ _ V p Hp.

Notation P := (visits_at t p).

(** What the line has sent since u, and what is left of what came. *)
Lemma left_behind s l k u y : begins t p s k u = true -> u < y -> 0 <= l ->
  (forall v, In v P -> class v <= k -> v_start v < y < v_end v -> size v <= l) ->
  (forall v, In v (t_visits t) -> in_buffer p y v = true -> class v <= k) ->
  (forall x, u <= x < y -> exists v, In v P /\ v_start v <= x < v_end v) ->
  (forall g, In g P -> v_start g < v_end g -> k < class g -> v_choice g <= y -> v_choice g <= u) ->
  exists f, sumif size (in_buffer p y) (t_visits t) + f <=
            s + l + sumif size (came k u y) P + sumif size (came_above k u y) P /\
            p_rate_min (port_at n p) * (y - u) <= full t * f.
Proof.
  intros B Huy Hl Sz Cl Cov Low. apply begins_spec in B. destruct B as [Nw Fr].
  assert (Nn : forall v, In v P -> 0 <= size v)
    by (intros v Hv; pose proof (sizes_at n c t good V p v Hp Hv); lia).
  set (X := fun v => takes_time v && (v_start v <? y) && (u <? v_end v)).
  set (Q1 := fun v => in_front k u v && ((k <? class v) || (v_end v <=? y))).
  set (Q2 := fun v => (class v <=? k) && (u <=? v_arrival v) && (v_end v <=? y)).
  set (Q3 := fun v => (class v <=? k) && (v_start v <? y) && (y <? v_end v)).
  set (Q4 := fun v => in_front k u v && negb ((k <? class v) || (v_end v <=? y))).
  set (Q5 := fun v => (class v <=? k) && (u <=? v_arrival v) && (v_arrival v <=? y) && (y <? v_end v)).
  set (A := fun v => (class v <=? k) && (u <=? v_arrival v) && (v_arrival v <=? y)).
  exists (sumif size X P). split.
  - assert (E1 : sumif size X P <= sumif size Q1 P + (sumif size Q2 P + sumif size Q3 P)).
    { etransitivity; [apply sumif_or with (Q := Q1) (R := fun v => Q2 v || Q3 v); [exact Nn|]|].
      - intros v Hv E. unfold X, takes_time in E. unfold Q1, Q2, Q3, in_front.
        rewrite !andb_true_iff, !Z.ltb_lt in E.
        rewrite !orb_true_iff, !andb_true_iff, !orb_true_iff, !Z.leb_le, !Z.ltb_lt.
        pose proof (in_order _ _ _ works v Hv). specialize (Nw v Hv). specialize (Low v Hv). lia.
      - assert (sumif size (fun v => Q2 v || Q3 v) P <= sumif size Q2 P + sumif size Q3 P); [|lia].
        apply sumif_or; [exact Nn|]. intros v _ E. now apply orb_true_iff. }
    assert (E3 : sumif size Q3 P <= l).
    { assert (D : forall v w, In v P -> In w P -> apart v_start v_end v w)
        by (intros v w Hv Hw Sv Sw; apply (one_by_one _ _ _ works); auto; now apply Z.ltb_lt).
      pose proof (at_most_one v_start v_end all (y - 1) P (visits_at_nodup n t V p) D) as One.
      assert (sumif size Q3 P <=
        sumif (fun _ => l * 1) (fun v => all v && at_instant v_start v_end (y - 1) v) P).
      { apply sumif_le; [|intros; lia]. intros v Hv E. unfold Q3 in E.
        rewrite !andb_true_iff, !Z.ltb_lt, Z.leb_le in E.
        split; [|specialize (Sz v Hv); lia]. cbn [all andb]. apply within_spec. lia. }
      rewrite sumif_scale in H. nia. }
    assert (E4 : sumif size Q4 P + sumif size Q1 P <= sumif size (in_front k u) P).
    { apply sumif_disjoint; [exact Nn| |]; intros v Hv E; unfold Q4, Q1 in *;
        rewrite andb_true_iff in E; destruct E as [E1' E2']; [|exact E1'].
      split; [exact E1'|]. apply negb_true_iff in E2'. rewrite E2'. apply andb_false_r. }
    assert (E5 : sumif size Q5 P + sumif size Q2 P <= sumif size A P).
    { apply sumif_disjoint; [exact Nn| |]; intros v Hv E; unfold Q5, Q2, A in *;
        rewrite !andb_true_iff, ?Z.leb_le, ?Z.ltb_lt in E; pose proof (in_order _ _ _ works v Hv).
      - split; [rewrite !andb_true_iff, !Z.leb_le; lia|].
        apply andb_false_iff. right. apply Z.leb_gt. lia.
      - rewrite !andb_true_iff, !Z.leb_le. lia. }
    assert (E6 : sumif size A P <= sumif size (came k u y) P + sumif size (came_above k u y) P).
    { apply sumif_or; [exact Nn|]. intros v Hv E. unfold A in E. unfold came, came_above.
      rewrite !andb_true_iff, ?Z.leb_le, ?Z.ltb_lt, ?Z.eqb_eq in *. lia. }
    assert (E7 : sumif size (in_buffer p y) (t_visits t) <= sumif size Q4 P + sumif size Q5 P).
    { etransitivity; [|apply (sumif_or size (fun v => Q4 v || Q5 v) Q4 Q5 P Nn);
        intros v _ E; now apply orb_true_iff].
      apply sumif_inject with (R := eq); [apply (visits_nodup n t V)|exact Nn| |congruence].
      intros v Hv E. specialize (Cl v Hv E). unfold in_buffer in E.
      rewrite !andb_true_iff, Nat.eqb_eq, Z.leb_le, Z.ltb_lt in E. destruct E as [[Pv Av] Ev]. exists v.
      assert (Iv : In v P) by (rewrite <- Pv; now apply at_port_in).
      split; [exact Iv|]. split; [reflexivity|]. split; [|lia].
      specialize (Nw v Iv Cl). unfold Q4, Q5, in_front.
      rewrite orb_true_iff, !andb_true_iff, negb_true_iff, !orb_true_iff, orb_false_iff,
        !Z.leb_le, !Z.ltb_lt, Z.ltb_ge, Z.leb_gt. lia. }
    lia.
  - replace (y - u) with (y - 1 + 1 - u) by lia.
    apply (line_sent n t p works (fun v => sizes_at n c t good V p v Hp) unit_pos
      (proj1 (proj1 (port_facts n c good p Hp)))); [lia|].
    intros x Hx. destruct (Cov x) as [v [Hv Iv]]; [lia|]. exists v. split; [exact Hv|].
    split; [exact Iv|]. unfold X, takes_time. rewrite !andb_true_iff, !Z.ltb_lt. lia.
Qed.

(** Where the busy period begins now. *)
Lemma left_at_once s l k y : begins t p s k y = true -> 0 <= l ->
  (forall v, In v (t_visits t) -> in_buffer p y v = true -> class v <= k) ->
  exists f, sumif size (in_buffer p y) (t_visits t) + f <=
            s + l + sumif size (came k y y) P + sumif size (came_above k y y) P /\
            p_rate_min (port_at n p) * (y - y) <= full t * f.
Proof.
  intros B Hl Cl. apply begins_spec in B. destruct B as [Nw Fr]. exists 0. split; [|lia].
  assert (Nn : forall v, In v P -> 0 <= size v)
    by (intros v Hv; pose proof (sizes_at n c t good V p v Hp Hv); lia).
  assert (sumif size (in_buffer p y) (t_visits t) <=
    sumif size (fun v => in_front k y v || (came k y y v || came_above k y y v)) P).
  { apply sumif_inject with (R := eq); [apply (visits_nodup n t V)|exact Nn| |congruence].
    intros v Hv E. specialize (Cl v Hv E). unfold in_buffer in E.
    rewrite !andb_true_iff, Nat.eqb_eq, Z.leb_le, Z.ltb_lt in E. destruct E as [[Pv Av] Ev]. exists v.
    assert (Iv : In v P) by (rewrite <- Pv; now apply at_port_in).
    split; [exact Iv|]. split; [reflexivity|]. split; [|lia].
    specialize (Nw v Iv Cl). unfold in_front, came, came_above.
    rewrite !orb_true_iff, !andb_true_iff, !orb_true_iff, !Z.leb_le, !Z.ltb_lt, Z.eqb_eq. lia. }
  pose proof (sumif_or size (fun v => in_front k y v || (came k y y v || came_above k y y v))
    (in_front k y) (fun v => came k y y v || came_above k y y v) P Nn
    (fun v _ E => proj1 (orb_true_iff _ _) E)).
  pose proof (sumif_or size (fun v => came k y y v || came_above k y y v) (came k y y)
    (came_above k y y) P Nn (fun v _ E => proj1 (orb_true_iff _ _) E)). lia.
Qed.

Lemma max_of_lt w es' b : 0 < b -> (forall e, In e es' -> w e < b) -> max_of w es' < b.
Proof.
  intros Hb. unfold max_of. induction es' as [|e r IH]; intros H; cbn [fold_right]; [exact Hb|].
  specialize (IH (fun x Hx => H x (or_intror Hx))). specialize (H e (or_introl eq_refl)). lia.
Qed.

Notation es := (filter (at_place p) (entries n c)).

Lemma backlog_behind b lo y : backlog_ok n c (entries n c) p b = true -> p_other (port_at n p) <> 0 ->
  fresh t p lo -> lo <= y -> inside t y -> buffer_window n c t p b y ->
  (forall v, In v (t_visits t) -> v_port v = p -> live t v -> claimed n t v) ->
  sumif size (in_buffer p y) (t_visits t) <= b_bits b.
Proof.
  intros Ok Ne Fre Hlo Hin Win Cl. unfold backlog_ok in Ok. set (k := max_of e_class es) in *.
  set (l := max_of e_frame es) in *. apply Z.eqb_neq in Ne. rewrite Ne in Ok.
  rewrite !andb_true_iff, Z.leb_le in Ok. destruct Ok as [[Hb Hw] Bel].
  destruct (existsb (in_buffer p y) (t_visits t)) eqn:Any.
  2: { rewrite sumif_empty; [exact Hb|]. intros v Hv E.
       assert (existsb (in_buffer p y) (t_visits t) = true); [|congruence]. apply existsb_exists. eauto. }
  apply existsb_exists in Any. destruct Any as [v0 [Hv0 E0]]. unfold in_buffer in E0.
  rewrite !andb_true_iff, Nat.eqb_eq, Z.leb_le, Z.ltb_lt in E0. destruct E0 as [[E0 A0] B0].
  assert (L0 : live t v0) by (apply (recent t p lo y); auto; lia).
  pose proof (all_claimed n c t accepted V v0 Hv0 L0 (Cl v0 Hv0 E0 L0)) as ClE. rewrite E0 in ClE.
  pose proof (scale_pos n c good) as Sp. pose proof (port_facts n c good p Hp) as Fp.
  assert (Fc : forall v, In v (t_visits t) -> v_port v = p -> lo < v_end v -> v_arrival v <= y ->
    class v <= k /\ size v <= l / scale c).
  { intros v Iv Pv Ev Av. assert (Lv : live t v) by (apply (recent t p lo y); auto).
    pose proof (entry_for_in n c t V v Iv Lv) as Ie. rewrite Pv in Ie. split.
    - rewrite <- (class_entry n c t V v Iv). apply max_of_in. exact Ie.
    - apply Z.div_le_lower_bound; [lia|]. etransitivity; [apply (entry_frame n c t good V v Iv (Cl v Iv Pv Lv) Lv)|].
      apply (max_of_in e_frame). exact Ie. }
  assert (Ho : forall v, In v (t_others t) -> v_port v = p -> k < class v).
  { intros v Hv Pv. pose proof (others_below _ _ _ works v Hv Pv) as [_ O]. apply max_of_lt.
    - pose proof (O _ (frame_lt n t V v0 Hv0)) as O0.
      destruct (wf_parts n c good) as [_ [Hf _]]. specialize (Hf _ (frame_lt n t V v0 Hv0)).
      unfold flow_wf in Hf. rewrite !andb_true_iff, !Z.leb_le in Hf. lia.
    - intros e He. apply filter_In in He. destruct He as [He _]. apply entries_spec in He.
      destruct He as [i [x [Hi [Hx [_ ->]]]]].
      destruct (entry_names n c i (flow_at n i) x) as [_ [_ [_ [_ ->]]]]. now apply O. }
  assert (Sz : forall v, In v P -> class v <= k -> v_start v < y < v_end v -> size v <= l / scale c).
  { intros v Hv Kv Sv. pose proof (in_order _ _ _ works v Hv) as Ov. apply filter_In in Hv. destruct Hv as [Hv Pv]. apply Nat.eqb_eq in Pv.
    apply in_app_iff in Hv. destruct Hv as [Hv|Hv]; [apply Fc; auto; lia|]. specialize (Ho v Hv Pv). lia. }
  assert (Hl : 0 <= l / scale c) by (apply Z.div_pos; [apply max_of_nonneg|lia]).
  assert (Clr : cleared t p k lo).
  { intros v Hv Kv Av. apply filter_In in Hv. destruct Hv as [Hv Pv]. apply Nat.eqb_eq in Pv.
    apply in_app_iff in Hv. destruct Hv as [Hv|Hv]; [now apply (proj2 Fre)|]. specialize (Ho v Hv Pv). lia. }
  pose proof (blocks_row n c t accepted V p k lo y Hp Fre Hin Cl) as Bl. set (s := blocking n c p k es / scale c) in *.
  assert (Hs : 0 <= s).
  { apply Z.div_pos; [|lia]. unfold blocking.
    pose proof (max_of_nonneg e_frame (filter (fun e => k <? e_class e) es)). lia. }
  destruct (busy_since n t p works (fun v => sizes_at n c t good V p v Hp) unit_pos s k lo y Bl Hs Hlo Clr)
    as [u [Hu [La [Cov Low]]]]. pose proof La as [_ [Bu _]].
  pose proof (Z.mul_div_le l (scale c) Sp) as Ld. pose proof (wf_parts n c good) as [_ [_ [_ [_ Qp]]]].
  pose proof (Z.mul_div_le (blocking n c p k es) (scale c) Sp) as Ls. fold s in Ls.
  pose proof (groups_bring n c t good V p y Hp (all_kept n c t accepted V windows y) ClE (b_hint b) (b_window b) k u y y 0
    _ _ _ Hw ltac:(lia) (Z.le_refl 0) ltac:(unfold units; lia) (Z.le_refl y) ltac:(destruct Fre; lia) Hin
    (fun v Hv Pv Lv _ Av => Win lo u Fre (proj1 Hu) (or_intror La) v Hv Pv Lv Av) Ho Bel) as G.
  assert (Bf : forall v, In v (t_visits t) -> in_buffer p y v = true -> class v <= k).
  { intros v Hv E. unfold in_buffer in E. rewrite !andb_true_iff, Nat.eqb_eq, Z.leb_le, Z.ltb_lt in E.
    apply Fc; [exact Hv|tauto|lia|lia]. }
  assert (F : exists f, sumif size (in_buffer p y) (t_visits t) + f <=
            s + l / scale c + sumif size (came k u y) P + sumif size (came_above k u y) P /\
            p_rate_min (port_at n p) * (y - u) <= full t * f).
  { destruct (Z.eq_dec u y) as [->|].
    - apply (left_at_once s (l / scale c) k y Bu Hl Bf).
    - apply (left_behind s (l / scale c) k u y Bu); auto. lia. }
  destruct F as [f [F1 F2]].
  set (bl := sumif size (in_buffer p y) _) in *. set (x1 := sumif size (came k u y) P) in *.
  set (x2 := sumif size (came_above k u y) P) in *.
  unfold per_ps in G. set (R := p_rate_min (port_at n p)) in *. set (q := l / scale c) in *.
  assert (C' : q_scale c * (R * (y - u)) <= q_scale c * (full t * f))
    by (apply Z.mul_le_mono_nonneg_l; lia).
  replace (q_scale c * (full t * f)) with (scale c * t_unit t * f) in C' by (unfold scale, full; ring).
  assert (Ld' : t_unit t * (scale c * q) <= t_unit t * l) by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (Ls' : t_unit t * (scale c * s) <= t_unit t * blocking n c p k es)
    by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (Z1 : 0 < scale c * t_unit t) by nia.
  assert (scale c * t_unit t * (bl + f) <= scale c * t_unit t * (s + q + x1 + x2))
    by (apply Z.mul_le_mono_nonneg_l; lia).
  apply Z.mul_le_mono_pos_l with (p := scale c * t_unit t); [exact Z1|]. lia.
Qed.
End Behind.
