(** The drain: what [Modes.drained_is_of_the_mode] takes as hypotheses follows from the rows of a raise
    to the next level, if it is triggered when the mode before has drained itself. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Description Model Busy Accepts Ways Arrivals Groups Delay Backlog Short Soundness Modes Raise.
Import ListNotations.
Open Scope Z_scope.

(** ** The same trace, in the description of the mode raised to *)

Lemma raises_span n t r s : raises n t r -> raises n (with_span t s) r.
Proof. intros [A B C]. now constructor. Qed.

Lemma frames_after n t s : frames_are_real n t -> frames_are_real (after n) (with_span t s).
Proof.
  intros [A B C D E]. constructor; auto.
  - intros f Hf. cbn [n_flows after]. rewrite map_length. now apply B.
  - intros f Hf. rewrite flow_after. now apply C.
Qed.

Lemma port_of_after n i x : port_of (after n) i x = port_of n i x.
Proof. unfold port_of. now rewrite flow_after. Qed.

Lemma from_switch_after n t s v w : from_switch n t v w <-> from_switch (after n) (with_span t s) v w.
Proof. unfold from_switch. rewrite parent_after. reflexivity. Qed.

Lemma ways_after n t s : ways n t -> ways (after n) (with_span t s).
Proof.
  intros [A B C D E F G]. constructor; auto.
  - intros v Hv. rewrite flow_after, port_of_after. now apply E.
  - intros v Hv. destruct (F v Hv) as [[P Q]|[w [Hw Fs]]].
    + left. split; [now rewrite parent_after|exact Q].
    + right. exists w. split; [exact Hw|]. now apply (from_switch_after n t s).
  - intros v w Hv Hw Fs. apply (G v w Hv Hw). now apply (from_switch_after n t s).
Qed.

Lemma port_after n t s p : port_works n t p -> port_works (after n) (with_span t s) p.
Proof.
  intros [A B C D E F G H I J]. constructor; auto.
  intros v Hv Pv. destruct (J v Hv Pv) as [Sv Lv]. split; [exact Sv|].
  intros i Hi. rewrite flow_after. cbn [n_flows after] in Hi. rewrite map_length in Hi. now apply Lv.
Qed.

Lemma contract_after n t s i : keeps_contract n t i -> keeps_contract (after n) (with_span t s) i.
Proof. intros [A B C D]. constructor; rewrite ?flow_after; assumption. Qed.

Lemma sumif_same {A} (w : A -> Z) P Q l : (forall x, P x = Q x) -> sumif w P l = sumif w Q l.
Proof. intros H. induction l as [|x l IH]; cbn [sumif]; [reflexivity|]. now rewrite IH, H. Qed.

Lemma stamped_after n i x y v : stamped (after n) i x y v = stamped n i x y v.
Proof. unfold stamped. now rewrite parent_after. Qed.

Lemma meter_after n t s i : meters_police n t i -> meters_police (after n) (with_span t s) i.
Proof.
  intros [A B C]. constructor.
  - intros v Hv Fv Pv. rewrite parent_after in Pv. now apply A.
  - intros m v w Hm Hv Hw Le Sv Sw. rewrite flow_after in Hm. rewrite stamped_after in Sv, Sw.
    replace (sumif _ _ _) with (sumif (fun x => size x - m_uncounted m) (stamped n i (v_stamp v) (v_stamp w)) (t_visits t)).
    + exact (B m v w Hm Hv Hw Le Sv Sw).
    + apply sumif_same. intros z. symmetry. apply stamped_after.
  - intros v x Hv Fv Pv. rewrite parent_after in Pv. now apply (C v x).
Qed.

Lemma monitor_after n t s i m number first : s_until s = s_until (t_span t) ->
  bears_with n t i m number first -> bears_with (after n) (with_span t s) i m number first.
Proof.
  intros Es [A B C D].
  assert (W : forall v, watched (after n) (with_span t s) i v = watched n t i v).
  { intros v. unfold watched, before_end. rewrite parent_after. cbn [t_span with_span]. now rewrite Es. }
  constructor.
  - intros v Hv Wv. rewrite W in Wv. now apply A.
  - intros k. etransitivity; [|apply (B k)]. apply Z.eq_le_incl.
    apply sumif_same. intros z. now rewrite W.
  - intros v Hv Wv. rewrite W in Wv. now apply C.
  - intros v w Hv Hw Wv Ww. rewrite W in Wv, Ww. now apply D.
Qed.

Lemma valid_after n t s : s_until s = s_until (t_span t) -> valid n t -> of_the_mode (after n) (with_span t s) ->
  valid (after n) (with_span t s).
Proof.
  intros Es [[U F C B H P W M Mo _] L] O.
  assert (Len : length (n_flows (after n)) = length (n_flows n)) by (cbn; apply map_length).
  split; [constructor|]; auto; try (intros i; rewrite Len).
  - now apply frames_after.
  - intros Hi Bi. now apply contract_after, C.
  - intros Hi Bi. rewrite flow_after. now apply B.
  - intros j Hi Hj E. rewrite !port_of_after in E. now apply H.
  - intros p Hp. now apply port_after, P.
  - now apply ways_after.
  - intros Hi Mi. rewrite flow_after in Mi. now apply meter_after, M.
  - intros m Hi Mi. rewrite flow_after in Mi. destruct (Mo i m Hi Mi) as [number [first Bw]].
    exists number, first. now apply monitor_after.
  - intros f x Hf Hx Or. rewrite flow_after in Hx, Or. cbn in Hx, Or. apply (L f x Hf Hx).
    rewrite parent_after in Or. destruct Or as [[Ad [_ Pa]]|N]; [left|now right].
    apply andb_true_iff in Ad. destruct Ad as [Ad Le]. apply negb_true_iff in Le. auto.
Qed.

(** ** The drain *)

Section Drain.
Variables (before : network) (cb : claims) (during : network) (cd : claims) (t : trace) (r : raise) (mc : Z).
Variables (since done : nat -> Z) (e : option Z).

Let spoken (e : option Z) := with_span t (Span since done e).
Let tb := spoken (Some (r_trigger r)).
Let td := spoken e.

(** In the start mode [done] is -1. *)
Hypothesis drained_before : forall p, done p <= r_trigger r.

Hypothesis Vb : follows before tb.
Hypothesis Vd : valid during td.
Hypothesis R : raises (after during) t r.
Hypothesis swapped : forall p s, r_switch r p = Some s -> r_swapped r s <= r_trigger r + units t mc.

Variables (ys : list (list stretch)) (zs : list stretch) (from : list Z) (switch_of : list (option nat)) (claim : Z).
Hypothesis switches : forall p, r_switch r p = nth p switch_of None.
Hypothesis accepted : raise_accepts before cb during cd mc ys = true.
Hypothesis accepted_drain : drain_ok before cb during cd mc switch_of ys zs from claim = true.

Let accepted_before : steady before && delays_ok before cb = true.
Proof.
  pose proof accepted as A. unfold raise_accepts, accepts, rows_ok in A. rewrite !andb_true_iff in A.
  apply andb_true_iff. tauto.
Qed.
Let accepted_during : delays_ok during cd = true.
Proof. pose proof accepted as A. unfold raise_accepts, rows_ok in A. rewrite !andb_true_iff in A. tauto. Qed.
Let accepted_windows : windows_ok before cb during cd mc ys = true.
Proof. pose proof accepted as A. unfold raise_accepts in A. rewrite !andb_true_iff in A. tauto. Qed.
Let windows := raise_windows before cb during cd t r mc since done e Vb Vd R swapped ys accepted_before accepted_during accepted_windows.
Let unit_pos : 0 < t_unit t := unit_positive _ _ Vb.
Let good_during := good during cd accepted_during.

Notation longest := (delay cd).
Notation busy := (busy_at zs).

Lemma stretch_at p s : r_switch r p = Some s -> (p < length (n_ports during))%nat ->
  stretch_ok before cb during cd mc p (filter (at_place p) (entries before cb)) (filter (at_place p) (entries during cd))
    (nth p ys []) (nth p zs no_stretch) = true /\ from_at mc from p + busy p <= claim.
Proof.
  intros Es Hp. pose proof accepted_drain as A. unfold drain_ok in A. cbn zeta in A. apply andb_true_iff in A.
  destruct A as [A _]. rewrite forallb_forall in A. specialize (A p ltac:(apply in_seq; lia)).
  rewrite <- switches, Es in A. now rewrite andb_true_iff, Z.leb_le in A.
Qed.

Lemma fresh_before p : (p < length (n_ports during))%nat -> exists lo, fresh td p lo /\ lo <= r_trigger r.
Proof.
  intros Hp. destruct (sent_before _ _ (modes _ _ Vd) p Hp) as [lo [Hlo Fr]]. exists lo.
  specialize (drained_before p). cbn in Hlo. split; [split; [cbn; lia|exact Fr]|lia].
Qed.

(** A frame that has a place in the mode raised to has a row at its port, and that is no less than a tick. *)
Lemma no_less_than_a_tick v : In v (t_visits t) -> f_admitted (flow_at (after during) (flow_of v)) = true ->
  p_tick (port_at during (v_port v)) <= delay cd (v_port v) (class v).
Proof.
  intros Hv Ad. assert (Ie : In (entry_for during cd v) (filter (at_place (v_port v)) (entries during cd))).
  { apply filter_In. split.
    - apply entries_spec. exists (flow_of v), (v_place v). split; [apply (frame_lt during td Vd v Hv)|].
      split; [apply (visit_place _ _ (ways_hold _ _ Vd) v Hv)|]. split; [|reflexivity].
      rewrite flow_after in Ad. cbn in Ad. apply andb_true_iff in Ad. now rewrite (proj1 Ad).
    - unfold at_place. destruct (entry_names during cd (flow_of v) (flow_at during (flow_of v)) (v_place v)) as [_ [_ [P _]]].
      unfold entry_for. rewrite P, <- (port_is during td Vd v Hv). apply Nat.eqb_refl. }
  destruct (row_of_entry during cd td accepted_during Vd v Hv Ie) as [x [_ [_ [-> Ok]]]].
  unfold row_ok in Ok. rewrite !andb_true_iff, Z.leb_le in Ok. lia.
Qed.

Theorem raise_rows_hold en : en = e -> raise_rows (after during) (spoken en) r longest busy.
Proof.
  intros ->. constructor.
  - intros v s Hv Es Ad due Iv. pose proof (port_lt during cd td good_during Vd v Hv) as Hp.
    destruct (stretch_at _ s Es Hp) as [St _]. unfold stretch_ok in St. rewrite !andb_true_iff in St.
    destruct St as [[[Sw _] _] _]. destruct (fresh_before _ Hp) as [lo [Fre Hlo]].
    pose proof (due_after during cd td accepted_during Vd v Hv) as Da.
    change (units (spoken e)) with (units td) in due.
    assert (Dd : due_by cd td v <= due) by (unfold due, due_by in *; lia).
    destruct (Z_lt_ge_dec (v_arrival v) lo) as [Old|New].
    + pose proof (proj2 Fre v Hv eq_refl Old). pose proof (port_order during cd td good_during Vd v Hv).
      pose proof (no_less_than_a_tick v Hv Ad) as Ti. unfold due.
      assert (units td (p_tick (port_at during (v_port v))) <= units td (delay cd (v_port v) (class v)))
        by (unfold units; cbn; nia). lia.
    + assert (Lv : live td v).
      { split; [destruct Fre; lia|]. apply (inside_le td _ due); [lia|exact Iv]. }
      etransitivity; [|exact Dd]. apply (fresh_in_time during cd td accepted_during Vd windows v lo Hv
        (switch_claimed during cd td (v_port v) Vd Sw v Hv eq_refl Lv) Fre ltac:(lia)).
      apply (inside_le td _ due); [exact Dd|exact Iv].
  - intros p x s Es Tx Ix. change (units (spoken e)) with (units td) in *. change (inside (spoken e)) with (inside td) in *.
    assert (Hb : 0 <= units td (busy p)) by (unfold units, busy_at; cbn; nia).
    destruct (Nat.lt_ge_cases p (length (n_ports during))) as [Hp|Hp].
    2: { exists x. split; [lia|]. intros v Hv Pv. pose proof (port_lt during cd td good_during Vd v Hv). lia. }
    destruct (fresh_before p Hp) as [lo [Fre Hlo]].
    destruct (stretch_at p s Es Hp) as [St _]. unfold stretch_ok in St.
    set (z := nth p zs no_stretch) in *. rewrite !andb_true_iff, Z.eqb_eq in St. destruct St as [[[Sw Al] Ok] Bw].
    assert (Ew : y_longest z = busy p).
    { unfold busy_at. fold z. unfold busy_ok in Ok. rewrite !andb_true_iff, !Z.leb_le in Ok. lia. }
    assert (Hs : 0 <= in_the_way during cd p (max_of e_class (filter (at_place p) (entries during cd)))
                        (filter (at_place p) (entries during cd))).
    { unfold in_the_way. apply Z.div_pos; [|apply (scale_pos during cd good_during)]. unfold blocking.
      pose proof (max_of_nonneg e_frame (filter (fun e0 => max_of e_class (filter (at_place p) (entries during cd)) <?
        e_class e0) (filter (at_place p) (entries during cd)))). lia. }
    destruct (empty_soon during cd td p accepted_during Vd windows Hp Sw _ _ _ _ _ lo (x + units td (busy p))
      Ok Hs Al (Z.le_refl _) Fre ltac:(lia) Ix) as [u [_ [Zu Em]]].
    { intros u Hu La v Hv Pv L Av.
      assert (Hpb : (p < length (n_ports before))%nat)
        by (rewrite <- Pv; apply (port_lt before cb tb (good before cb (proj2 (proj1 (andb_true_iff _ _) accepted_before))) Vb v Hv)).
      apply (buffer_windows before cb during cd t r mc since done e Vb Vd R swapped ys accepted_before accepted_during
        accepted_windows p (y_window z) (x + units td (busy p)) Hpb Bw (BacklogOfRaise 0 (y_window z) (y_hint z))
        eq_refl lo u Fre Hu (or_introl (conj Al La)) v Hv Pv L Av). }
    rewrite Ew in Zu. exists u. split; [lia|]. intros v Hv Pv. apply Em. rewrite <- Pv. now apply at_port_in.
Qed.

Let mc_positive : 0 < mc.
Proof.
  pose proof accepted_windows as A. unfold windows_ok in A. cbn zeta in A. rewrite andb_true_iff, Z.ltb_lt in A. tauto.
Qed.

Lemma drains_hold : drains (after during) r mc longest busy (from_at mc from).
Proof.
  constructor.
  - intros p. unfold from_at. lia.
  - intros i x y s Hi Hx Py Es. pose proof accepted_drain as A. unfold drain_ok in A. cbn zeta in A.
    apply andb_true_iff in A. destruct A as [_ A]. rewrite forallb_forall in A.
    cbn [n_flows after] in Hi. rewrite map_length in Hi. specialize (A (flow_at during i) (nth_In _ _ Hi)).
    rewrite flow_after in Hx. cbn [settled f_places] in Hx. rewrite forallb_forall in A.
    specialize (A x ltac:(apply in_seq; cbn in *; lia)). unfold feeding_ok in A.
    rewrite parent_after in Py. unfold parent_of in Py. rewrite Py in A. rewrite !port_of_after in *.
    unfold port_of in Es. rewrite switches in Es. rewrite Es in A. apply Z.leb_le in A. cbn zeta. rewrite flow_after. exact A.
  - intros p. pose proof mc_positive. unfold from_at, busy_at. lia.
  - intros p. pose proof (port_good during cd good_during p). change (port_at (after during) p) with (port_at during p). lia.
Qed.

(** From the drain on all is of the mode raised to, if the drain is over in the span. *)
Theorem raise_drained : let t' := with_span t (drained_span t r busy (from_at mc from) e) in
  inside t' (r_trigger r + units t claim) -> valid (after during) t'.
Proof.
  intros t' End. apply (valid_after during td (drained_span t r busy (from_at mc from) e) eq_refl Vd).
  apply (drained_is_of_the_mode (after during) t' r mc longest busy (from_at mc from) e).
  - now apply raises_span.
  - exact unit_pos.
  - exact swapped.
  - destruct (raise_rows_hold e eq_refl) as [A B]. constructor; [exact A|exact B].
  - exact drains_hold.
  - reflexivity.
  - intros p s Hp Es. destruct (stretch_at p s Es Hp) as [_ Le].
    apply (inside_le t' _ (r_trigger r + units t claim)); [|exact End].
    change (units t' (from_at mc from p + busy p)) with (units t (from_at mc from p + busy p)). unfold units. nia.
  - apply (frames_after during td). apply (frames_real _ _ Vd).
  - apply (ways_after during td). apply (ways_hold _ _ Vd).
  - intros p Hp. apply (port_after during td). now apply (ports _ _ Vd).
  - intros v Hv. apply (port_lt during cd td good_during Vd v Hv).
Qed.
End Drain.
