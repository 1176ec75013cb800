(** Intervals of instants: what covers a window is no shorter than it; what lies apart in it is no
    longer. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums.
Import ListNotations.
Open Scope Z_scope.

(** How much of [s, e) lies in [lo, hi). *)
Definition overlap (s e lo hi : Z) : Z := Z.max 0 (Z.min e hi - Z.max s lo).

(** Whether the instant x is in [s, e). *)
Definition within (s e x : Z) : bool := (s <=? x) && (x <? e).

Lemma within_spec s e x : within s e x = true <-> s <= x < e.
Proof. unfold within. rewrite andb_true_iff, Z.leb_le, Z.ltb_lt. lia. Qed.

Lemma overlap_step s e lo hi : lo <= hi ->
  overlap s e lo (hi + 1) = overlap s e lo hi + (if within s e hi then 1 else 0).
Proof.
  intros. unfold overlap. destruct (within s e hi) eqn:E.
  - apply within_spec in E. lia.
  - assert (~ (s <= hi < e)) by (rewrite <- within_spec; congruence). lia.
Qed.

Section Of.
Context {A : Type} (s e : A -> Z).

Definition at_instant (x : Z) (v : A) : bool := within (s v) (e v) x.

Lemma overlap_grows P lo hi l : lo <= hi ->
  sumif (fun v => overlap (s v) (e v) lo (hi + 1)) P l =
  sumif (fun v => overlap (s v) (e v) lo hi) P l +
  sumif (fun _ => 1) (fun v => P v && at_instant hi v) l.
Proof.
  intros H. induction l as [|v r IH]; cbn; [lia|]. rewrite IH, overlap_step by lia.
  unfold at_instant. destruct (P v); cbn; lia.
Qed.

Lemma overlap_start P lo l : sumif (fun v => overlap (s v) (e v) lo lo) P l = 0.
Proof.
  induction l as [|v r IH]; cbn; [lia|]. rewrite IH.
  unfold overlap. destruct (P v); lia.
Qed.

Lemma covered P lo hi l : lo <= hi ->
  (forall x, lo <= x < hi -> exists v, In v l /\ P v = true /\ s v <= x < e v) ->
  hi - lo <= sumif (fun v => overlap (s v) (e v) lo hi) P l.
Proof.
  intros Hlh. revert hi Hlh. refine (Zlt_lower_bound_ind _ lo _). intros hi IH Hlh H.
  destruct (Z.eq_dec lo hi) as [->|]; [rewrite overlap_start; lia|].
  assert (G := overlap_grows P lo (hi - 1) l). replace (hi - 1 + 1) with hi in G by lia. rewrite G by lia.
  assert (hi - 1 - lo <= sumif (fun v => overlap (s v) (e v) lo (hi - 1)) P l).
  { apply IH; [lia|]. intros x Hx. apply H. lia. }
  destruct (H (hi - 1)) as [v [Hv [Pv In1]]]; [lia|].
  enough (1 <= sumif (fun _ => 1) (fun v => P v && at_instant (hi - 1) v) l) by lia.
  clear - Hv Pv In1. induction l as [|z r IH]; [destruct Hv|]. cbn [sumif].
  destruct Hv as [->|Hv].
  - replace (at_instant (hi - 1) v) with true by (symmetry; apply within_spec; lia).
    rewrite Pv. cbn [andb].
    assert (0 <= sumif (fun _ => 1) (fun v => P v && at_instant (hi - 1) v) r)
      by (apply sumif_nonneg; intros; lia).
    lia.
  - specialize (IH Hv). destruct (P z && at_instant (hi - 1) z); lia.
Qed.

(** Empty ones are apart of all. *)
Definition apart (v w : A) : Prop := s v < e v -> s w < e w -> v = w \/ e v <= s w \/ e w <= s v.

Lemma at_most_one P x l : NoDup l -> (forall v w, In v l -> In w l -> apart v w) ->
  sumif (fun _ => 1) (fun v => P v && at_instant x v) l <= 1.
Proof.
  induction l as [|v r IH]; intros Hd H; cbn [sumif]; [lia|].
  inversion Hd as [|? ? Hv Hr]; subst.
  assert (IH' := IH Hr (fun a b Ha Hb => H a b (or_intror Ha) (or_intror Hb))).
  destruct (P v && at_instant x v) eqn:E; [|lia].
  rewrite sumif_empty; [lia|]. intros w Hw Ew.
  apply andb_true_iff in E, Ew. destruct E as [_ E], Ew as [_ Ew].
  apply within_spec in E, Ew.
  assert (Ap : apart v w) by (apply H; cbn; auto). destruct Ap as [->|Ap]; [lia|lia|contradiction|lia].
Qed.

Lemma packed P lo hi l : lo <= hi -> NoDup l ->
  (forall v w, In v l -> In w l -> apart v w) ->
  sumif (fun v => overlap (s v) (e v) lo hi) P l <= hi - lo.
Proof.
  intros Hlh Hd H. revert hi Hlh. apply Zlt_lower_bound_ind. intros hi IH Hlh.
  destruct (Z.eq_dec lo hi) as [->|]; [rewrite overlap_start; lia|].
  assert (G := overlap_grows P lo (hi - 1) l). replace (hi - 1 + 1) with hi in G by lia. rewrite G by lia.
  assert (sumif (fun v => overlap (s v) (e v) lo (hi - 1)) P l <= hi - 1 - lo)
    by (apply IH; lia).
  pose proof (at_most_one P (hi - 1) l Hd H). lia.
Qed.
End Of.

(** The last instant up to [hi] at which something holds. *)
Lemma last_instant (Q : Z -> bool) lo hi : lo <= hi -> Q lo = true ->
  exists u, lo <= u <= hi /\ Q u = true /\ forall x, u < x <= hi -> Q x = false.
Proof.
  intros Hlh HQ. revert hi Hlh. apply Zlt_lower_bound_ind. intros hi IH Hlh.
  destruct (Q hi) eqn:E.
  - exists hi. repeat split; auto; intros; lia.
  - destruct (Z.eq_dec lo hi) as [->|]; [congruence|].
    destruct (IH (hi - 1)) as [u [Hu [Qu Nu]]]; [lia|].
    exists u. repeat split; auto; try lia. intros x Hx.
    destruct (Z.eq_dec x hi) as [->|]; auto. apply Nu. lia.
Qed.
