(** What comes to a port from all sides, against the lines of the inequality. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Intervals Description Model Busy Line Accepts Ways Arrivals.
Import ListNotations.
Open Scope Z_scope.

Lemma sum_of_in w es : sum_of w es = sumif w all es.
Proof. unfold sum_of. induction es as [|e r IH]; cbn; [reflexivity|]. now rewrite IH. Qed.

Lemma max_of_in w es e : In e es -> w e <= max_of w es.
Proof.
  unfold max_of. induction es as [|x r IH]; intros H; [destruct H|]. cbn [fold_right].
  destruct H as [->|H]; [lia|]. specialize (IH H). lia.
Qed.

Lemma max_of_nonneg w es : 0 <= max_of w es.
Proof. unfold max_of. induction es; cbn [fold_right]; lia. Qed.

Lemma distinct_nodup l : distinct l = true -> NoDup l.
Proof.
  induction l as [|x r IH]; cbn; intros H; constructor; apply andb_true_iff in H; destruct H as [H ?]; auto.
  intros Hx. apply negb_true_iff in H. assert (existsb (Nat.eqb x) r = true); [|congruence].
  apply existsb_exists. exists x. split; auto. apply Nat.eqb_refl.
Qed.

Section Groups.
Variables (n : network) (c : claims) (t : trace).
Hypothesis good : wf n c = true.
Hypothesis V : follows n t.

Let unit_pos : 0 < t_unit t := unit_positive _ _ V.

Lemma scale_pos : 0 < scale c.
Proof. pose proof (wf_parts n c good). unfold scale, ps_per_s. lia. Qed.

Lemma entries_spec e : In e (entries n c) <-> exists i x, (i < length (n_flows n))%nat /\
  (x < length (f_places (flow_at n i)))%nat /\
  (f_admitted (flow_at n i) || is_root (flow_at n i) x) = true /\ e = entry_at n c i (flow_at n i) x.
Proof.
  unfold entries. rewrite in_flat_map. split.
  - intros [[i f] [H E]]. cbn in E. unfold entries_of in E. apply in_map_iff in E.
    destruct E as [x [<- Hx]]. apply filter_In in Hx. destruct Hx as [Hx Ad]. apply in_seq in Hx.
    assert (Hi := in_combine_l _ _ _ _ H). apply in_seq in Hi.
    assert (f = flow_at n i) as ->.
    { apply In_nth with (d := (O, no_flow)) in H. destruct H as [k [Hk E]].
      rewrite combine_nth in E by now rewrite seq_length.
      rewrite combine_length, seq_length in Hk. rewrite seq_nth in E by lia.
      inversion E. reflexivity. }
    exists i, x. repeat split; auto; lia.
  - intros [i [x [Hi [Hx [Ad ->]]]]]. exists (i, flow_at n i). split.
    + assert (In (nth i (combine (seq 0 (length (n_flows n))) (n_flows n)) (O, no_flow))
                 (combine (seq 0 (length (n_flows n))) (n_flows n))) as H.
      { apply nth_In. rewrite combine_length, seq_length. lia. }
      rewrite combine_nth in H by now rewrite seq_length. rewrite seq_nth in H by lia. exact H.
    + cbn. apply in_map. apply filter_In. split; [apply in_seq; lia|exact Ad].
Qed.

Lemma entry_names i f x : let e := entry_at n c i f x in
  e_flow e = i /\ e_place e = x /\ e_port e = at_port (place_at f x) /\
  e_from e = from_port f x /\ e_class e = f_class f.
Proof.
  cbn zeta. unfold entry_at, by_contract, by_meter, by_monitor.
  destruct (is_root f x); [|destruct (f_monitor f); [|destruct (f_meter f)]]; cbn; repeat split.
Qed.

(** The entry of a frame at a port. *)
Definition entry_for (v : visit) : entry :=
  entry_at n c (flow_of v) (flow_at n (flow_of v)) (v_place v).

Lemma entry_for_in v : In v (t_visits t) -> live t v -> In (entry_for v) (filter (at_place (v_port v)) (entries n c)).
Proof.
  intros Hv Lv. apply filter_In. split.
  - apply entries_spec. exists (flow_of v), (v_place v). repeat split.
    + apply (frame_lt n t V v Hv).
    + apply (visit_place _ _ (ways_hold _ _ V) v Hv).
    + apply orb_true_iff. unfold is_root.
      destruct (admitted _ _ (modes _ _ V) v Hv Lv) as [E|E]; [right|now left].
      unfold parent_of in E. now rewrite E.
  - unfold at_place. destruct (entry_names (flow_of v) (flow_at n (flow_of v)) (v_place v)) as [_ [_ [P _]]].
    unfold entry_for. rewrite P, <- (port_is n t V v Hv). apply Nat.eqb_refl.
Qed.

Section Port.
Variables (p : nat) (y : Z).
Hypothesis Hp : (p < length (n_ports n))%nat.
Hypothesis K : kept n c t y.

Notation es := (filter (at_place p) (entries n c)).

Hypothesis ClE : forall e, In e es ->
  t_babbling t (e_flow e) = false \/ parent_of n (e_flow e) (e_place e) <> None.

Lemma Cl v : In v (t_visits t) -> v_port v = p -> live t v -> claimed n t v.
Proof.
  intros Hv Pv Lv. assert (H := ClE (entry_for v)).
  destruct (entry_names (flow_of v) (flow_at n (flow_of v)) (v_place v)) as [Nf [Np _]].
  unfold entry_for in H. rewrite Nf, Np in H. apply H. rewrite <- Pv. now apply entry_for_in.
Qed.

(** Frames at p that came over one line, of some kind, from a to b. *)
Definition win (from : option nat) (cs : visit -> bool) (a b : Z) (v : visit) : bool :=
  Nat.eqb (v_port v) p && same_line from (entry_for v) && cs v &&
  (a <=? v_arrival v) && (v_arrival v <=? b).

Definition upto (k : Z) (v : visit) : bool := class v <=? k.

Lemma win_spec from cs a b v : win from cs a b v = true <->
  v_port v = p /\ same_line from (entry_for v) = true /\ cs v = true /\ a <= v_arrival v <= b.
Proof. unfold win. rewrite !andb_true_iff, Nat.eqb_eq, !Z.leb_le. tauto. Qed.

Lemma class_entry v : In v (t_visits t) -> e_class (entry_for v) = class v.
Proof.
  intros Hv. unfold entry_for. rewrite (class_of n t V v Hv).
  now destruct (entry_names (flow_of v) (flow_at n (flow_of v)) (v_place v)) as [_ [_ [_ [_ P]]]].
Qed.

Lemma sizes_nonneg v : In v (t_visits t) -> 0 <= size v.
Proof. intros H. pose proof (size_bounds n t V v H). pose proof (wf_parts n c good). lia. Qed.

Lemma win_live from cs a b v : s_since (t_span t) p <= a -> inside t b ->
  win from cs a b v = true -> live t v.
Proof.
  intros Ha Hb W. apply win_spec in W. destruct W as [Pv [_ [_ Av]]]. split; [rewrite Pv; lia|].
  apply (inside_le t _ b); [lia|exact Hb].
Qed.

(** By the flows. *)
Lemma flows_bring from cs a b w l : s_since (t_span t) p <= a -> inside t b -> b <= y -> 0 <= w -> b - a <= w ->
  (forall e, In e l -> In e es) ->
  (forall v, In v (t_visits t) -> win from cs a b v = true -> In (entry_for v) l) ->
  scale c * t_unit t * sumif size (win from cs a b) (t_visits t)
  <= t_unit t * sum_of e_burst l + sum_of e_rate l * w.
Proof.
  intros Ha Hin Hb Hw Hab Hl H.
  assert (S : sumif size (win from cs a b) (t_visits t) <=
    sumif (fun e => sumif size (fun v => win from cs a b v && of_place (e_flow e) (e_place e) a b v)
                        (t_visits t)) all l).
  { apply sumif_cover with (f := fun e v => of_place (e_flow e) (e_place e) a b v).
    - apply sizes_nonneg.
    - intros v Hv W. exists (entry_for v). split; [now apply H|].
      apply of_place_spec. unfold entry_for.
      destruct (entry_names (flow_of v) (flow_at n (flow_of v)) (v_place v)) as [-> [-> _]].
      apply win_spec in W. tauto. }
  pose proof scale_pos. assert (0 < scale c * t_unit t) by nia.
  assert (T : sumif (fun e => scale c * t_unit t * sumif size
       (fun v => win from cs a b v && of_place (e_flow e) (e_place e) a b v) (t_visits t)) all l
     <= sumif (fun e => t_unit t * e_burst e + w * e_rate e) all l).
  { clear S H. induction l as [|e r IH]; cbn [sumif all]; [lia|].
    specialize (IH (fun z Hz => Hl z (or_intror Hz))).
    assert (B : bounded n c t e (e_flow e) (e_place e) y).
    { pose proof (Hl e (or_introl eq_refl)) as He. pose proof (ClE e He) as Ce.
      apply filter_In in He. destruct He as [He _]. apply entries_spec in He.
      destruct He as [i [x [Hi [Hx [_ ->]]]]].
      destruct (entry_names i (flow_at n i) x) as [Nf [Np _]]. rewrite Nf, Np in *.
      now apply entry_bounds. }
    assert (Pe : port_of n (e_flow e) (e_place e) = p).
    { pose proof (Hl e (or_introl eq_refl)) as He. apply filter_In in He. destruct He as [He Pe].
      apply Nat.eqb_eq in Pe. apply entries_spec in He. destruct He as [i [x [_ [_ [_ Ee]]]]].
      destruct (entry_names i (flow_at n i) x) as [Nf [Np [Npo _]]]. rewrite <- Ee in Nf, Np, Npo.
      unfold port_of. rewrite Nf, Np, <- Npo. exact Pe. }
    specialize (B a b w ltac:(rewrite Pe; exact Ha) Hin Hb Hw Hab).
    assert (sumif size (fun v => win from cs a b v && of_place (e_flow e) (e_place e) a b v) (t_visits t)
            <= sumif size (of_place (e_flow e) (e_place e) a b) (t_visits t)).
    { apply sumif_le; [|apply sizes_nonneg]. intros z _ Hz. apply andb_true_iff in Hz. split; [tauto|lia]. }
    set (z1 := sumif size (fun v => _) _) in *. set (z2 := sumif size (of_place _ _ _ _) _) in *.
    assert (scale c * t_unit t * z1 <= scale c * t_unit t * z2) by nia. lia. }
  rewrite sumif_plus, !sumif_scale in T. rewrite !sum_of_in. set (z := sumif size _ _) in *. nia.
Qed.

Lemma ports_distinct i x x' : (i < length (n_flows n))%nat ->
  (x < length (f_places (flow_at n i)))%nat -> (x' < length (f_places (flow_at n i)))%nat ->
  port_of n i x = port_of n i x' -> x = x'.
Proof.
  intros Hi Hx Hx' E. destruct (wf_parts n c good) as [_ [Hf _]]. specialize (Hf i Hi).
  unfold flow_wf in Hf. rewrite !andb_true_iff in Hf. destruct Hf as [[[_ D] _] _].
  apply distinct_nodup in D. eapply NoDup_nth with (d := at_port no_place) in D; [exact D| | |];
    try (rewrite map_length; assumption).
  rewrite !map_nth. exact E.
Qed.

(** By the line that they came over. *)
Lemma line_bound g k a b w : s_since (t_span t) p <= a -> inside t b -> a <= b -> b <= y -> b - a <= w ->
  (forall v, In v (t_visits t) -> win (Some g) (upto k) a b v = true ->
     In (entry_for v) (filter (same_line (Some g)) (filter (fun e => e_class e <=? k) es))) ->
  scale c * t_unit t * sumif size (win (Some g) (upto k) a b) (t_visits t)
  <= t_unit t * (max_of e_frame (filter (same_line (Some g)) (filter (fun e => e_class e <=? k) es))
       + scale c * p_below (port_at n g)
       + per_ps c (p_rate_max (port_at n g)) *
         (p_tick (port_at n g) + (p_latency_max (port_at n p) - p_latency_min (port_at n p))))
     + per_ps c (p_rate_max (port_at n g)) * w.
Proof.
  intros Ha Hins Hab Hb Hw Hin. set (F := max_of e_frame _). pose proof scale_pos as Sp.
  assert (HF : 0 <= F) by apply max_of_nonneg. pose proof (wf_parts n c good) as [_ [_ [_ [_ Qp]]]].
  assert (Up : forall v, In v (t_visits t) -> win (Some g) (upto k) a b v = true ->
    exists u, In u (t_visits t) /\ from_switch n t v u /\ v_port u = g /\
              scale c * size v <= F /\ v_handover u <= v_arrival v).
  { intros v Hv W. pose proof (Hin v Hv W) as Ie. pose proof (win_live _ _ _ _ v Ha Hins W) as Lv.
    apply win_spec in W. destruct W as [Pv [Sl _]].
    unfold same_line, entry_for in Sl.
    destruct (entry_names (flow_of v) (flow_at n (flow_of v)) (v_place v)) as [_ [_ [_ [Fr _]]]].
    rewrite Fr in Sl. unfold from_port in Sl.
    destruct (visit_from _ _ (ways_hold _ _ V) v Hv) as [[Pn _]|[u [Hu Fs]]].
    - unfold parent_of in Pn. rewrite Pn in Sl. discriminate.
    - pose proof Fs as [Ef [Pu Fb]]. cbn zeta in Fb. unfold parent_of in Pu. rewrite Pu in Sl.
      apply Nat.eqb_eq in Sl. exists u. split; [exact Hu|]. split; [exact Fs|].
      assert (v_port u = g).
      { rewrite (port_is n t V u Hu). unfold flow_of. rewrite Ef. symmetry. exact Sl. }
      split; [assumption|]. split.
      + etransitivity; [apply (entry_frame n c t good V v Hv (Cl v Hv Pv Lv) Lv)|].
        apply max_of_in. exact Ie.
      + pose proof (port_facts n c good _ (port_lt n c t good V v Hv)).
        pose proof (port_facts n c good _ (port_lt n c t good V u Hu)). unfold units in Fb. nia. }
  set (W := win (Some g) (upto k) a b) in *.
  destruct (Z_le_gt_dec (sumif size W (t_visits t)) 0) as [Z0|Gt].
  { pose proof (port_good n c good g) as Fg. pose proof (port_good n c good p) as Fp.
    set (J := p_tick (port_at n g) + (p_latency_max (port_at n p) - p_latency_min (port_at n p))).
    assert (0 <= per_ps c (p_rate_max (port_at n g))) by (unfold per_ps; nia).
    assert (0 <= per_ps c (p_rate_max (port_at n g)) * J) by (apply Z.mul_nonneg_nonneg; lia).
    assert (0 <= per_ps c (p_rate_max (port_at n g)) * w) by (apply Z.mul_nonneg_nonneg; lia).
    assert (0 <= scale c * p_below (port_at n g)) by (apply Z.mul_nonneg_nonneg; lia).
    set (z := sumif size W _) in *. assert (scale c * t_unit t * z <= 0) by nia. nia. }
  assert (Hg : (g < length (n_ports n))%nat).
  { apply Z.gt_lt, sumif_positive in Gt. destruct Gt as [v [Hv Wv]].
    destruct (Up v Hv Wv) as [u [Hu [_ [<- _]]]]. apply (port_lt n c t good V u Hu). }
  pose proof (port_facts n c good g Hg) as Fg. pose proof (port_facts n c good p Hp) as Fp.
  set (lo := a - units t (p_propagation (port_at n g) + p_latency_max (port_at n p) + p_tick (port_at n g))).
  set (hi := b - units t (p_propagation (port_at n g) + p_latency_min (port_at n p))).
  assert (S : sumif size W (t_visits t) <=
    sumif size (fun v => negb (t_dropped t v) && (size v <=? F / scale c) && (lo <=? v_end v) && (v_end v <=? hi)) (visits_at t g)).
  { apply sumif_inject with (R := fun v u => from_switch n t v u).
    - apply (visits_nodup n t V).
    - intros v Hv. apply filter_In in Hv. destruct Hv as [Hv Pv]. apply Nat.eqb_eq in Pv.
      apply in_app_iff in Hv. destruct Hv as [Hv|Hv]; [now apply sizes_nonneg|].
      pose proof (others_below _ _ _ (ports _ _ V g Hg) v Hv Pv). lia.
    - intros v Hv Wv. destruct (Up v Hv Wv) as [u [Hu [Fs [Pu [Sz _]]]]]. exists u.
      pose proof Fs as [Ef [_ Fb]]. cbn zeta in Fb. apply win_spec in Wv.
      pose proof (port_order n c t good V u Hu) as O. rewrite Pu in O, Fb. destruct Wv as [Pv [_ [_ Av]]].
      rewrite Pv in Fb. unfold units in *. subst lo hi.
      replace (size u) with (size v) by (unfold size; now rewrite Ef).
      split; [rewrite <- Pu; now apply at_port_in|]. split; [exact Fs|]. split; [|lia].
      rewrite (went_on _ _ (ways_hold _ _ V) v u Hv Hu Fs), !andb_true_iff, !Z.leb_le. repeat split; try lia.
      apply Z.div_le_lower_bound; lia.
    - intros v v' u Hv Hv' Wv Wv' [E1 _] [E2 _]. apply win_spec in Wv, Wv'.
      apply (same_visit n t V); auto.
      pose proof (visit_place _ _ (ways_hold _ _ V) v Hv) as [L1 P1].
      pose proof (visit_place _ _ (ways_hold _ _ V) v' Hv') as [L2 P2].
      assert (Ef : v_frame v = v_frame v') by congruence.
      assert (Fl : flow_of v' = flow_of v) by (unfold flow_of; now rewrite Ef).
      unfold key. rewrite Ef. f_equal. rewrite Fl in *.
      apply (ports_distinct (flow_of v)); auto; [apply (frame_lt n t V v Hv)|].
      rewrite <- P1, <- P2. destruct Wv, Wv'. congruence. }
  pose proof (line_brings n t g (ports _ _ V g Hg) (visits_at_nodup n t V g)
    (fun v => sizes_at n c t good V g v Hg) unit_pos ltac:(lia) (F / scale c) lo hi) as L.
  assert (0 <= F / scale c) by (apply Z.div_pos; lia).
  assert (Hlh : lo <= hi) by (subst lo hi; unfold units; nia).
  specialize (L H Hlh). pose proof (Z.mul_div_le F (scale c) Sp) as Fl.
  set (z := sumif size W _) in *. set (z' := sumif size _ (visits_at t g)) in *.
  set (R := p_rate_max (port_at n g)) in *. unfold per_ps.
  assert (A1 : scale c * t_unit t * z <= q_scale c * (full t * z')).
  { replace (q_scale c * (full t * z')) with (scale c * t_unit t * z') by (unfold scale, full; ring).
    apply Z.mul_le_mono_nonneg_l; [nia|exact S]. }
  assert (A2 : q_scale c * (full t * z') <= q_scale c * (full t * (F / scale c) + R * (hi - lo))).
  { apply Z.mul_le_mono_nonneg_l; [lia|]. exact L. }
  assert (A3 : t_unit t * (scale c * (F / scale c)) <= t_unit t * F)
    by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (A4 : q_scale c * R * (hi - lo) <= q_scale c * R * (w + units t (p_tick (port_at n g) +
     (p_latency_max (port_at n p) - p_latency_min (port_at n p))))).
  { apply Z.mul_le_mono_nonneg_l; [nia|]. subst lo hi. unfold units. lia. }
  assert (0 <= t_unit t * (scale c * p_below (port_at n g))) by (apply Z.mul_nonneg_nonneg; [|apply Z.mul_nonneg_nonneg]; lia).
  unfold full, scale, units in *. lia.
Qed.

(** ** Means *)

Lemma mean_below h a b z x w : hint_ok h = true ->
  z <= x * fst a + snd a * w -> z <= x * fst b + snd b * w ->
  h_whole h * z <= x * fst (mean h a b) + snd (mean h a b) * w.
Proof.
  intros Hh A B. unfold hint_ok in Hh. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in Hh.
  unfold mean. cbn [fst snd]. set (q := if _ <? _ then _ else _).
  assert (Hq : 0 <= q <= h_whole h) by (unfold q; destruct (_ <? _); [lia|destruct (_ <? _); lia]).
  assert (q * z <= q * (x * fst a + snd a * w)) by (apply Z.mul_le_mono_nonneg_l; lia).
  assert ((h_whole h - q) * z <= (h_whole h - q) * (x * fst b + snd b * w))
    by (apply Z.mul_le_mono_nonneg_l; lia).
  lia.
Qed.

Lemma times_below h l z x w : hint_ok h = true -> z <= x * fst l + snd l * w ->
  h_whole h * z <= x * fst (times (h_whole h) l) + snd (times (h_whole h) l) * w.
Proof.
  intros Hh A. unfold hint_ok in Hh. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in Hh.
  unfold times. cbn [fst snd].
  assert (h_whole h * z <= h_whole h * (x * fst l + snd l * w)) by (apply Z.mul_le_mono_nonneg_l; lia). lia.
Qed.

(** ** A group *)

(** Within the window of flows that leave. *)
Definition early (u : Z) (window : option Z) (v : visit) : Prop :=
  match window with None => True | Some th => v_arrival v <= u + units t th end.

Definition leaving (v : visit) : bool := leaves n (entry_for v).

Section Group.
Variables (h : hint) (window : option Z) (k u a b d w : Z).
Hypothesis hint_good : hint_ok h = true.
Hypothesis window_good : window_ok window = true.
Hypothesis ordered : u <= a <= b.
Hypothesis delay_nonneg : 0 <= d.
Hypothesis within : b <= a + units t d.
Hypothesis until : b <= y.
Hypothesis from_then : s_since (t_span t) p <= u.
Hypothesis by_then : inside t b.
Hypothesis width : a - u <= w.
Hypothesis all_early : forall v, In v (t_visits t) -> v_port v = p -> leaving v = true -> class v <= k ->
  u <= v_arrival v <= b -> early u window v.

Let delay_units : 0 <= units t d.
Proof. unfold units. nia. Qed.

Lemma inside_first : inside t a.
Proof. apply (inside_le t _ b); [lia|exact by_then]. Qed.

Definition mine (from : option nat) : list entry :=
  filter (same_line from) (filter (fun e => e_class e <=? k) es).

Definition equal (v : visit) : bool := class v =? k.
Definition over (v : visit) : bool := class v <? k.
Definition stay (X : visit -> bool) (v : visit) : bool := X v && negb (leaving v).
Definition leave (X : visit -> bool) (v : visit) : bool := X v && leaving v.

(** What comes of class k up to a, and of those above up to b. *)
Definition same (from : option nat) : visit -> bool := win from equal u a.
Definition above (from : option nat) : visit -> bool := win from over u b.

Lemma mine_in from cs b' v : In v (t_visits t) -> inside t b' -> (cs v = true -> class v <= k) ->
  win from cs u b' v = true -> In (entry_for v) (mine from).
Proof.
  intros Hv Hb Hc W. pose proof (win_live _ _ _ _ v from_then Hb W) as Lv.
  apply win_spec in W. destruct W as [Pv [Sl [Cs _]]].
  apply filter_In. split; [|exact Sl]. apply filter_In. split.
  - rewrite <- Pv. now apply entry_for_in.
  - rewrite class_entry by auto. apply Z.leb_le. now apply Hc.
Qed.

(** The lists of the inequality have the entries of the frames that are meant. *)
Lemma listed_in from (C L : entry -> bool) X a' b' : u <= a' -> inside t b' ->
  (forall v, In v (t_visits t) -> X v = true -> class v <= k /\ C (entry_for v) = true /\ L (entry_for v) = true) ->
  forall v, In v (t_visits t) -> win from X a' b' v = true -> In (entry_for v) (filter L (filter C (mine from))).
Proof.
  intros Ha Hb H v Hv W. pose proof W as W'. apply win_spec in W'. destruct W' as [Pv [Sl [Xv Av]]].
  destruct (H v Hv Xv) as [Kv [Cv Lv]]. apply filter_In. split; [|exact Lv]. apply filter_In. split; [|exact Cv].
  apply (mine_in from X b'); auto. apply win_spec. repeat split; auto; lia.
Qed.

Lemma of_mine from C L e : In e (filter L (filter C (mine from))) -> In e es.
Proof.
  intros He. apply filter_In in He. destruct He as [He _]. apply filter_In in He. destruct He as [He _].
  apply filter_In in He. destruct He as [He _]. apply filter_In in He. tauto.
Qed.

(** Those that leave: the curve, or all of the window. *)
Lemma leave_brings from X C b' d' : u <= b' -> b' <= b -> 0 <= d' -> b' - u <= w + units t d' ->
  (forall v, In v (t_visits t) -> leave X v = true -> class v <= k /\ C (entry_for v) = true) ->
  let l := bucket_of (filter (leaves n) (filter C (mine from))) in
  let g := windowed h window (within_delay d' l) l in
  h_whole h * (scale c * t_unit t * sumif size (win from (leave X) u b') (t_visits t))
  <= t_unit t * fst g + snd g * w.
Proof.
  intros Hu Hb Hd Hw H l g. assert (Hd' : 0 <= units t d') by (unfold units; nia).
  assert (L : forall v, In v (t_visits t) -> leave X v = true ->
    class v <= k /\ C (entry_for v) = true /\ leaves n (entry_for v) = true).
  { intros v Hv Lv. destruct (H v Hv Lv). unfold leave in Lv. apply andb_true_iff in Lv. tauto. }
  assert (Ib : forall z, z <= b' -> inside t z) by (intros z Hz; apply (inside_le t _ b); [lia|exact by_then]).
  pose proof (flows_bring from (leave X) u b' (w + units t d') _ from_then (Ib b' (Z.le_refl _)) ltac:(lia)
    ltac:(lia) Hw (fun e => of_mine from C (leaves n) e)
    (listed_in from C (leaves n) (leave X) u b' (Z.le_refl u) (Ib b' (Z.le_refl _)) L)) as B1.
  set (z := scale c * t_unit t * _) in *. unfold g, windowed, within_delay.
  assert (Fl : fst l = sum_of e_burst (filter (leaves n) (filter C (mine from)))) by reflexivity.
  assert (Sl : snd l = sum_of e_rate (filter (leaves n) (filter C (mine from)))) by reflexivity.
  rewrite <- Fl, <- Sl in B1.
  assert (E1 : z <= t_unit t * fst (fst l + snd l * d', snd l) + snd (fst l + snd l * d', snd l) * w)
    by (cbn [fst snd]; unfold units in B1; lia).
  destruct window as [th|] eqn:Ew; [|now apply times_below].
  apply mean_below; [exact hint_good| |exact E1]. cbn [window_ok] in window_good. apply Z.leb_le in window_good.
  assert (Ht : 0 <= units t th) by (unfold units; nia).
  pose proof (flows_bring from (leave X) u (Z.min b' (u + units t th)) (units t th) _ from_then
    (Ib _ (Z.le_min_l _ _)) ltac:(lia) Ht ltac:(lia) (fun e => of_mine from C (leaves n) e)
    (listed_in from C (leaves n) (leave X) u _ (Z.le_refl u) (Ib _ (Z.le_min_l _ _)) L)) as B2.
  rewrite <- Fl, <- Sl in B2. cbn [fst snd].
  assert (S : sumif size (win from (leave X) u b') (t_visits t)
    <= sumif size (win from (leave X) u (Z.min b' (u + units t th))) (t_visits t)).
  { apply sumif_le; [|apply sizes_nonneg]. intros v Hv W. split; [|lia]. apply win_spec in W. apply win_spec.
    destruct W as [Pv [Sv [Xv Av]]]. pose proof (L v Hv Xv) as [Kv [_ Lv]].
    specialize (all_early v Hv Pv Lv Kv ltac:(lia)). cbn [early] in all_early. repeat split; auto; lia. }
  assert (z <= scale c * t_unit t * sumif size (win from (leave X) u (Z.min b' (u + units t th))) (t_visits t)).
  { unfold z. apply Z.mul_le_mono_nonneg_l; [|exact S]. pose proof scale_pos. nia. }
  set (z' := sumif size (win from (leave X) u (Z.min b' (u + units t th))) (t_visits t)) in *. unfold units in B2. lia.
Qed.

Lemma split_leaving from X a' b' : sumif size (win from X a' b') (t_visits t) <=
  sumif size (win from (stay X) a' b') (t_visits t) + sumif size (win from (leave X) a' b') (t_visits t).
Proof.
  apply sumif_or; [apply sizes_nonneg|]. intros v _ W. apply win_spec in W. destruct W as [P1 [S1 [X1 A1]]].
  destruct (leaving v) eqn:E; [right|left]; apply win_spec; unfold stay, leave; rewrite X1, E; repeat split; auto; lia.
Qed.

(** The kinds of frames, and of entries. *)
Lemma equal_entry v : In v (t_visits t) -> equal v = true -> class v <= k /\ (e_class (entry_for v) =? k) = true.
Proof. intros Hv E. rewrite class_entry by auto. unfold equal in E. split; [lia|exact E]. Qed.
Lemma over_entry v : In v (t_visits t) -> over v = true -> class v <= k /\ (e_class (entry_for v) <? k) = true.
Proof. intros Hv E. rewrite class_entry by auto. unfold over in E. split; [lia|exact E]. Qed.
Lemma stay_entry (C : entry -> bool) X v :
  (X v = true -> class v <= k /\ C (entry_for v) = true) -> stay X v = true ->
  class v <= k /\ C (entry_for v) = true /\ negb (leaves n (entry_for v)) = true.
Proof. intros H S. unfold stay in S. apply andb_true_iff in S. destruct S as [S1 S2]. destruct (H S1). auto. Qed.

(** The flows. *)
Lemma group_by_flows from :
  let g := fst (group n c h window p k d from (mine from)) in
  h_whole h * (scale c * t_unit t * (sumif size (same from) (t_visits t) + sumif size (above from) (t_visits t)))
  <= t_unit t * fst g + snd g * w.
Proof.
  cbn zeta. unfold group. cbn [fst snd].
  pose proof (flows_bring from (stay equal) u a w _ from_then inside_first ltac:(lia) ltac:(lia) width
    (fun e => of_mine from (fun e => e_class e =? k) (fun e => negb (leaves n e)) e)
    (listed_in from _ _ _ u a (Z.le_refl u) inside_first (fun v Hv => stay_entry _ _ v (equal_entry v Hv)))) as B1.
  pose proof (flows_bring from (stay over) u b (w + units t d) _ from_then by_then ltac:(lia) ltac:(lia) ltac:(lia)
    (fun e => of_mine from (fun e => e_class e <? k) (fun e => negb (leaves n e)) e)
    (listed_in from _ _ _ u b (Z.le_refl u) by_then (fun v Hv => stay_entry _ _ v (over_entry v Hv)))) as B2.
  assert (LX : forall X v, leave X v = true -> X v = true) by (unfold leave; intros X v E; apply andb_true_iff in E; tauto).
  pose proof (leave_brings from equal (fun e => e_class e =? k) a 0 ltac:(lia) ltac:(lia) ltac:(lia)
    ltac:(unfold units; lia) (fun v Hv E => equal_entry v Hv (LX _ _ E))) as B3.
  pose proof (leave_brings from over (fun e => e_class e <? k) b d ltac:(lia) ltac:(lia) delay_nonneg
    ltac:(lia) (fun v Hv E => over_entry v Hv (LX _ _ E))) as B4.
  cbn zeta in B3, B4. unfold same, above.
  pose proof (split_leaving from equal u a) as S1. pose proof (split_leaving from over u b) as S2.
  pose proof hint_good as Hh. unfold hint_ok in Hh. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in Hh.
  pose proof scale_pos as Sp. set (W := h_whole h) in *. set (q := scale c * t_unit t) in *.
  assert (0 < q) by (unfold q; nia).
  replace (within_delay 0 (bucket_of (filter (leaves n) (filter (fun e => e_class e =? k) (mine from)))))
    with (fst (bucket_of (filter (leaves n) (filter (fun e => e_class e =? k) (mine from))))) in B3
    by (unfold within_delay; lia).
  set (g3 := windowed h window (fst _) _) in *. set (g4 := windowed h window (within_delay _ _) _) in *.
  unfold plus, times, within_delay, bucket_of. cbn [fst snd].
  set (s1 := sumif size (win from equal u a) _) in *. set (s2 := sumif size (win from over u b) _) in *.
  set (s3 := sumif size (win from (stay equal) u a) _) in *. set (s4 := sumif size (win from (stay over) u b) _) in *.
  set (s5 := sumif size (win from (leave equal) u a) _) in *. set (s6 := sumif size (win from (leave over) u b) _) in *.
  assert (q * (s1 + s2) <= q * s3 + q * s4 + (q * s5 + q * s6)) by nia.
  assert (W * (q * (s1 + s2)) <= W * (q * s3 + q * s4) + (W * (q * s5) + W * (q * s6))) by nia.
  match type of B1 with _ <= ?x => match type of B2 with _ <= ?z =>
    assert (W * (q * s3 + q * s4) <= W * (x + z)) by (apply Z.mul_le_mono_nonneg_l; lia) end end.
  unfold units in *. lia.
Qed.

(** What is above and comes after a, by the flows. *)
Lemma late_flows from :
  let l := filter (fun e => e_class e <? k) (mine from) in
  let s := bucket_of (filter (fun e => negb (leaves n e)) l) in
  let e := bucket_of (filter (leaves n) l) in
  scale c * t_unit t * sumif size (win from over (a + 1) b) (t_visits t)
  <= t_unit t * (within_delay d s + within_delay (shorter window d) e).
Proof.
  cbn zeta. pose proof (split_leaving from over (a + 1) b) as S.
  pose proof (flows_bring from (stay over) (a + 1) b (units t d) _ ltac:(lia) by_then until delay_units ltac:(lia)
    (fun e => of_mine from (fun e => e_class e <? k) (fun e => negb (leaves n e)) e)
    (listed_in from _ _ _ (a + 1) b ltac:(lia) by_then (fun v Hv => stay_entry _ _ v (over_entry v Hv)))) as B1.
  assert (L : forall v, In v (t_visits t) -> leave over v = true ->
    class v <= k /\ (e_class (entry_for v) <? k) = true /\ leaves n (entry_for v) = true).
  { intros v Hv E. unfold leave in E. apply andb_true_iff in E. destruct E as [E1 E2].
    destruct (over_entry v Hv E1). auto. }
  set (th := shorter window d).
  assert (Ht : 0 <= units t th /\ units t th <= units t d).
  { unfold th, shorter, units. destruct window as [x|]; [cbn [window_ok] in window_good; apply Z.leb_le in window_good|]; nia. }
  set (b' := match window with None => b | Some x => Z.min b (u + units t x) end).
  assert (Hb' : b' <= b /\ b' - (a + 1) <= units t th).
  { unfold b', th, shorter. destruct window as [x|]; [|lia]. unfold units in *. destruct (Z.min_spec d x) as [[_ ->]|[_ ->]]; lia. }
  assert (Ib : inside t b') by (apply (inside_le t _ b); [lia|exact by_then]).
  pose proof (flows_bring from (leave over) (a + 1) b' (units t th) _ ltac:(lia) Ib ltac:(lia) (proj1 Ht) (proj2 Hb')
    (fun e => of_mine from (fun e => e_class e <? k) (leaves n) e)
    (listed_in from _ _ _ (a + 1) b' ltac:(lia) Ib L)) as B2.
  assert (S2 : sumif size (win from (leave over) (a + 1) b) (t_visits t)
    <= sumif size (win from (leave over) (a + 1) b') (t_visits t)).
  { apply sumif_le; [|apply sizes_nonneg]. intros v Hv W. split; [|lia]. apply win_spec in W. apply win_spec.
    destruct W as [Pv [Sv [Xv Av]]]. pose proof (L v Hv Xv) as [Kv [_ Lv]].
    specialize (all_early v Hv Pv Lv Kv ltac:(lia)). unfold b', early in *.
    repeat split; auto; destruct window; lia. }
  pose proof scale_pos as Sp. set (q := scale c * t_unit t) in *. assert (0 < q) by (unfold q; nia).
  set (s1 := sumif size (win from over _ b) _) in *. set (s2 := sumif size (win from (stay over) _ b) _) in *.
  set (s3 := sumif size (win from (leave over) _ b) _) in *. set (s4 := sumif size (win from (leave over) _ b') _) in *.
  assert (q * s1 <= q * s2 + q * s4) by nia.
  unfold within_delay, bucket_of. cbn [fst snd]. unfold units in *. lia.
Qed.

(** Both kinds are among what the line brings. *)
Lemma line_has from : sumif size (above from) (t_visits t) + sumif size (same from) (t_visits t)
     <= sumif size (win from (upto k) u b) (t_visits t) /\
  sumif size (above from) (t_visits t) + sumif size (same from) (t_visits t)
     <= sumif size (win from (upto k) u a) (t_visits t) + sumif size (win from over (a + 1) b) (t_visits t).
Proof.
  assert (D : forall b', b' <= b -> sumif size (win from over u b') (t_visits t) + sumif size (same from) (t_visits t)
     <= sumif size (win from (upto k) u (Z.max a b')) (t_visits t)).
  { intros b' Hb. apply sumif_disjoint; [apply sizes_nonneg| |].
    - intros v Hv W. apply win_spec in W. unfold over in W. rewrite Z.ltb_lt in W. split.
      + apply win_spec. unfold upto. rewrite Z.leb_le. intuition lia.
      + apply not_true_iff_false. unfold same. intros W'. apply win_spec in W'. unfold equal in W'.
        rewrite Z.eqb_eq in W'. lia.
    - intros v Hv W. unfold same in W. apply win_spec in W. apply win_spec. unfold equal, upto in *.
      rewrite Z.leb_le. rewrite Z.eqb_eq in W. intuition lia. }
  split.
  - specialize (D b (Z.le_refl _)). rewrite Z.max_r in D by lia. exact D.
  - specialize (D a ltac:(lia)). rewrite Z.max_id in D.
    assert (sumif size (above from) (t_visits t) <= sumif size (win from over u a) (t_visits t)
      + sumif size (win from over (a + 1) b) (t_visits t)); [|lia].
    apply sumif_or; [apply sizes_nonneg|]. intros v Hv W. unfold above in W. apply win_spec in W.
    destruct (Z_le_gt_dec (v_arrival v) a); [left|right]; apply win_spec; intuition lia.
Qed.

(** The line, and of what is above after a the flows, or the line up to b. *)
Lemma group_by_line g from : from = Some g ->
  match snd (group n c h window p k d from (mine from)) with
  | None => False
  | Some l => scale c * t_unit t * (sumif size (same from) (t_visits t) + sumif size (above from) (t_visits t))
              <= t_unit t * fst l + snd l * w
  end.
Proof.
  intros ->. unfold group. cbn [fst snd].
  pose proof (late_flows (Some g)) as H2. cbn zeta in H2. set (late := within_delay d _ + within_delay _ _) in *.
  set (R := per_ps c (p_rate_max (port_at n g))).
  set (L := max_of e_frame (mine (Some g)) + _ + _).
  pose proof (wf_parts n c good) as [_ [_ [_ [_ Qp]]]]. pose proof (port_good n c good g) as Fg.
  assert (HR : 0 <= R) by (unfold R, per_ps; nia). pose proof scale_pos as Sp.
  assert (Line : forall b' w', inside t b' -> u <= b' -> b' <= y -> b' - u <= w' ->
    scale c * t_unit t * sumif size (win (Some g) (upto k) u b') (t_visits t) <= t_unit t * L + R * w').
  { intros b' w' Hib Hub Hb Hw'. apply line_bound; auto. intros v Hv W.
    apply (mine_in _ (upto k) b' v Hv Hib); [|exact W]. unfold upto. lia. }
  pose proof (Line a w inside_first ltac:(lia) ltac:(lia) width) as L1.
  pose proof (Line b (w + units t d) by_then ltac:(lia) until ltac:(lia)) as L2.
  destruct (line_has (Some g)) as [S1 S2].
  assert (0 < scale c * t_unit t) by nia. set (q := scale c * t_unit t) in *.
  set (z := sumif size (same (Some g)) _ + sumif size (above (Some g)) _).
  assert (D1 : q * z <= t_unit t * (L + R * d) + R * w) by (unfold z, units in *; nia).
  assert (D2 : q * z <= t_unit t * (L + late) + R * w) by (unfold z; nia).
  destruct (Z.min_spec late (R * d)) as [[_ ->]|[_ ->]]; assumption.
Qed.

(** Both at once, at whatever weight. *)
Lemma group_weighed from :
  let l := weighed h (group n c h window p k d from (mine from)) in
  h_whole h * h_whole h *
    (scale c * t_unit t * (sumif size (same from) (t_visits t) + sumif size (above from) (t_visits t)))
  <= t_unit t * fst l + snd l * w.
Proof.
  pose proof (group_by_flows from) as B1. cbn zeta in B1 |- *. unfold weighed.
  set (z := scale c * t_unit t * _) in *. rewrite <- Z.mul_assoc.
  destruct (snd (group n c h window p k d from (mine from))) as [l|] eqn:E; [|now apply times_below].
  destruct from as [g|]; [|discriminate].
  pose proof (group_by_line g (Some g) eq_refl) as B2. rewrite E in B2. fold z in B2.
  apply mean_below; auto. now apply times_below.
Qed.
End Group.

(** ** All groups *)

Lemma lines_in e l : In e l -> In (e_from e) (lines l).
Proof. intros H. unfold lines. apply nodup_In. now apply in_map. Qed.

Lemma same_line_refl e : same_line (e_from e) e = true.
Proof. unfold same_line. destruct (e_from e); [apply Nat.eqb_refl|reflexivity]. Qed.

Notation P := (visits_at t p).

(** What comes of the classes up to k is of flows. *)
Lemma came_of_flows k (X : visit -> bool) (Y : visit -> bool) :
  (forall v, In v (t_others t) -> v_port v = p -> k < class v) ->
  (forall v, X v = true -> class v <= k) ->
  (forall v, In v (t_visits t) -> v_port v = p -> X v = true -> Y v = true) ->
  sumif size X P <= sumif size Y (t_visits t).
Proof.
  intros Ho Hc H. apply sumif_inject with (R := eq).
  - apply (visits_at_nodup n t V).
  - apply sizes_nonneg.
  - intros v Hv Xv. apply filter_In in Hv. destruct Hv as [Hv Pv]. apply Nat.eqb_eq in Pv.
    apply in_app_iff in Hv. destruct Hv as [Hv|Hv].
    + exists v. repeat split; auto. lia.
    + specialize (Ho v Hv Pv). specialize (Hc v Xv). lia.
  - congruence.
Qed.

Lemma came_in_groups k u b (cs : Z -> bool) ks : s_since (t_span t) p <= u -> inside t b ->
  ks = lines (filter (fun e => e_class e <=? k) es) ->
  (forall v, In v (t_others t) -> v_port v = p -> k < class v) -> (forall z, cs z = true -> z <= k) ->
  sumif size (fun v => cs (class v) && (u <=? v_arrival v) && (v_arrival v <=? b)) P
  <= sumif (fun from => sumif size (win from (fun v => cs (class v)) u b) (t_visits t)) all ks.
Proof.
  intros Hf Hib -> Ho Hc.
  set (Y := fun v => Nat.eqb (v_port v) p && cs (class v) && (u <=? v_arrival v) && (v_arrival v <=? b)).
  etransitivity; [apply (came_of_flows k _ Y Ho)|].
  - intros v W. apply andb_true_iff in W. destruct W as [W _]. apply andb_true_iff in W. apply Hc. tauto.
  - intros v _ Pv W. unfold Y. rewrite Pv, Nat.eqb_refl. exact W.
  - etransitivity; [apply sumif_cover with (ks := lines (filter (fun e => e_class e <=? k) es))
      (f := fun from v => same_line from (entry_for v))|].
    + apply sizes_nonneg.
    + intros v Hv W. exists (e_from (entry_for v)). split; [|apply same_line_refl].
      unfold Y in W. rewrite !andb_true_iff, Nat.eqb_eq in W. destruct W as [[[Pv W] Wa] Wb].
      assert (Lv : live t v).
      { apply Z.leb_le in Wa, Wb. split; [rewrite Pv; lia|apply (inside_le t _ b); [lia|exact Hib]]. }
      apply lines_in. apply filter_In. split; [rewrite <- Pv; now apply entry_for_in|].
      rewrite class_entry by auto. apply Z.leb_le. now apply Hc.
    + apply sumif_le; [|intros; apply sumif_nonneg, sizes_nonneg]. intros from _ _. split; auto.
      apply sumif_le; [|apply sizes_nonneg]. intros v _ W. split; [|lia].
      unfold Y in W. unfold win. rewrite !andb_true_iff in *. tauto.
Qed.

(** What comes to the port from u on, of class k up to a and above it up to b, against the sum of lines. *)
Lemma groups_total h window k u a b d w :
  hint_ok h = true -> window_ok window = true -> u <= a <= b -> 0 <= d -> b <= a + units t d -> b <= y ->
  s_since (t_span t) p <= u -> inside t b -> a - u <= w ->
  (forall v, In v (t_visits t) -> v_port v = p -> leaving v = true -> class v <= k ->
     u <= v_arrival v <= b -> early u window v) ->
  (forall v, In v (t_others t) -> v_port v = p -> k < class v) ->
  let l := total h (groups n c h window p k d es) in
  h_whole h * h_whole h *
    (scale c * t_unit t * (sumif size (came k u a) P + sumif size (came_above k u b) P))
  <= t_unit t * fst l + snd l * w.
Proof.
  intros Hh Hw Hu Hd Hb Hy Hf Hi Wd He Ho. cbn zeta.
  set (ks := lines (filter (fun e => e_class e <=? k) es)).
  pose proof (came_in_groups k u a (fun z => z =? k) ks Hf ltac:(apply (inside_le t _ b); [lia|exact Hi]) eq_refl Ho
    ltac:(intros z; cbn; lia)) as C1.
  pose proof (came_in_groups k u b (fun z => z <? k) ks Hf Hi eq_refl Ho ltac:(intros z; cbn; lia)) as C2.
  assert (T : h_whole h * h_whole h * (scale c * t_unit t *
       (sumif (fun from => sumif size (same k u a from) (t_visits t)) all ks
      + sumif (fun from => sumif size (above k u b from) (t_visits t)) all ks))
    <= t_unit t * fst (total h (groups n c h window p k d es)) + snd (total h (groups n c h window p k d es)) * w).
  { unfold groups. fold ks. clear C1 C2. clearbody ks.
    induction ks as [|from r IH]; cbn [sumif map total fold_right all plus fst snd]; [lia|].
    pose proof (group_weighed h window k u a b d w Hh Hw Hu Hd Hb Hy Hf Hi Wd He from) as G.
    cbn zeta in G. unfold mine in G. unfold total in IH. lia. }
  unfold same, above, equal, over in T. unfold came, came_above. cbv beta in C1, C2.
  match goal with |- _ * (_ * (?a1 + ?a2)) <= _ => set (x1 := a1) in *; set (x2 := a2) in * end.
  match type of T with _ * (_ * (?a1 + ?a2)) <= _ => set (y1 := a1) in *; set (y2 := a2) in * end.
  unfold hint_ok in Hh. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in Hh.
  pose proof scale_pos as Sp. assert (0 < scale c * t_unit t) by nia. assert (0 < h_whole h * h_whole h) by nia.
  etransitivity; [|exact T]. apply Z.mul_le_mono_nonneg_l; [lia|]. apply Z.mul_le_mono_nonneg_l; lia.
Qed.

Lemma groups_bring h window k u a b d start room rate : window_ok window = true ->
  u <= a <= b -> 0 <= d -> b <= a + units t d -> b <= y -> s_since (t_span t) p <= u -> inside t b ->
  (forall v, In v (t_visits t) -> v_port v = p -> leaving v = true -> class v <= k ->
     u <= v_arrival v <= b -> early u window v) ->
  (forall v, In v (t_others t) -> v_port v = p -> k < class v) ->
  below h (groups n c h window p k d es) start room rate = true ->
  scale c * t_unit t * (sumif size (came k u a) P + sumif size (came_above k u b) P)
    + t_unit t * start <= t_unit t * room + rate * (a - u).
Proof.
  intros Hw Hu Hd Hb Hy Hf Hi He Ho B. unfold below in B. cbn zeta in B. rewrite !andb_true_iff, !Z.leb_le in B.
  destruct B as [[Hh Hs] Hr].
  pose proof (groups_total h window k u a b d (a - u) Hh Hw Hu Hd Hb Hy Hf Hi (Z.le_refl _) He Ho) as T.
  cbn zeta in T. unfold hint_ok in Hh. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in Hh.
  assert (0 < h_whole h * h_whole h) by nia. set (W := h_whole h * h_whole h) in *.
  set (f1 := fst (total _ _)) in *. set (f2 := snd (total _ _)) in *. set (z := scale c * t_unit t * _) in *.
  apply Z.mul_le_mono_pos_l with (p := W); [lia|].
  assert (t_unit t * (f1 + W * start) <= t_unit t * (W * room)) by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (f2 * (a - u) <= W * rate * (a - u)) by (apply Z.mul_le_mono_nonneg_r; lia).
  lia.
Qed.

(** For busy periods: what comes within w, against what the line sends meanwhile. *)
Lemma groups_after h window k u b start rate w : window_ok window = true ->
  u <= b -> b <= y -> s_since (t_span t) p <= u -> inside t b -> b - u <= units t w ->
  (forall v, In v (t_visits t) -> v_port v = p -> leaving v = true -> class v <= k ->
     u <= v_arrival v <= b -> early u window v) ->
  (forall v, In v (t_others t) -> v_port v = p -> k < class v) ->
  below_after w h (groups n c h window p k 0 es) start rate = true ->
  scale c * t_unit t * (sumif size (came k u b) P + sumif size (came_above k u b) P)
    + t_unit t * start <= rate * units t w.
Proof.
  intros Hw Hu Hy Hf Hi Hwd He Ho B. unfold below_after in B. cbn zeta in B. rewrite !andb_true_iff, Z.leb_le in B.
  destruct B as [Hh Hs].
  pose proof (groups_total h window k u b b 0 (units t w) Hh Hw ltac:(lia) (Z.le_refl 0) ltac:(unfold units; lia)
    Hy Hf Hi Hwd He Ho) as T.
  cbn zeta in T. unfold hint_ok in Hh. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in Hh.
  assert (0 < h_whole h * h_whole h) by nia. set (W := h_whole h * h_whole h) in *.
  set (f1 := fst (total _ _)) in *. set (f2 := snd (total _ _)) in *. set (z := scale c * t_unit t * _) in *.
  apply Z.mul_le_mono_pos_l with (p := W); [lia|].
  assert (t_unit t * (f1 + f2 * w + W * start) <= t_unit t * (W * (rate * w))) by (apply Z.mul_le_mono_nonneg_l; lia).
  unfold units in *. lia.
Qed.
End Port.
End Groups.
