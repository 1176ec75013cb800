(** What one line can bring within a window. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Intervals Description Model.
Import ListNotations.
Open Scope Z_scope.

Section Line.
Variables (n : network) (t : trace) (p : nat).
Hypothesis works : port_works n t p.
Hypothesis once : NoDup (visits_at t p).
Hypothesis real : forall v, In v (visits_at t p) -> 0 < size v.
Hypothesis unit_pos : 0 < t_unit t.
Hypothesis rate_pos : 0 < p_rate_max (port_at n p).

Notation P := (visits_at t p).

Lemma ports_apart v w : In v P -> In w P -> apart v_start v_end v w.
Proof. intros Hv Hw Sv Sw. apply (one_by_one _ _ _ works); auto; now apply Z.ltb_lt. Qed.

(** Frames of at most [l] bits that are sent, and end from a to b: one that began before, and what the line
    sends in between. *)
Lemma line_brings (l a b : Z) : 0 <= l -> a <= b ->
  full t * sumif size (fun v => negb (t_dropped t v) && (size v <=? l) && (a <=? v_end v) && (v_end v <=? b)) P
  <= full t * l + p_rate_max (port_at n p) * (b - a).
Proof.
  intros Hl Hab. assert (F : 0 < full t) by (unfold full, ps_per_s; lia).
  set (Q := fun v => negb (t_dropped t v) && (size v <=? l) && (a <=? v_end v) && (v_end v <=? b)).
  set (c := p_rate_max (port_at n p)) in *.
  set (w1 := fun v => c * overlap (v_start v) (v_end v) a b).
  set (w2 := fun _ : visit => full t * l * 1).
  set (Q2 := fun v => Q v && at_instant v_start v_end (a - 1) v).
  assert (A : sumif (fun v => full t * size v) Q P <= sumif w1 Q P + sumif w2 Q2 P).
  { clear once. revert works real. fold c. intros.
    assert (forall v, In v P -> Q v = true ->
              full t * size v <= w1 v + (if at_instant v_start v_end (a - 1) v then w2 v else 0)).
    { intros v Hv Qv. unfold Q in Qv. rewrite !andb_true_iff, negb_true_iff, !Z.leb_le in Qv.
      pose proof (rate_most _ _ _ works v Hv ltac:(tauto)) as R. pose proof (in_order _ _ _ works v Hv) as O.
      fold c in R. unfold w1, w2. destruct (at_instant v_start v_end (a - 1) v) eqn:E.
      - assert (0 <= overlap (v_start v) (v_end v) a b) by (unfold overlap; lia). nia.
      - assert (~ (v_start v <= a - 1 < v_end v)).
        { rewrite <- within_spec. unfold at_instant in E. congruence. }
        assert (v_start v < v_end v).
        { pose proof (real v Hv). destruct (Z.eq_dec (v_start v) (v_end v)) as [E1|]; [|lia].
          rewrite E1, Z.sub_diag, Z.mul_0_r in R. nia. }
        replace (overlap (v_start v) (v_end v) a b) with (v_end v - v_start v)
          by (unfold overlap; lia). lia. }
    assert (E : forall v, Q2 v = (Q v && at_instant v_start v_end (a - 1) v)) by reflexivity.
    clearbody Q2 w1 w2 Q.
    clear - H E. induction P as [|v r IH]; cbn [sumif]; [lia|]. rewrite E.
    specialize (IH (fun x Hx => H x (or_intror Hx))).
    specialize (H v (or_introl eq_refl)). destruct (Q v); cbn [andb]; [specialize (H eq_refl)|lia].
    destruct (at_instant v_start v_end (a - 1) v); lia. }
  unfold w1, w2 in A. rewrite !sumif_scale in A.
  assert (Ap : forall v w, In v P -> In w P -> apart v_start v_end v w) by (intros v w Hv Hw; now apply (ports_apart v w)).
  pose proof (packed v_start v_end Q a b P Hab once Ap).
  pose proof (at_most_one v_start v_end Q (a - 1) P once Ap).
  fold Q2 in H0. nia.
Qed.
End Line.
