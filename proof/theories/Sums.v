(** Sums over those elements of a list that a test picks. *)
From Coq Require Import ZArith List Bool Lia.
Import ListNotations.
Open Scope Z_scope.

Section Sums.
Context {A : Type}.

Fixpoint sumif (w : A -> Z) (P : A -> bool) (l : list A) : Z :=
  match l with
  | [] => 0
  | x :: r => (if P x then w x else 0) + sumif w P r
  end.

Definition all (x : A) : bool := true.

Lemma sumif_nonneg w P l : (forall x, In x l -> 0 <= w x) -> 0 <= sumif w P l.
Proof.
  induction l as [|x r IH]; intros H; cbn; [lia|].
  pose proof (H x (or_introl eq_refl)).
  specialize (IH (fun y Hy => H y (or_intror Hy))). destruct (P x); lia.
Qed.

(** A test that picks less from smaller weights gives a smaller sum. *)
Lemma sumif_le w w' P Q l :
  (forall x, In x l -> P x = true -> Q x = true /\ w x <= w' x) ->
  (forall x, In x l -> 0 <= w' x) -> sumif w P l <= sumif w' Q l.
Proof.
  induction l as [|x r IH]; intros H Hn; cbn; [lia|].
  pose proof (Hn x (or_introl eq_refl)).
  specialize (IH (fun y Hy => H y (or_intror Hy)) (fun y Hy => Hn y (or_intror Hy))).
  destruct (P x) eqn:E.
  - destruct (H x (or_introl eq_refl) E) as [-> ?]. lia.
  - destruct (Q x); lia.
Qed.

Lemma sumif_scale w P l c : sumif (fun x => c * w x) P l = c * sumif w P l.
Proof. induction l as [|x r IH]; cbn; [lia|]. rewrite IH. destruct (P x); lia. Qed.

Lemma sumif_plus w w' P l : sumif (fun x => w x + w' x) P l = sumif w P l + sumif w' P l.
Proof. induction l as [|x r IH]; cbn; [lia|]. rewrite IH. destruct (P x); lia. Qed.

Lemma sumif_none w P l : (forall x, In x l -> P x = false) -> sumif w P l = 0.
Proof.
  induction l as [|x r IH]; intros H; cbn; [lia|].
  rewrite (H x (or_introl eq_refl)), IH; [lia|]. intros y Hy. apply H. now right.
Qed.

Lemma sumif_positive w P l : 0 < sumif w P l -> exists x, In x l /\ P x = true.
Proof.
  induction l as [|x r IH]; cbn; intros H; [lia|]. destruct (P x) eqn:E.
  - exists x. auto.
  - destruct IH as [y [Hy ?]]; [lia|]. exists y. auto.
Qed.

Lemma sumif_empty w P l :
  (forall x, In x l -> P x = true -> False) -> sumif w P l = 0.
Proof.
  intros H. apply sumif_none. intros x Hx. destruct (P x) eqn:E; [|reflexivity].
  destruct (H x Hx E).
Qed.

(** What two tests pick together. *)
Lemma sumif_or w P Q R l :
  (forall x, In x l -> 0 <= w x) ->
  (forall x, In x l -> P x = true -> Q x = true \/ R x = true) ->
  sumif w P l <= sumif w Q l + sumif w R l.
Proof.
  induction l as [|x r IH]; intros Hn H; cbn; [lia|].
  pose proof (Hn x (or_introl eq_refl)).
  specialize (IH (fun y Hy => Hn y (or_intror Hy)) (fun y Hy => H y (or_intror Hy))).
  destruct (P x) eqn:E.
  - destruct (H x (or_introl eq_refl) E) as [-> | ->].
    + destruct (R x); lia.
    + destruct (Q x); lia.
  - destruct (Q x), (R x); lia.
Qed.

(** Two tests that no element passes together. *)
Lemma sumif_disjoint w P Q R l :
  (forall x, In x l -> 0 <= w x) ->
  (forall x, In x l -> P x = true -> R x = true /\ Q x = false) ->
  (forall x, In x l -> Q x = true -> R x = true) ->
  sumif w P l + sumif w Q l <= sumif w R l.
Proof.
  induction l as [|x r IH]; intros Hn HP HQ; cbn; [lia|].
  pose proof (Hn x (or_introl eq_refl)).
  specialize (IH (fun y Hy => Hn y (or_intror Hy)) (fun y Hy => HP y (or_intror Hy))
                 (fun y Hy => HQ y (or_intror Hy))).
  destruct (P x) eqn:E.
  - destruct (HP x (or_introl eq_refl) E) as [-> ->]. lia.
  - destruct (Q x) eqn:F; [rewrite (HQ x (or_introl eq_refl) F)|destruct (R x)]; lia.
Qed.

Lemma sumif_split l1 l2 w P : sumif w P (l1 ++ l2) = sumif w P l1 + sumif w P l2.
Proof. induction l1 as [|x r IH]; cbn; [lia|]. rewrite IH. lia. Qed.

Lemma sumif_one w P l x : In x l -> P x = true -> (forall y, In y l -> 0 <= w y) ->
  w x <= sumif w P l.
Proof.
  induction l as [|z r IH]; intros H Px Hn; [destruct H|]. cbn.
  pose proof (Hn z (or_introl eq_refl)).
  pose proof (sumif_nonneg w P r (fun y Hy => Hn y (or_intror Hy))).
  destruct H as [->|H]; [rewrite Px; lia|].
  specialize (IH H Px (fun y Hy => Hn y (or_intror Hy))). destruct (P z); lia.
Qed.

(** A least element by a measure. *)
Lemma least_of (m : A -> Z) (P : A -> bool) l :
  (exists x, In x l /\ P x = true) ->
  exists x, In x l /\ P x = true /\ forall y, In y l -> P y = true -> m x <= m y.
Proof.
  induction l as [|z r IH]; intros [x [Hx Px]]; [destruct Hx|].
  destruct (existsb P r) eqn:E.
  - apply existsb_exists in E. destruct (IH E) as [b [Hb [Pb Mb]]].
    destruct (P z) eqn:Pz; [destruct (Z_le_gt_dec (m z) (m b))|].
    + exists z. repeat split; cbn; auto. intros y [<-|Hy] Py; [lia|]. specialize (Mb y Hy Py). lia.
    + exists b. repeat split; cbn; auto. intros y [<-|Hy] Py; [lia|]. auto.
    + exists b. repeat split; cbn; auto. intros y [<-|Hy] Py; [congruence|]. auto.
  - assert (N : forall y, In y r -> P y = true -> False).
    { intros y Hy Py. assert (existsb P r = true) by (apply existsb_exists; eauto). congruence. }
    destruct Hx as [<-|Hx]; [|destruct (N x Hx Px)].
    exists z. repeat split; cbn; auto. intros y [<-|Hy] Py; [lia|]. destruct (N y Hy Py).
Qed.
End Sums.

(** Every picked element has a key: the sum is at most that of the keys' sums. *)
Lemma sumif_cover {A K} (w : A -> Z) P (f : K -> A -> bool) ks l :
  (forall x, In x l -> 0 <= w x) ->
  (forall x, In x l -> P x = true -> exists k, In k ks /\ f k x = true) ->
  sumif w P l <= sumif (fun k => sumif w (fun x => P x && f k x) l) all ks.
Proof.
  intros Hn. induction l as [|x r IH]; intros H; cbn [sumif].
  - apply sumif_nonneg. intros; lia.
  - rewrite sumif_plus.
    specialize (IH (fun y Hy => Hn y (or_intror Hy)) (fun y Hy => H y (or_intror Hy))).
    pose proof (Hn x (or_introl eq_refl)) as Hx.
    enough ((if P x then w x else 0)
            <= sumif (fun k => if P x && f k x then w x else 0) all ks) by lia.
    destruct (P x) eqn:E; [|apply sumif_nonneg; intros; cbn; lia].
    destruct (H x (or_introl eq_refl) E) as [k [Hk Fk]]. clear - Hk Fk Hx.
    induction ks as [|k' r' IH]; [destruct Hk|]. cbn. destruct Hk as [->|Hk].
    + rewrite Fk.
      assert (0 <= sumif (fun k => if f k x then w x else 0) all r').
      { apply sumif_nonneg. intros y _. destruct (f y x); lia. }
      lia.
    + specialize (IH Hk). cbn in IH. destruct (f k' x); lia.
Qed.

(** Different elements have different images: the sum is at most that of the images. *)
Lemma sumif_inject {A B} (w : A -> Z) P (w' : B -> Z) Q (R : A -> B -> Prop) l m :
  NoDup l -> (forall y, In y m -> 0 <= w' y) ->
  (forall x, In x l -> P x = true -> exists y, In y m /\ R x y /\ Q y = true /\ w x <= w' y) ->
  (forall x x' y, In x l -> In x' l -> P x = true -> P x' = true ->
                  R x y -> R x' y -> x = x') ->
  sumif w P l <= sumif w' Q m.
Proof.
  revert m. induction l as [|x r IH]; intros m Hd Hn H Hi; cbn.
  - apply sumif_nonneg, Hn.
  - inversion Hd as [|? ? Hx Hr]; subst. destruct (P x) eqn:E.
    + destruct (H x (or_introl eq_refl) E) as [y [Hy [Rxy [Qy Le]]]].
      destruct (in_split y m Hy) as [m1 [m2 ->]].
      assert (sumif w P r <= sumif w' Q (m1 ++ m2)) as Hrest.
      { apply IH; auto.
        - intros z Hz. apply Hn. rewrite in_app_iff in *. cbn. tauto.
        - intros z Hz Pz. destruct (H z (or_intror Hz) Pz) as [y' [Hy' [Rz [Qz Lz]]]].
          exists y'. repeat split; auto. rewrite in_app_iff in *. cbn in Hy'.
          destruct Hy' as [?|[<-|?]]; [tauto| |tauto].
          assert (z = x) by (eapply Hi; cbn; eauto). subst. contradiction.
        - intros a b y' Ha Hb. apply Hi; cbn; auto. }
      rewrite sumif_split in *. cbn. rewrite Qy. lia.
    + cbn. apply IH; auto.
      * intros z Hz. apply H. cbn. auto.
      * intros a b y' Ha Hb. apply Hi; cbn; auto.
Qed.
