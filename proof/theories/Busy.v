(** One egress: what it has sent since a busy period began. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Intervals Description Model.
Import ListNotations.
Open Scope Z_scope.

Section Port.
Variables (n : network) (t : trace) (p : nat).
Hypothesis works : port_works n t p.
Hypothesis real : forall v, In v (visits_at t p) -> 0 < size v.
Hypothesis unit_pos : 0 < t_unit t.
Hypothesis rate_pos : 0 < p_rate_min (port_at n p).

Notation P := (visits_at t p).

(** The class k waits at u since before. *)
Definition waits (k u : Z) (v : visit) : bool :=
  (class v <=? k) && (v_arrival v <? u) && (u <? v_choice v).

(** Chosen by u, unfinished, and not of what comes from u on for class k. *)
Definition in_front (k u : Z) (v : visit) : bool :=
  (v_choice v <=? u) && (u <? v_end v) && ((v_arrival v <? u) || (k <? class v)).

(** A busy period of the classes up to k may begin at u. *)
Definition begins (s k u : Z) : bool :=
  negb (existsb (waits k u) P) && (sumif size (in_front k u) P <=? s).

(** What blocks from lo to hi: bits below the scheduler, or a frame of a lower class. *)
Definition blocks (s k lo hi : Z) : Prop :=
  p_below (port_at n p) <= s /\
  forall v, In v P -> k < class v -> lo < v_end v -> v_choice v <= hi -> size v <= s.

Lemma begins_spec s k u : begins s k u = true <->
  (forall v, In v P -> class v <= k -> v_arrival v < u -> v_choice v <= u) /\
  sumif size (in_front k u) P <= s.
Proof.
  unfold begins. rewrite andb_true_iff, negb_true_iff, Z.leb_le.
  split; intros [H1 H2]; split; auto.
  - intros v Hv Hk Ha. destruct (Z_le_gt_dec (v_choice v) u) as [|G]; auto. exfalso.
    assert (existsb (waits k u) P = true); [|congruence].
    apply existsb_exists. exists v. split; auto. unfold waits.
    rewrite !andb_true_iff, Z.leb_le, !Z.ltb_lt. lia.
  - apply not_true_iff_false. intros E. apply existsb_exists in E. destruct E as [v [Hv E]].
    unfold waits in E. rewrite !andb_true_iff, Z.leb_le, !Z.ltb_lt in E.
    specialize (H1 v Hv). lia.
Qed.

Lemma size_nonneg v : In v P -> 0 <= size v.
Proof. intros H. specialize (real v H). lia. Qed.

Lemma sent_takes_time v : In v P -> t_dropped t v = false -> v_start v < v_end v.
Proof.
  intros H D. pose proof (rate_most _ _ _ works v H D) as R. pose proof (real v H).
  destruct (in_order _ _ _ works v H) as [_ [O _]].
  assert (0 < full t) by (unfold full, ps_per_s; lia).
  destruct (Z.eq_dec (v_start v) (v_end v)) as [E|]; [|lia].
  rewrite E, Z.sub_diag, Z.mul_0_r in R. nia.
Qed.

(** Of what takes no time nothing is ever in front. *)
Lemma chosen_takes_time v : In v P -> v_choice v < v_end v -> v_start v < v_end v.
Proof.
  intros H C. destruct (t_dropped t v) eqn:D; [|now apply sent_takes_time].
  destruct (takes_time v) eqn:T; [now apply Z.ltb_lt|].
  pose proof (proj2 (gone_at_once _ _ _ works v H D) T). lia.
Qed.

Lemma comes_before_end v : In v P -> v_arrival v < v_end v.
Proof.
  intros H. destruct (t_dropped t v) eqn:D; [apply (gone_at_once _ _ _ works v H D)|].
  pose proof (sent_takes_time v H D). pose proof (in_order _ _ _ works v H). lia.
Qed.

(** What takes no time is chosen when it is gone. *)
Lemma free_at_once v : In v P -> takes_time v = false -> v_choice v = v_end v.
Proof.
  intros H T. pose proof (chosen_takes_time v H) as C. apply Z.ltb_ge in T. pose proof (in_order _ _ _ works v H).
  destruct (Z_lt_ge_dec (v_choice v) (v_end v)); lia.
Qed.

(** When the last of those in front was chosen, all of them had to find room. *)
Lemma room_at s k lo hi u : blocks s k lo hi -> lo <= u <= hi -> 0 <= s ->
  (forall g, In g P -> in_front k u g = true -> class g <= k ->
    (forall w, In w P -> in_front k u w = true -> v_start w <= v_start g) -> False) ->
  sumif size (in_front k u) P <= s.
Proof.
  intros [B L] Hlh Hs H. destruct (existsb (in_front k u) P) eqn:E.
  - apply existsb_exists in E.
    destruct (least_of (fun v => - v_start v) _ _ E) as [g [Hg [Fg Last]]].
    assert (T : forall w, In w P -> in_front k u w = true -> v_start w <= v_start g).
    { intros w Hw Fw. specialize (Last w Hw Fw). lia. }
    assert (Tg : forall w, In w P -> in_front k u w = true -> takes_time w = true).
    { intros w Hw Fw. unfold in_front in Fw. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt in Fw.
      apply Z.ltb_lt. apply chosen_takes_time; [exact Hw|lia]. }
    pose proof (room_below _ _ _ works g Hg (Tg g Hg Fg)) as R.
    assert (size g <= s).
    { pose proof Fg as Fg'. unfold in_front in Fg'. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt in Fg'.
      apply L; auto; [|lia|lia]. destruct (Z_le_gt_dec (class g) k); [destruct (H g)|]; auto; lia. }
    assert (sumif size (in_front k u) P <=
            sumif size (fun w => takes_time w && (v_start w <=? v_start g) && (v_choice g <? v_end w)) P); [|lia].
    apply sumif_le; [|apply size_nonneg]. intros w Hw Fw. specialize (T w Hw Fw). specialize (Tg w Hw Fw).
    unfold in_front in Fw, Fg. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt in Fw, Fg.
    split; [rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt|]; repeat split; auto; lia.
  - rewrite sumif_none; [lia|]. intros v Hv. apply not_true_iff_false. intros Fv.
    assert (existsb (in_front k u) P = true) by (apply existsb_exists; eauto). congruence.
Qed.

(** Where a lower frame is chosen a busy period may begin: nobody waits. *)
Lemma begins_at_choice s k lo hi g : blocks s k lo hi -> 0 <= s -> In g P -> v_start g < v_end g -> k < class g ->
  lo <= v_choice g <= hi -> begins s k (v_choice g) = true.
Proof.
  intros Bl Hs Hg Sg Kg Hc. assert (Tg : takes_time g = true) by now apply Z.ltb_lt.
  pose proof (in_order _ _ _ works g Hg) as Og. apply begins_spec. split.
  - intros h Hh Kh Ah. destruct (Z_le_gt_dec (v_choice h) (v_choice g)) as [|G]; auto.
    enough (v_start g < v_start h \/ takes_time h = false /\ v_choice g < v_choice h).
    { destruct (strict_priority _ _ _ works h g Hh Hg Tg); auto; lia. }
    destruct (takes_time h) eqn:Th; [left|right; split; [reflexivity|lia]].
    apply (sent_as_chosen _ _ _ works); auto; lia.
  - apply (room_at s k lo hi); auto. intros h Hh Fh Kh Last.
    assert (v_start g <= v_start h).
    { apply Last; auto. unfold in_front. rewrite !andb_true_iff, orb_true_iff, Z.leb_le, !Z.ltb_lt. lia. }
    unfold in_front in Fh. rewrite !andb_true_iff, orb_true_iff, Z.leb_le, !Z.ltb_lt in Fh.
    pose proof (chosen_takes_time h Hh ltac:(lia)) as Sh. assert (Th : takes_time h = true) by now apply Z.ltb_lt.
    destruct (one_by_one _ _ _ works g h Hg Hh Tg Th) as [->|O]; [lia|].
    destruct (strict_priority _ _ _ works h g Hh Hg Tg); lia.
Qed.

(** Where the line is idle a busy period may begin, then and an instant later. *)
Lemma begins_where_idle s k lo hi x u : blocks s k lo hi -> 0 <= s -> lo <= u <= hi -> x <= u <= x + 1 ->
  (forall v, In v P -> v_start v <= x < v_end v -> False) -> begins s k u = true.
Proof.
  intros Bl Hs Hlh Hu Idle.
  assert (W : forall v, In v P -> v_arrival v <= x -> v_end v <= x).
  { intros v Hv Ha. destruct (Z_le_gt_dec (v_end v) x) as [|G]; auto. exfalso.
    destruct (Z_le_gt_dec (v_start v) x); [apply (Idle v); auto; lia|].
    destruct (never_idle _ _ _ works v x Hv) as [w [Hw Iw]]; [lia|]. exact (Idle w Hw Iw). }
  apply begins_spec. split.
  - intros v Hv _ Ha. specialize (W v Hv). pose proof (in_order _ _ _ works v Hv). lia.
  - apply (room_at s k lo hi); auto. intros h Hh Fh Kh _.
    unfold in_front in Fh. rewrite !andb_true_iff, orb_true_iff, Z.leb_le, !Z.ltb_lt in Fh.
    specialize (W h Hh). lia.
Qed.

(** Of the classes up to k, all that came before u has been sent. *)
Definition cleared (k u : Z) : Prop :=
  forall v, In v P -> class v <= k -> v_arrival v < u -> v_end v <= u.

Lemma begins_cleared s k lo hi : blocks s k lo hi -> lo <= hi -> 0 <= s -> cleared k lo ->
  begins s k lo = true.
Proof.
  intros Bl Hlh Hs C. apply begins_spec. split.
  - intros v Hv Kv Ha. specialize (C v Hv Kv Ha). pose proof (in_order _ _ _ works v Hv). lia.
  - apply (room_at s k lo hi); auto; [lia|]. intros h Hh Fh Kh _.
    unfold in_front in Fh. rewrite !andb_true_iff, orb_true_iff, Z.leb_le, !Z.ltb_lt in Fh.
    specialize (C h Hh Kh). lia.
Qed.

(** The last instant up to y at which a busy period may begin. *)
Definition last_begin (s k y u : Z) : Prop :=
  u <= y /\ begins s k u = true /\ forall x, u < x <= y -> begins s k x = false.

Lemma begins_more s s' k u : s <= s' -> begins s k u = true -> begins s' k u = true.
Proof. intros Hs. rewrite !begins_spec. intros [H1 H2]. split; [exact H1|lia]. Qed.

(** Before every instant y there is one from which on the line was busy, with what was in front
    then and with what came since of the classes up to k. *)
Lemma busy_since s k lo y : blocks s k lo y -> 0 <= s -> lo <= y -> cleared k lo ->
  exists u, lo <= u <= y /\ last_begin s k y u /\
    (forall x, u <= x < y -> exists v, In v P /\ v_start v <= x < v_end v) /\
    (forall g, In g P -> v_start g < v_end g -> k < class g -> v_choice g <= y -> v_choice g <= u).
Proof.
  intros Bl Hs Hy C.
  destruct (last_instant (begins s k) lo y) as [u [Hu [Bu Nu]]]; [lia|now apply (begins_cleared s k lo y)|].
  exists u. split; [lia|]. split; [split; [lia|auto]|]. split.
  - intros x Hx. destruct (existsb (at_instant v_start v_end x) P) eqn:E.
    + apply existsb_exists in E. destruct E as [v [Hv E]]. apply within_spec in E. eauto.
    + exfalso. assert (begins s k (x + 1) = true).
      { apply (begins_where_idle s k lo y) with (x := x); auto; [lia|lia|]. intros v Hv Iv.
        assert (existsb (at_instant v_start v_end x) P = true); [|congruence].
        apply existsb_exists. exists v. split; auto. now apply within_spec. }
      rewrite Nu in H; [discriminate|lia].
  - intros g Hg Sg Kg Cg. destruct (Z_le_gt_dec (v_choice g) u) as [|G]; auto. exfalso.
    pose proof (begins_at_choice s k lo y g Bl Hs Hg Sg Kg) as B1. rewrite Nu in B1; [|lia].
    discriminate B1. lia.
Qed.

(** What is of class k, and of classes above, and came in between. *)
Definition came (k u y : Z) (v : visit) : bool :=
  (class v =? k) && (u <=? v_arrival v) && (v_arrival v <=? y).
Definition came_above (k u y : Z) (v : visit) : bool :=
  (class v <? k) && (u <=? v_arrival v) && (v_arrival v <=? y).

(** What the line sent in [u, y]. *)
Lemma line_sent u y X : u <= y ->
  (forall x, u <= x <= y -> exists v, In v P /\ v_start v <= x < v_end v /\ X v = true) ->
  p_rate_min (port_at n p) * (y + 1 - u) <= full t * sumif size X P.
Proof.
  intros Huy H.
  assert (C : y + 1 - u <= sumif (fun v => overlap (v_start v) (v_end v) u (y + 1)) X P).
  { apply covered; [lia|]. intros x Hx. destruct (H x) as [v [? [? ?]]]; [lia|]. eauto. }
  assert (D : sumif (fun v => p_rate_min (port_at n p) * overlap (v_start v) (v_end v) u (y + 1)) X P
              <= sumif (fun v => full t * size v) X P).
  { apply sumif_le.
    - intros v Hv Xv. split; auto. pose proof (rate_least _ _ _ works v Hv).
      pose proof (in_order _ _ _ works v Hv).
      assert (overlap (v_start v) (v_end v) u (y + 1) <= v_end v - v_start v)
        by (unfold overlap; lia). nia.
    - intros v Hv. pose proof (real v Hv). unfold full, ps_per_s. nia. }
  rewrite !sumif_scale in D. nia.
Qed.

(** A frame of class k that is late has been kept by what came in its busy period, and before it was
    chosen itself. *)
Lemma late_frame s k lo f d : blocks s k lo (v_arrival f) -> cleared k lo -> lo <= v_arrival f ->
  0 <= s -> 0 <= d -> In f P -> class f = k -> v_arrival f + d < v_end f ->
  exists u, lo <= u <= v_arrival f /\ last_begin s k (v_arrival f) u /\
    p_rate_min (port_at n p) * (v_arrival f + d + 1 - u) <=
    full t * (s + sumif size (came k u (v_arrival f)) P
                + sumif size (came_above k u (Z.min (v_arrival f + d) (v_choice f))) P).
Proof.
  intros Bl Cl Hlo Hs Hd Hf Kf Late. pose proof (in_order _ _ _ works f Hf) as Of.
  destruct (busy_since s k lo (v_arrival f) Bl Hs Hlo Cl) as [u [Hu [La [Cov Low]]]].
  exists u. split; [lia|]. split; [exact La|]. set (y := v_arrival f + d) in *.
  destruct La as [_ [Bu _]]. apply begins_spec in Bu as [Nw Fr]. set (X := fun v => takes_time v && (v_start v <=? y) && (u <? v_end v)).
  assert (L : p_rate_min (port_at n p) * (y + 1 - u) <= full t * sumif size X P).
  { apply line_sent; [lia|]. intros x Hx.
    assert (exists v, In v P /\ v_start v <= x < v_end v) as [v [Hv Iv]].
    { destruct (Z_lt_ge_dec x (v_arrival f)); [apply Cov; lia|].
      destruct (Z_lt_ge_dec x (v_start f)); [apply (never_idle _ _ _ works f); auto; lia|].
      exists f. split; auto. lia. }
    exists v. repeat split; auto; try lia. unfold X, takes_time.
    rewrite !andb_true_iff, Z.leb_le, !Z.ltb_lt. lia. }
  enough (sumif size X P <= sumif size (in_front k u) P + sumif size (came k u (v_arrival f)) P
                            + sumif size (came_above k u (Z.min y (v_choice f))) P) by (unfold full, ps_per_s in *; nia).
  etransitivity; [apply sumif_or with (Q := in_front k u)
    (R := fun v => came k u (v_arrival f) v || came_above k u (Z.min y (v_choice f)) v); [apply size_nonneg|]|].
  2: { pose proof (sumif_or size (fun v => came k u (v_arrival f) v || came_above k u (Z.min y (v_choice f)) v)
         (came k u (v_arrival f)) (came_above k u (Z.min y (v_choice f))) P size_nonneg
         (fun v _ E => proj1 (orb_true_iff _ _) E)). lia. }
  intros v Hv Xv. unfold X in Xv. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt in Xv. destruct Xv as [[Tv Xv] Yv].
  pose proof (in_order _ _ _ works v Hv) as Ov. pose proof Tv as Sv. apply Z.ltb_lt in Sv.
  assert (Before : v = f \/ v_start v < v_start f).
  { destruct (takes_time f) eqn:Tf; [|apply Z.ltb_ge in Tf; right; lia].
    destruct (one_by_one _ _ _ works v f Hv Hf Tv Tf) as [?|?]; auto. right. lia. }
  assert (Chosen : v_choice v <= v_choice f).
  { destruct Before as [->|Bf]; [lia|]. destruct (takes_time f) eqn:Tf.
    - pose proof (sent_as_chosen _ _ _ works f v Hf Hv Tf Tv). lia.
    - pose proof (free_at_once f Hf Tf). lia. }
  unfold in_front, came, came_above.
  rewrite !orb_true_iff, !andb_true_iff, !orb_true_iff, !Z.leb_le, !Z.ltb_lt, Z.eqb_eq.
  destruct (Z_lt_ge_dec k (class v)) as [Lo|Hi].
  - left. assert (v_choice v <= v_arrival f).
    { destruct Before as [->|Bf]; [lia|].
      destruct (Z_le_gt_dec (v_choice v) (v_arrival f)); auto.
      destruct (strict_priority _ _ _ works f v Hf Hv Tv); lia. }
    specialize (Low v Hv Sv). lia.
  - destruct (Z_lt_ge_dec (v_arrival v) u) as [E|Ge].
    + left. specialize (Nw v Hv). lia.
    + right. destruct (Z.eq_dec (class v) k) as [Ek|]; [left|right; lia].
      destruct Before as [->|Bf]; [lia|].
      destruct (Z_le_gt_dec (v_choice v) (v_arrival f)); [lia|].
      destruct (strict_priority _ _ _ works f v Hf Hv Tv); lia.
Qed.
(** What a line has sent for all of a busy period so far. *)
Lemma sent_since s k u y : u <= y -> begins s k u = true ->
  (forall x, u <= x <= y -> exists v, In v P /\ v_start v <= x < v_end v) ->
  (forall g, In g P -> v_start g < v_end g -> k < class g -> v_choice g <= y -> v_choice g <= u) ->
  p_rate_min (port_at n p) * (y + 1 - u) <=
  full t * (s + sumif size (came k u y) P + sumif size (came_above k u y) P).
Proof.
  intros Huy Bu Cov Low. apply begins_spec in Bu. destruct Bu as [Nw Fr].
  set (X := fun v => takes_time v && (v_start v <=? y) && (u <? v_end v)).
  assert (L : p_rate_min (port_at n p) * (y + 1 - u) <= full t * sumif size X P).
  { apply line_sent; [lia|]. intros x Hx. destruct (Cov x Hx) as [v [Hv Iv]].
    exists v. repeat split; auto; try lia. unfold X, takes_time. rewrite !andb_true_iff, Z.leb_le, !Z.ltb_lt. lia. }
  enough (sumif size X P <= sumif size (in_front k u) P + sumif size (came k u y) P
                            + sumif size (came_above k u y) P) by (unfold full, ps_per_s in *; nia).
  etransitivity; [apply sumif_or with (Q := in_front k u)
    (R := fun v => came k u y v || came_above k u y v); [apply size_nonneg|]|].
  2: { pose proof (sumif_or size (fun v => came k u y v || came_above k u y v)
         (came k u y) (came_above k u y) P size_nonneg (fun v _ E => proj1 (orb_true_iff _ _) E)). lia. }
  intros v Hv Xv. unfold X, takes_time in Xv. rewrite !andb_true_iff, Z.leb_le, !Z.ltb_lt in Xv.
  pose proof (in_order _ _ _ works v Hv) as Ov. specialize (Low v Hv). specialize (Nw v Hv).
  unfold in_front, came, came_above.
  rewrite !orb_true_iff, !andb_true_iff, !orb_true_iff, !Z.leb_le, !Z.ltb_lt, Z.eqb_eq. lia.
Qed.
End Port.
