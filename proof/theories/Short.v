(** How long a busy period takes: of the classes up to k, and of all flows. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Intervals Description Model Busy Accepts Ways Arrivals Groups Delay Backlog.
Import ListNotations.
Open Scope Z_scope.

Section Short.
Variables (n : network) (c : claims) (t : trace) (p : nat).
Hypothesis accepted : delays_ok n c = true.
Hypothesis V : follows n t.
Hypothesis windows : windows_hold n c t.
Hypothesis Hp : (p < length (n_ports n))%nat.

Let unit_pos : 0 < t_unit t := unit_positive _ _ V.
Let good := good n c accepted.
Let works := ports _ _ V p Hp.

Notation P := (visits_at t p).
Notation es := (filter (at_place p) (entries n c)).

Hypothesis switch : of_switch n es = true.

Lemma switch_claims e : In e es -> t_babbling t (e_flow e) = false \/ parent_of n (e_flow e) (e_place e) <> None.
Proof.
  intros He. pose proof switch as O. unfold of_switch in O. rewrite forallb_forall in O. specialize (O e He).
  apply filter_In in He. destruct He as [He _]. apply entries_spec in He. destruct He as [i [x [Hi [Hx [_ Ee]]]]].
  destruct (entry_names n c i (flow_at n i) x) as [Nf [Np [_ [Fr _]]]]. rewrite <- Ee in *.
  rewrite Fr, Nf in O. rewrite Nf, Np. unfold parent_of. unfold from_port in O.
  destruct (parent (place_at (flow_at n i) x)); [right; discriminate|left].
  destruct (t_babbling t i) eqn:B; auto. pose proof (babbling _ _ V i Hi B).
  destruct (f_meter (flow_at n i)); congruence.
Qed.

Lemma switch_claimed v : In v (t_visits t) -> v_port v = p -> live t v -> claimed n t v.
Proof. apply (Cl n c t V p switch_claims). Qed.

Lemma blocks_more s s' k lo hi : s <= s' -> blocks n t p s k lo hi -> blocks n t p s' k lo hi.
Proof. intros H [B L]. split; [lia|]. intros v Hv Kv Ev Cv. specialize (L v Hv Kv Ev Cv). lia. Qed.

(** What the line has sent of a busy period of w, and one instant more, is more than can have come. *)
Lemma too_long k s w window h u : busy_ok n c p es k s w window h = true -> 0 <= s ->
  begins t p s k u = true -> s_since (t_span t) p <= u -> inside t (u + units t w) ->
  (forall x, u <= x <= u + units t w -> exists v, In v P /\ v_start v <= x < v_end v) ->
  (forall g, In g P -> v_start g < v_end g -> k < class g -> v_choice g <= u + units t w -> v_choice g <= u) ->
  (forall v, In v (t_others t) -> v_port v = p -> k < class v) ->
  (forall v, In v (t_visits t) -> v_port v = p -> leaving n c v = true -> class v <= k ->
     u <= v_arrival v <= u + units t w -> early t u window v) -> False.
Proof.
  intros Ok Hs B Su Iu Cov Low Ho He. unfold busy_ok in Ok. rewrite !andb_true_iff, !Z.leb_le in Ok.
  destruct Ok as [[[Hw Win] _] Bel]. assert (Hu : 0 <= units t w) by (unfold units; nia).
  pose proof (port_facts n c good p Hp) as Fp.
  pose proof (sent_since n t p works (fun v => sizes_at n c t good V p v Hp) unit_pos ltac:(lia) s k u
    (u + units t w) ltac:(lia) B Cov Low) as L.
  pose proof (groups_after n c t good V p (u + units t w) Hp (all_kept n c t accepted V windows _) switch_claims
    h window k u (u + units t w) _ _ w Win ltac:(lia) (Z.le_refl _) Su Iu ltac:(lia) He Ho Bel) as G.
  set (x1 := sumif size (came _ _ _) _) in *. set (x2 := sumif size (came_above _ _ _) _) in *.
  pose proof (wf_parts n c good) as [_ [_ [_ [_ Qp]]]].
  set (R := p_rate_min (port_at n p)) in *. unfold per_ps in G. fold R in G.
  assert (L' : q_scale c * (R * (u + units t w + 1 - u)) <= q_scale c * (full t * (s + x1 + x2)))
    by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (0 < q_scale c * R) by nia.
  replace (q_scale c * (full t * (s + x1 + x2))) with
    (t_unit t * (scale c * s) + scale c * t_unit t * (x1 + x2)) in L' by (unfold scale, full; ring).
  lia.
Qed.

(** Not longer than w before any instant, one of the classes up to k may begin. *)
Theorem begins_soon k s w window h lo z : busy_ok n c p es k s w window h = true -> 0 <= s ->
  fresh t p lo -> lo <= z -> inside t z ->
  (forall v, In v (t_others t) -> v_port v = p -> k < class v) ->
  (forall u, lo <= u -> last_begin t p s k z u -> forall v, In v (t_visits t) -> v_port v = p ->
     leaving n c v = true -> class v <= k -> u <= v_arrival v <= z -> early t u window v) ->
  exists u, lo <= u /\ z - units t w <= u <= z /\ begins t p s k u = true.
Proof.
  intros Ok Hs Fre Hz Iz Ho He.
  assert (Bl : blocks n t p s k lo z).
  { apply (blocks_more (in_the_way n c p k es)).
    - unfold busy_ok in Ok. rewrite !andb_true_iff, !Z.leb_le in Ok. unfold in_the_way. tauto.
    - apply (blocks_row n c t accepted V p k lo z Hp Fre Iz switch_claimed). }
  assert (Clr : cleared t p k lo).
  { intros v Hv Kv Av. apply filter_In in Hv. destruct Hv as [Hv Pv]. apply Nat.eqb_eq in Pv.
    apply in_app_iff in Hv. destruct Hv as [Hv|Hv]; [now apply (proj2 Fre)|]. specialize (Ho v Hv Pv). lia. }
  destruct (busy_since n t p works (fun v => sizes_at n c t good V p v Hp) unit_pos s k lo z Bl Hs Hz Clr)
    as [u [Hu [La [Cov Low]]]]. pose proof La as [_ [Bu _]].
  exists u. split; [lia|]. split; [|exact Bu]. split; [|lia].
  destruct (Z_le_gt_dec (z - units t w) u) as [|G]; [assumption|exfalso].
  apply (too_long k s w window h u Ok Hs Bu); auto.
  - destruct Fre. lia.
  - apply (inside_le t _ z); [lia|exact Iz].
  - intros x Hx. apply Cov. lia.
  - intros g Hg Sg Kg Cg. apply Low; auto. lia.
  - intros v Hv Pv Lv Kv Av. apply (He u ltac:(lia) La); auto. lia.
Qed.

(** Nor does any frame of a flow stand there for longer, if there is no other traffic. *)
Theorem empty_soon k s w window h lo z : busy_ok n c p es k s w window h = true -> 0 <= s ->
  p_other (port_at n p) = 0 -> max_of e_class es <= k -> fresh t p lo -> lo <= z -> inside t z ->
  (forall u, lo <= u -> last_empty t p z u -> forall v, In v (t_visits t) -> v_port v = p ->
     leaving n c v = true -> u <= v_arrival v <= z -> early t u window v) ->
  exists u, lo <= u /\ z - units t w <= u <= z /\ forall v, In v P -> v_arrival v < u -> v_end v <= u.
Proof.
  intros Ok Hs Alone Hk Fre Hz Iz He.
  destruct (empty_before n t p V Hp lo z Fre Hz Alone) as [u [Hu [La Cov]]]. pose proof La as [_ [Emp _]].
  exists u. split; [lia|]. split; [|exact Emp]. split; [|lia].
  destruct (Z_le_gt_dec (z - units t w) u) as [|G]; [assumption|exfalso].
  assert (No : forall v, In v P -> In v (t_visits t) /\ v_port v = p).
  { intros v Hv. apply filter_In in Hv. destruct Hv as [Hv Pv]. apply Nat.eqb_eq in Pv.
    apply in_app_iff in Hv. destruct Hv as [Hv|Hv]; auto. destruct (no_others n t p V Hp Alone v Hv Pv). }
  assert (Kl : forall v, In v P -> u <= v_arrival v <= z -> class v <= k).
  { intros v Hv Av. destruct (No v Hv) as [Iv Pv]. rewrite <- (class_entry n c t V v Iv).
    etransitivity; [|exact Hk]. apply max_of_in. rewrite <- Pv. apply (entry_for_in n c t V v Iv).
    destruct Fre. split; [rewrite Pv; lia|apply (inside_le t _ z); [lia|exact Iz]]. }
  assert (Nn : forall v, In v P -> v_arrival v <= v_choice v /\ v_choice v <= v_end v)
    by (intros v Hv; pose proof (in_order _ _ _ works v Hv); lia).
  assert (B : begins t p s k u = true).
  { apply begins_spec. split.
    - intros v Hv _ Av. specialize (Emp v Hv Av). specialize (Nn v Hv). lia.
    - rewrite sumif_empty; [exact Hs|]. intros v Hv E. unfold in_front in E.
      rewrite !andb_true_iff, orb_true_iff, Z.leb_le, !Z.ltb_lt in E. specialize (Emp v Hv). specialize (Nn v Hv).
      specialize (Kl v Hv). lia. }
  assert (Hw : 0 <= units t w).
  { unfold busy_ok in Ok. rewrite !andb_true_iff, !Z.leb_le in Ok. unfold units. nia. }
  apply (too_long k s w window h u Ok Hs B); auto.
  - destruct Fre. lia.
  - apply (inside_le t _ z); [lia|exact Iz].
  - intros x Hx. apply Cov. lia.
  - intros g Hg _ Kg Cg. specialize (Nn g Hg). destruct (Z_lt_ge_dec (v_arrival g) u) as [A|A];
      [specialize (Emp g Hg A); lia|specialize (Kl g Hg); lia].
  - intros v Hv Pv. destruct (no_others n t p V Hp Alone v Hv Pv).
  - intros v Hv Pv Lv _ Av. apply (He u ltac:(lia) La); auto. lia.
Qed.
End Short.
