(** What comes to a monitor in a window of arrivals, as long as it bears with all of it. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Description Model Contract.
Import ListNotations.
Open Scope Z_scope.

(** The guide times of the protocol: each message comes no earlier than G, and G goes on from the
    later of G and E - J, a period later. Then messages are apart as [seen_in_time] says. *)
Lemma guide_times (E G : nat -> Z) (J T : Z) : 0 <= T ->
  (forall k, G (S k) = Z.max (G k) (E k - J) + T) -> (forall k, G k <= E k) ->
  forall i k, (i < k)%nat -> E i - J + (Z.of_nat k - Z.of_nat i) * T <= E k.
Proof.
  intros HT HG HE i k Hik. assert (A : forall d, E i - J + (Z.of_nat d + 1) * T <= G (S i + d)%nat).
  { induction d as [|d IH].
    - rewrite Nat.add_0_r, HG. lia.
    - replace (S i + S d)%nat with (S (S i + d)) by lia. rewrite HG. lia. }
  specialize (A (k - S i)%nat). replace (S i + (k - S i))%nat with k in A by lia. specialize (HE k). nia.
Qed.

Section Monitor.
Variables (n : network) (t : trace) (i : nat) (m : monitor).
Variables (number : visit -> Z) (first : Z -> Z).
Hypothesis unit_pos : 0 < t_unit t.
Hypothesis bears : bears_with n t i m number first.
Hypothesis message : 0 <= w_message m.
Hypothesis period : 0 < w_period m.
Hypothesis jitter : 0 <= w_jitter m.
Hypothesis spread : 0 <= w_spread m.
Hypothesis sizes : forall v, In v (t_visits t) -> 0 <= size v.

(** The frames of flow i that come to the monitor from x to y. *)
Definition heard (x y : Z) (v : visit) : bool :=
  watched n t i v && (x <=? received n t v) && (received n t v <=? y).

Lemma heard_spec x y v : heard x y v = true <-> watched n t i v = true /\ x <= received n t v <= y.
Proof using. clear - n. unfold heard. rewrite !andb_true_iff, !Z.leb_le. tauto. Qed.

(** Whole messages: one, and as many more as periods fit into the window and all that varies. *)
Lemma messages_heard x y w : y - x <= w -> 0 <= w -> exists k, 0 <= k /\
  sumif size (heard x y) (t_visits t) <= w_message m * (k + 1) /\
  k * units t (w_period m) <= w + units t (w_jitter m + w_spread m + stamp_step).
Proof.
  intros Hxy Hw. assert (0 <= units t (w_jitter m + w_spread m + stamp_step))
    by (unfold units, stamp_step; nia).
  destruct (Z_le_gt_dec (sumif size (heard x y) (t_visits t)) 0) as [Z0|G]; [exists 0; lia|].
  assert (E := sumif_positive _ _ _ (Z.gt_lt _ _ G)).
  destruct (least_of number _ _ E) as [v [Hv [Rv Least]]].
  destruct (least_of (fun v => - number v) _ _ E) as [g [Hg [Rg Most]]].
  assert (Le : number v <= number g) by (specialize (Least g Hg Rg); lia).
  exists (number g - number v). split; [lia|]. split.
  - set (ks := map (fun k => number v + Z.of_nat k) (seq 0 (Z.to_nat (number g - number v + 1)))).
    etransitivity; [apply sumif_cover with (ks := ks) (f := fun k h => number h =? k)|].
    + exact sizes.
    + intros h Hh Rh. specialize (Least h Hh Rh). specialize (Most h Hh Rh).
      exists (number h). split; [|apply Z.eqb_refl]. unfold ks. apply in_map_iff.
      exists (Z.to_nat (number h - number v)). split; [lia|]. apply in_seq. lia.
    + replace (number g - number v + 1) with (Z.of_nat (length ks))
        by (unfold ks; rewrite map_length, seq_length; lia).
      apply sumif_const. intros k _. etransitivity; [|apply (seen_size _ _ _ _ _ _ bears k)].
      apply sumif_le; [|exact sizes]. intros h _. rewrite !andb_true_iff, heard_spec. intuition lia.
  - apply heard_spec in Rv, Rg. destruct Rv as [Wv Rv], Rg as [Wg Rg].
    pose proof (seen_at _ _ _ _ _ _ bears g Hg Wg). pose proof (seen_at _ _ _ _ _ _ bears v Hv Wv).
    pose proof (seen_together _ _ _ _ _ _ bears v Hv Wv).
    pose proof (seen_together _ _ _ _ _ _ bears g Hg Wg).
    pose proof (seen_in_time _ _ _ _ _ _ bears v g Hv Hg Wv Wg).
    unfold units in *. destruct (Z.eq_dec (number v) (number g)) as [Eq|]; [rewrite Eq in *|]; lia.
Qed.

Lemma monitor_brings q r x y w : 0 <= q -> 0 <= r -> 0 <= w -> y - x <= w ->
  q * w_message m <= r * w_period m ->
  q * t_unit t * sumif size (heard x y) (t_visits t)
  <= t_unit t * (q * w_message m) + r * (w + units t (w_jitter m + w_spread m + stamp_step)).
Proof.
  intros Hq Hr Hw Hxy Rate. destruct (messages_heard x y w Hxy Hw) as [k [Hk [S N]]].
  set (z := sumif _ _ _) in *. set (W := w + _) in *. unfold units in N.
  assert (q * t_unit t * z <= q * t_unit t * (w_message m * (k + 1))) by (apply Z.mul_le_mono_nonneg_l; nia).
  assert (k * t_unit t * (q * w_message m) <= k * t_unit t * (r * w_period m))
    by (apply Z.mul_le_mono_nonneg_l; nia).
  assert (r * (k * (w_period m * t_unit t)) <= r * W) by (apply Z.mul_le_mono_nonneg_l; lia).
  lia.
Qed.

Lemma heard_size v : In v (t_visits t) -> watched n t i v = true -> size v <= w_message m.
Proof.
  intros Hv W. etransitivity; [|apply (seen_size _ _ _ _ _ _ bears (number v))].
  apply sumif_one; auto. now rewrite W, Z.eqb_refl.
Qed.
End Monitor.
