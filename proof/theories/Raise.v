(** The rows of a raise: from one mode to another, of one trace with the mode before it.

    [before] describes the mode from which the network is raised, [during] the raise: flows that the
    mode raised to has no place for leave, and are served until the swap. [after during] is the mode
    raised to. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Description Model Busy Accepts Ways Arrivals Groups Delay Backlog Short Soundness Modes.
Import ListNotations.
Open Scope Z_scope.

Lemma flow_after n i : flow_at (after n) i = settled (flow_at n i).
Proof. unfold flow_at, after. cbn [n_flows]. change no_flow with (settled no_flow) at 1. apply map_nth. Qed.

Lemma parent_after n i x : parent_of (after n) i x = parent_of n i x.
Proof. unfold parent_of. now rewrite flow_after. Qed.

Section Raise.
Variables (before : network) (cb : claims) (during : network) (cd : claims) (t : trace) (r : raise) (mc : Z).
Variables (since done : nat -> Z) (e : option Z).

(** The trace up to the trigger, and as far as it is spoken of. *)
Let tb := with_span t (Span since done (Some (r_trigger r))).
Let td := with_span t (Span since done e).

(** In [before] nothing is lost either, but that is not needed here. *)
Hypothesis Vb : follows before tb.
Hypothesis Vd : valid during td.
Hypothesis R : raises (after during) t r.
Hypothesis swapped : forall p s, r_switch r p = Some s -> r_swapped r s <= r_trigger r + units t mc.

Variable (ys : list (list stretch)).
Hypothesis accepted_before : steady before && delays_ok before cb = true.
Hypothesis accepted_during : delays_ok during cd = true.
Hypothesis accepted_windows : windows_ok before cb during cd mc ys = true.

Notation eb p := (filter (at_place p) (entries before cb)).
Notation ed p := (filter (at_place p) (entries during cd)).

Let steady_before : steady before = true.
Proof. apply andb_true_iff in accepted_before. tauto. Qed.
Let delays_before : delays_ok before cb = true.
Proof. apply andb_true_iff in accepted_before. tauto. Qed.
Let windows_before : windows_hold before cb tb := steady_windows before cb tb Vb steady_before.
Let unit_pos : 0 < t_unit t := unit_positive _ _ Vb.
Let mc_pos : 0 < mc.
Proof. unfold windows_ok in accepted_windows. cbn zeta in accepted_windows.
  rewrite andb_true_iff, Z.ltb_lt in accepted_windows. tauto. Qed.

(** Of a flow that leaves no switch sends what comes when all have swapped, nor spends time on it. *)
Lemma gone v : In v (t_visits t) -> leaving during cd v = true -> v_arrival v < r_trigger r + units t mc.
Proof.
  intros Hv L. unfold leaving, leaves, entry_for in L.
  destruct (entry_names during cd (flow_of v) (flow_at during (flow_of v)) (v_place v)) as [Nf [_ [_ [Fr _]]]].
  rewrite Nf, Fr in L. apply andb_true_iff in L. destruct L as [Lf Lp].
  destruct (r_switch r (v_port v)) as [s|] eqn:Es.
  - specialize (swapped _ _ Es). destruct (t_dropped t v) eqn:Dv; [pose proof (drops_what_stood _ _ _ R v s Hv Dv Es); lia|].
    destruct (Z_lt_ge_dec (v_arrival v) (r_swapped r s)) as [|G]; [lia|].
    pose proof (port_order during cd td (good during cd accepted_during) Vd v Hv) as Ov.
    pose proof (in_order _ _ _ (ports _ _ Vd _ (port_lt during cd td (good during cd accepted_during) Vd v Hv)) v (at_port_in t v Hv)).
    pose proof (no_late_commit _ _ _ R v s Hv Dv Es ltac:(lia)) as A. rewrite flow_after in A. cbn in A.
    rewrite Lf in A. now rewrite andb_false_r in A.
  - pose proof (hosts_send _ _ _ R v Hv Es) as N. rewrite parent_after in N. unfold parent_of in N.
    unfold from_port in Lp. rewrite N in Lp. discriminate.
Qed.

Lemma others_above p f : In f (t_visits t) -> forall v, In v (t_others t) -> v_port v = p ->
  (p < length (n_ports before))%nat -> class f < class v.
Proof.
  intros Hf v Hv Pv Hp. rewrite (class_of before tb Vb f Hf).
  apply (others_below _ _ _ (ports _ _ Vb p Hp) v Hv Pv). apply (frame_lt before tb Vb f Hf).
Qed.

Lemma none_before u window v : In v (t_visits t) -> leaving before cb v = true -> early tb u window v.
Proof. intros Hv L. pose proof (none_leaves before cb tb Vb steady_before v Hv). congruence. Qed.

(** Before the trigger busy periods are short, as the check of a window has it. *)
Lemma short_before p k th lo z : window_holds before cb during cd mc p (eb p) (ed p) k (nth p ys []) (Some th) = true ->
  (p < length (n_ports before))%nat -> fresh tb p lo -> lo <= z -> z < r_trigger r ->
  exists w, 0 <= w /\ w + mc <= th /\
  ((forall v, In v (t_others t) -> v_port v = p -> k < class v) ->
   exists u, lo <= u /\ z - units t w <= u <= z /\ begins t p (in_the_way during cd p k (ed p)) k u = true) /\
  (p_other (port_at before p) = 0 -> max_of e_class (eb p) <= k ->
   exists u, lo <= u /\ z - units t w <= u <= z /\ forall v, In v (visits_at t p) -> v_arrival v < u -> v_end v <= u).
Proof.
  intros W Hp Fre Hz Hzt. unfold window_holds in W. rewrite !andb_true_iff, Z.leb_le in W. destruct W as [[Sw Ls] W].
  apply existsb_exists in W. destruct W as [y [_ W]]. apply andb_true_iff in W. destruct W as [Ok Le].
  apply Z.leb_le in Le. set (s := in_the_way before cb p k (eb p)) in *.
  assert (Hs : 0 <= s).
  { unfold s, in_the_way. apply Z.div_pos; [|apply (scale_pos before cb (good before cb delays_before))]. unfold blocking.
    pose proof (max_of_nonneg e_frame (filter (fun e => k <? e_class e) (eb p))). lia. }
  assert (Iz : inside tb z) by (unfold inside, before_end; cbn; now apply Z.ltb_lt).
  exists (y_longest y). split; [|split; [exact Le|split]].
  - unfold busy_ok in Ok. rewrite !andb_true_iff, !Z.leb_le in Ok. tauto.
  - intros Ho. destruct (begins_soon before cb tb p delays_before Vb windows_before Hp Sw k s (y_longest y) None (y_hint y) lo z)
      as [u [Lu [Zu B]]]; auto; [intros u _ _ v Hv _ L _ _; now apply none_before|].
    exists u. split; [exact Lu|]. split; [exact Zu|]. now apply (begins_more t p s).
  - intros Al Hk. apply (empty_soon before cb tb p delays_before Vb windows_before Hp Sw k s (y_longest y) None (y_hint y) lo z);
      auto. intros u _ _ v Hv _ L _. now apply none_before.
Qed.

Lemma window_of_row p x : (p < length (n_ports during))%nat -> In x (rows_at cd p) ->
  window_holds before cb during cd mc p (eb p) (ed p) (r_class x) (nth p ys []) (r_window x) = true.
Proof.
  intros Hp Hx. pose proof accepted_windows as A. unfold windows_ok in A. cbn zeta in A. apply andb_true_iff in A.
  destruct A as [_ A]. rewrite forallb_forall in A. specialize (A p ltac:(apply in_seq; lia)).
  apply andb_true_iff in A. destruct A as [A _]. rewrite forallb_forall in A. now apply A.
Qed.

(** The windows of the raise's rows. *)
Theorem raise_windows : windows_hold during cd td.
Proof.
  intros f x lo u Hf Hx Kx Fre Hlo [Hu [Bu Last]] v Hv Pv L Kv Av.
  pose proof (port_lt during cd td (good during cd accepted_during) Vd f Hf) as Hpd.
  pose proof (port_lt before cb tb (good before cb delays_before) Vb f Hf) as Hpb.
  set (p := v_port f) in *. pose proof (window_of_row p x Hpd Hx) as W. unfold early.
  destruct (r_window x) as [th|] eqn:Eth; [|exact I]. rewrite Kx in W. set (k := class f) in *.
  assert (If : In f (visits_at t p)) by now apply at_port_in.
  pose proof (in_order _ _ _ (ports _ _ Vb p Hpb) f If) as Of.
  pose proof (gone v Hv L) as Gv. assert (Iv : In v (visits_at t p)) by (rewrite <- Pv; now apply at_port_in).
  pose proof (in_order _ _ _ (ports _ _ Vb p Hpb) v Iv) as Ov.
  assert (Hmc : 1 <= units t mc) by (unfold units; nia).
  change (units td th) with (units t th). set (z := Z.min (r_trigger r) (v_choice f) - 1).
  assert (Th : forall w, 0 <= w -> w + mc <= th -> units t w + units t mc <= units t th)
    by (intros w Hw Le; unfold units; nia).
  destruct (Z_lt_ge_dec z lo) as [Lt|Ge].
  - assert (Hth : units t mc <= units t th); [|lia].
    { pose proof W as W'. unfold window_holds in W'. rewrite !andb_true_iff in W'. destruct W' as [_ W'].
      apply existsb_exists in W'. destruct W' as [y [_ W']]. apply andb_true_iff in W'. destruct W' as [B Le].
      unfold busy_ok in B. rewrite !andb_true_iff, !Z.leb_le in B. apply Z.leb_le in Le. unfold units. nia. }
  - destruct (short_before p k th lo z W Hpb Fre ltac:(lia) ltac:(lia)) as [w [Hw [Le [B _]]]].
    destruct B as [u' [Lu [Zu Bu']]]; [intros o Ho Po; now apply (others_above p f Hf o Ho Po)|].
    specialize (Th w Hw Le).
    destruct (Z_le_gt_dec u' (v_arrival f)) as [Early|Later].
    + assert (u' <= u); [|lia]. destruct (Z_le_gt_dec u' u) as [|G]; [assumption|].
      assert (N : begins t p (in_the_way during cd p k (ed p)) k u' = false) by exact (Last u' ltac:(lia)). congruence.
    + apply begins_spec in Bu'. destruct Bu' as [Nw _]. specialize (Nw f If (Z.le_refl _) ltac:(lia)). lia.
Qed.

(** The window of a buffer. *)
Lemma buffer_windows p window y : (p < length (n_ports before))%nat ->
  buffer_window_holds before cb during cd mc p (eb p) (ed p) (nth p ys []) window = true ->
  forall b, b_window b = window -> buffer_window during cd td p b y.
Proof.
  intros Hp W b Eb lo u Fre Hlo La v Hv Pv L Av. unfold early. rewrite Eb. clear b Eb.
  destruct window as [th|]; [|exact I]. unfold buffer_window_holds in W. rewrite !andb_true_iff, Z.leb_le, Z.eqb_eq in W.
  destruct W as [[Kl Eo] W]. set (k := max_of e_class (ed p)) in *.
  pose proof (gone v Hv L) as Gv. assert (Iv : In v (visits_at t p)) by (rewrite <- Pv; now apply at_port_in).
  pose proof (in_order _ _ _ (ports _ _ Vb p Hp) v Iv) as Ov.
  assert (Hmc : 1 <= units t mc) by (unfold units; nia). assert (Hu : u <= y) by lia.
  change (units td th) with (units t th). set (z := Z.min (r_trigger r - 1) y).
  assert (Hth : forall w, 0 <= w -> w + mc <= th -> units t w + units t mc <= units t th)
    by (intros w Hw Le; unfold units; nia).
  destruct (Z_lt_ge_dec z lo) as [Lt|Ge].
  - assert (units t mc <= units t th); [|lia]. unfold window_holds in W. rewrite !andb_true_iff in W. destruct W as [_ W].
    apply existsb_exists in W. destruct W as [q [_ W]]. apply andb_true_iff in W. destruct W as [B Le].
    unfold busy_ok in B. rewrite !andb_true_iff, !Z.leb_le in B. apply Z.leb_le in Le. unfold units. nia.
  - destruct (short_before p k th lo z W Hp Fre ltac:(lia) ltac:(lia)) as [w [Hw [Le [B E]]]].
    specialize (Hth w Hw Le). enough (exists u', z - units t w <= u' <= z /\ u' <= u) as [u' ?] by lia.
    destruct La as [[Al [_ [Emp Last]]]|[_ [_ Last]]].
    + destruct (E ltac:(congruence) Kl) as [u' [_ [Zu Em]]]. exists u'. split; [exact Zu|].
      destruct (Z_le_gt_dec u' u) as [|G]; [assumption|exfalso]. destruct (Last u' ltac:(lia)) as [q [Hq Aq]].
      unfold across in Aq. rewrite andb_true_iff, !Z.ltb_lt in Aq. specialize (Em q Hq). lia.
    + destruct B as [u' [_ [Zu Bu']]].
      * assert (Hpd : (p < length (n_ports during))%nat)
          by (rewrite <- Pv; apply (port_lt during cd td (good during cd accepted_during) Vd v Hv)).
        intros o Ho Po. pose proof (others_below _ _ _ (ports _ _ Vd p Hpd) o Ho Po) as [So Lo].
        apply (max_of_lt during p Hpd).
        -- pose proof (Lo _ (frame_lt during td Vd v Hv)) as O0. rewrite <- (class_of during td Vd v Hv) in O0.
           assert (0 <= class v); [|lia]. rewrite (class_of during td Vd v Hv).
           destruct (wf_parts during cd (good during cd accepted_during)) as [_ [Hf _]].
           specialize (Hf _ (frame_lt during td Vd v Hv)). unfold flow_wf in Hf. rewrite !andb_true_iff, !Z.leb_le in Hf. lia.
        -- intros en He. apply filter_In in He. destruct He as [He _]. apply entries_spec in He.
           destruct He as [i [q [Hi [Hq [_ ->]]]]].
           destruct (entry_names during cd i (flow_at during i) q) as [_ [_ [_ [_ ->]]]]. now apply Lo.
      * exists u'. split; [exact Zu|]. destruct (Z_le_gt_dec u' u) as [|G]; [assumption|].
        assert (N : begins t p (in_the_way during cd p k (ed p)) k u' = false) by exact (Last u' ltac:(lia)). congruence.
Qed.
Lemma raise_buffers : buffers_hold during cd td.
Proof.
  intros p b E y _ _ lo u Fre Hlo La v Hv Pv.
  assert (Hp : (p < length (n_ports during))%nat)
    by (rewrite <- Pv; apply (port_lt during cd td (good during cd accepted_during) Vd v Hv)).
  assert (Hb : (p < length (n_ports before))%nat)
    by (rewrite <- Pv; apply (port_lt before cb tb (good before cb delays_before) Vb v Hv)).
  revert lo u Fre Hlo La v Hv Pv. apply (buffer_windows p (b_window b) y Hb); [|reflexivity].
  pose proof accepted_windows as A. unfold windows_ok in A. cbn zeta in A. apply andb_true_iff in A.
  destruct A as [_ A]. rewrite forallb_forall in A. specialize (A p ltac:(apply in_seq; lia)).
  apply andb_true_iff in A. destruct A as [_ A]. now rewrite (nth_error_nth _ _ _ E) in A.
Qed.
End Raise.

(** All rows of a raise hold: of ports, of messages of flows that stay, of buffers. *)
Theorem raise_claims_hold before cb during cd t r mc since done e ys :
  follows before (with_span t (Span since done (Some (r_trigger r)))) ->
  valid during (with_span t (Span since done e)) -> raises (after during) t r ->
  (forall p s, r_switch r p = Some s -> r_swapped r s <= r_trigger r + units t mc) ->
  raise_accepts before cb during cd mc ys = true ->
  all_hold during cd (with_span t (Span since done e)).
Proof.
  intros Vb Vd R M A. unfold raise_accepts in A. rewrite !andb_true_iff in A. destruct A as [[Ab Ad] Aw].
  assert (Ab' : steady before && delays_ok before cb = true).
  { unfold accepts, rows_ok in Ab. rewrite !andb_true_iff in Ab. apply andb_true_iff. tauto. }
  pose proof Ad as Ad'. unfold rows_ok in Ad'. rewrite !andb_true_iff in Ad'. destruct Ad' as [[Dd _] _].
  apply accepted_rows_hold; auto; [apply Vd| |apply Vd|].
  - apply (raise_windows before cb during cd t r mc since done e Vb Vd R M ys Ab' Dd Aw).
  - apply (raise_buffers before cb during cd t r mc since done e Vb Vd R M ys Ab' Dd Aw).
Qed.
