(** What a meter passes in a window of arrivals. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Description Model.
Import ListNotations.
Open Scope Z_scope.

Section Meter.
Variables (n : network) (t : trace) (i : nat) (m : meter).
Hypothesis unit_pos : 0 < t_unit t.
Hypothesis polices : meters_police n t i.
Hypothesis metered : f_meter (flow_at n i) = Some m.
Hypothesis least_pos : 0 < n_frame_min n.
Hypothesis uncounted : 0 <= m_uncounted m < n_frame_min n.
Hypothesis rate_nonneg : 0 <= m_rate m.
Hypothesis burst_nonneg : 0 <= m_burst m.
Hypothesis sizes : forall v, In v (t_visits t) -> n_frame_min n <= size v.

(** The frames of flow i that the first switch receives from x to y, and passes. *)
Definition got (x y : Z) (v : visit) : bool :=
  Nat.eqb (flow_of v) i && match parent_of n (flow_of v) (v_place v) with None => true | _ => false end
  && f_passed (v_frame v) && (x <=? received n t v) && (received n t v <=? y).

Lemma got_spec x y v : got x y v = true <->
  flow_of v = i /\ parent_of n (flow_of v) (v_place v) = None /\ f_passed (v_frame v) = true /\
  x <= received n t v <= y.
Proof using.
  clear - i. unfold got. rewrite !andb_true_iff, Nat.eqb_eq, !Z.leb_le.
  destruct (parent_of n (flow_of v) (v_place v)); intuition congruence.
Qed.

Lemma stamped_spec x y v : stamped n i x y v = true <->
  flow_of v = i /\ parent_of n (flow_of v) (v_place v) = None /\ f_passed (v_frame v) = true /\
  x <= v_stamp v <= y.
Proof using.
  clear - i. unfold stamped. rewrite !andb_true_iff, Nat.eqb_eq, !Z.leb_le.
  destruct (parent_of n (flow_of v) (v_place v)); intuition congruence.
Qed.

Lemma meter_counts x y w : y - x <= w -> 0 <= w ->
  full t * sumif (fun v => size v - m_uncounted m) (got x y) (t_visits t)
  <= full t * m_burst m + m_rate m * (w + units t stamp_step).
Proof.
  intros Hxy Hw. assert (F : 0 < full t) by (unfold full, ps_per_s; lia).
  assert (0 <= units t stamp_step) by (unfold units, stamp_step; lia).
  assert (Pos : forall v, In v (t_visits t) -> 0 <= size v - m_uncounted m).
  { intros v Hv. specialize (sizes v Hv). lia. }
  destruct (Z_le_gt_dec (sumif (fun v => size v - m_uncounted m) (got x y) (t_visits t)) 0) as [|G].
  - set (z := sumif _ _ _) in *. nia.
  - assert (E := sumif_positive _ _ _ (Z.gt_lt _ _ G)). clear G.
    destruct (least_of v_stamp _ _ E) as [v [Hv [Gv Least]]].
    destruct (least_of (fun v => - v_stamp v) _ _ E) as [g [Hg [Gg Most]]]. clear E.
    pose proof (Least g Hg Gg) as Le.
    apply got_spec in Gv, Gg. destruct Gv as [Fv [Pv [Av Rv]]], Gg as [Fg [Pg [Ag Rg]]].
    pose proof (stamps _ _ _ polices v Hv Fv Pv). pose proof (stamps _ _ _ polices g Hg Fg Pg).
    pose proof (bucket _ _ _ polices m v g metered Hv Hg Le) as B.
    assert (full t * m_burst m + m_rate m * (v_stamp g - v_stamp v)
            <= full t * m_burst m + m_rate m * (w + units t stamp_step)) by nia.
    etransitivity; [|etransitivity; [apply B|eassumption]].
    + apply Z.mul_le_mono_nonneg_l; [lia|]. apply sumif_le; [|auto]. intros z Hz Gz. split; [|lia].
      specialize (Least z Hz Gz). specialize (Most z Hz Gz). apply got_spec in Gz.
      apply stamped_spec. intuition lia.
    + apply stamped_spec. intuition lia.
    + apply stamped_spec. intuition lia.
Qed.

(** In bits on the wire: a frame of the least size has the most per counted bit. *)
Lemma meter_brings q r b x y w : 0 <= q -> 0 <= w -> y - x <= w ->
  n_frame_min n * (q * ps_per_s * m_burst m) <= b * (n_frame_min n - m_uncounted m) ->
  n_frame_min n * (q * m_rate m) <= r * (n_frame_min n - m_uncounted m) ->
  q * ps_per_s * t_unit t * sumif size (got x y) (t_visits t)
  <= t_unit t * b + r * (w + units t stamp_step).
Proof.
  intros Hq Hw Hxy Hb Hr. set (k := n_frame_min n - m_uncounted m) in *.
  pose proof (meter_counts x y w Hxy Hw) as C. set (W := w + units t stamp_step) in *.
  assert (HW : 0 <= W) by (unfold W, units, stamp_step; lia).
  assert (S : k * sumif size (got x y) (t_visits t) <=
              n_frame_min n * sumif (fun v => size v - m_uncounted m) (got x y) (t_visits t)).
  { rewrite <- !sumif_scale. apply sumif_le.
    - intros v Hv Gv. split; auto. specialize (sizes v Hv). unfold k. nia.
    - intros v Hv. specialize (sizes v Hv). nia. }
  set (z := sumif size (got x y) (t_visits t)) in *.
  set (u := sumif (fun v => size v - m_uncounted m) (got x y) (t_visits t)) in *.
  apply Z.mul_le_mono_pos_r with (p := k); [unfold k; lia|].
  assert (q * ps_per_s * t_unit t * (k * z) <= q * ps_per_s * t_unit t * (n_frame_min n * u)).
  { apply Z.mul_le_mono_nonneg_l; [unfold ps_per_s; nia|exact S]. }
  assert (q * n_frame_min n * (full t * u)
          <= q * n_frame_min n * (full t * m_burst m + m_rate m * W)).
  { apply Z.mul_le_mono_nonneg_l; [nia|exact C]. }
  assert (t_unit t * (n_frame_min n * (q * ps_per_s * m_burst m)) <= t_unit t * (b * k)) by nia.
  assert (W * (n_frame_min n * (q * m_rate m)) <= W * (r * k)) by nia.
  unfold full in *. lia.
Qed.
End Meter.
