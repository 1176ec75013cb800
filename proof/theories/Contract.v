(** What a host that keeps a contract releases in a window, and what a meter passes in one. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Description Model.
Import ListNotations.
Open Scope Z_scope.

Lemma sumif_const {K} (w : K -> Z) c (ks : list K) :
  (forall k, In k ks -> w k <= c) -> sumif w all ks <= c * Z.of_nat (length ks).
Proof.
  induction ks as [|k r IH]; intros H; cbn [sumif length all]; [lia|].
  specialize (IH (fun x Hx => H x (or_intror Hx))). specialize (H k (or_introl eq_refl)). lia.
Qed.

Section Contract.
Variables (n : network) (t : trace) (i : nat).
Hypothesis unit_pos : 0 < t_unit t.
Hypothesis sizes : forall f, In f (t_frames t) -> 0 < f_size f.
Hypothesis tolerance : 0 <= n_tolerance n.

Notation c := (f_contract (flow_at n i)).

(** The frames of flow i that are released from x to y. *)
Definition released_in (x y : Z) (f : frame) : bool :=
  Nat.eqb (f_flow f) i && (x <=? f_release f) && (f_release f <=? y).

Lemma released_in_spec x y f :
  released_in x y f = true <-> f_flow f = i /\ x <= f_release f <= y.
Proof.
  unfold released_in. rewrite !andb_true_iff, Nat.eqb_eq, !Z.leb_le. tauto.
Qed.

(** Whole messages: one, and as many more as periods fit into the window and the jitter. *)
Lemma messages_in x y : keeps_contract n t i -> 0 <= c_message c ->
  sumif f_size (released_in x y) (t_frames t) <= 0 \/
  exists m, 0 <= m /\
    sumif f_size (released_in x y) (t_frames t) <= c_message c * (m + 1) /\
    m * units t (c_period c) * 1000000 <= (y - x + units t (c_jitter c)) * (1000000 + n_tolerance n)
    /\ x <= y.
Proof.
  intros K HM.
  destruct (Z_le_gt_dec (sumif f_size (released_in x y) (t_frames t)) 0) as [|G]; [now left|right].
  assert (E := sumif_positive f_size _ _ (Z.gt_lt _ _ G)).
  destruct (least_of f_message _ _ E) as [f [Hf [Rf Least]]].
  destruct (least_of (fun f => - f_message f) _ _ E) as [g [Hg [Rg Most]]].
  clear E. exists (f_message g - f_message f).
  assert (f_message f <= f_message g) by (specialize (Least g Hg Rg); lia).
  split; [lia|]. split.
  - set (ks := map (fun k => f_message f + Z.of_nat k) (seq 0 (Z.to_nat (f_message g - f_message f + 1)))).
    etransitivity; [apply sumif_cover with (ks := ks) (f := fun m h => f_message h =? m)|].
    + intros h Hh. specialize (sizes h Hh). lia.
    + intros h Hh Rh. specialize (Least h Hh Rh). specialize (Most h Hh Rh).
      exists (f_message h). split; [|apply Z.eqb_refl]. unfold ks. apply in_map_iff.
      exists (Z.to_nat (f_message h - f_message f)). split; [lia|]. apply in_seq. lia.
    + replace (f_message g - f_message f + 1) with (Z.of_nat (length ks))
        by (unfold ks; rewrite map_length, seq_length; lia).
      apply sumif_const. intros m _. etransitivity; [|apply (message_size _ _ _ K m)].
      apply sumif_le; [|intros h Hh; specialize (sizes h Hh); lia].
      intros h Hh. rewrite andb_true_iff, released_in_spec, andb_true_iff, Nat.eqb_eq. intuition lia.
  - apply released_in_spec in Rf, Rg. destruct Rf as [Ff Rf], Rg as [Fg Rg].
    pose proof (periods _ _ _ K f g Hf Hg Ff Fg H) as Pe.
    pose proof (released _ _ _ K f Hf Ff). pose proof (released _ _ _ K g Hg Fg).
    split; [nia|lia].
Qed.

(** A token bucket bounds it: [q] scales sizes, so that the rate [r] is a whole number. *)
Lemma contract_brings q r x y w : keeps_contract n t i ->
  0 <= c_message c -> 0 < c_period c -> 0 <= c_jitter c -> 0 <= q -> 0 <= r -> 0 <= w -> y - x <= w ->
  q * c_message c * (1000000 + n_tolerance n) <= r * (c_period c * 1000000) ->
  q * t_unit t * sumif f_size (released_in x y) (t_frames t)
  <= t_unit t * (q * c_message c) + r * (w + units t (c_jitter c)).
Proof.
  intros K HM HT HJ Hq Hr Hw Hxy Rate.
  assert (0 <= units t (c_jitter c)) by (unfold units; nia).
  destruct (messages_in x y K HM) as [Z0|[m [Hm [S [N _]]]]].
  - set (z := sumif _ _ _) in *. assert (0 <= q * t_unit t) by nia.
    assert (0 <= t_unit t * (q * c_message c)) by nia.
    assert (0 <= r * (w + units t (c_jitter c))) by nia. nia.
  - enough (q * t_unit t * (c_message c * m) <= r * (w + units t (c_jitter c))).
    { set (z := sumif _ _ _) in *. assert (0 <= q * t_unit t) by nia.
      assert (q * t_unit t * z <= q * t_unit t * (c_message c * (m + 1))) by nia. lia. }
    set (J := units t (c_jitter c)) in *. unfold units in N.
    assert (q * c_message c * (m * (c_period c * t_unit t) * 1000000)
            <= q * c_message c * ((w + J) * (1000000 + n_tolerance n))).
    { apply Z.mul_le_mono_nonneg_l; nia. }
    assert ((w + J) * (q * c_message c * (1000000 + n_tolerance n))
            <= (w + J) * (r * (c_period c * 1000000))).
    { apply Z.mul_le_mono_nonneg_l; lia. }
    apply Z.mul_le_mono_pos_r with (p := c_period c * 1000000); lia.
Qed.
End Contract.
