(** How soon a raise is everywhere: D_mc. The checker, and that it is right.

    [n] is the mode before. D_arrange is the way of a signal over trunks, held back at each by a swap and a step of a purge;
    D_update the longest swap;
    D_q the time to purge what was queued in the mode before, and what lines have brought since. *)
From Coq Require Import ZArith List Bool Lia PeanoNat.
From Tenuto Require Import Sums Intervals Description Model Busy Line Contract Accepts Ways Arrivals Groups Delay Backlog
  Short Soundness Modes Raise Drain.
Import ListNotations.
Open Scope Z_scope.

(** ** The checker *)

Record trunk := Trunk { t_from : nat; t_to : nat; t_delay : Z }.

Definition distance (dist : list Z) (s : nat) : Z := nth s dist 0.

(** Distances from a starter: each by a trunk from a switch that is nearer. *)
Definition arranged (ts : list trunk) (own : Z) (starter : nat) (dist : list Z) : bool :=
  (own <=? distance dist starter) &&
  forallb (fun s => (0 <=? distance dist s) && (Nat.eqb s starter ||
      existsb (fun k => Nat.eqb (t_to k) s && (t_from k <? length dist)%nat && (0 <? t_delay k) &&
                 (distance dist (t_from k) + t_delay k <=? distance dist s)) ts))
    (seq 0 (length dist)).

Section Checker.
Variables (n : network) (c : claims) (k : fabric).

(** The largest frame at a place, whatever the mode is, in bits; and at a port. *)
Definition flow_frame (f : flow) (x : nat) : Z :=
  match parent (place_at f x), f_meter f with
  | Some _, Some m => Z.min (up (n_frame_min n * m_burst m) (n_frame_min n - m_uncounted m)) (n_frame_max n)
  | _, _ => c_frame (f_contract f)
  end.

Definition max_list (l : list Z) : Z := fold_right Z.max 0 l.
Definition sum_list (l : list Z) : Z := fold_right Z.add 0 l.

Definition places_at (p : nat) (f : flow) : list nat :=
  filter (fun x => Nat.eqb (at_port (place_at f x)) p) (seq 0 (length (f_places f))).
Definition largest (p : nat) : Z := max_list (flat_map (fun f => map (flow_frame f) (places_at p f)) (n_flows n)).

(** The flow of the signals at a port: alone in class 0, and alone in beginning there. *)
Definition is_signal (p : nat) (f : flow) : bool :=
  (f_class f =? 0) && (c_jitter (f_contract f) =? 0) &&
  match f_meter f, f_places f with
  | None, [l] => Nat.eqb (at_port l) p && match parent l with None => true | Some _ => false end
  | _, _ => false
  end.
Definition signal_of (p : nat) : option nat :=
  find (fun i => is_signal p (flow_at n i)) (seq 0 (length (n_flows n))).
Definition is_own (p i : nat) : bool := match signal_of p with Some j => Nat.eqb i j | None => false end.

(** What may be in front of signals: no frame but theirs, which come first in first out. *)
Definition in_front (p : nat) : Z := Z.max (Z.max (p_below (port_at n p)) (p_other (port_at n p)))
  (max_list (flat_map (fun i => if is_own p i then [] else map (flow_frame (flow_at n i)) (places_at p (flow_at n i)))
    (seq 0 (length (n_flows n))))).

Definition own_only (p : nat) : bool :=
  forallb (fun i => is_own p i || forallb (fun x => negb (is_root (flow_at n i) x)) (places_at p (flow_at n i)))
    (seq 0 (length (n_flows n))).
Definition signal_rate (f : flow) : Z :=
  up (ps_per_s * c_message (f_contract f) * (1000000 + n_tolerance n)) (c_period (f_contract f) * 1000000).
Definition trunk_ok (p : nat) : bool :=
  match signal_of p with
  | None => false
  | Some i =>
    (signal_rate (flow_at n i) <=? p_rate_min (port_at n p)) &&
    forallb (fun j => is_own p j || negb (f_class (flow_at n j) =? 0) ||
                      match places_at p (flow_at n j) with [] => true | _ => false end)
      (seq 0 (length (n_flows n)))
  end.

Definition signal_bits (p : nat) : Z :=
  match signal_of p with Some i => c_message (f_contract (flow_at n i)) | None => 0 end.
Definition sending (p : nat) : Z := up ((in_front p + signal_bits p) * ps_per_s) (p_rate_min (port_at n p)).
Definition trunk_at (p : nat) : list trunk :=
  match nth p (k_of k) None, nth p (k_behind k) None with
  | Some a, Some b => [Trunk a b (sending p + p_tick (port_at n p) + p_propagation (port_at n p) + eta_of k a + latency_of n k b)]
  | _, _ => []
  end.
Definition trunks : list trunk := flat_map trunk_at (seq 0 (length (n_ports n))).

Definition arrange_ok (dists : list (list Z)) (arrange : Z) : bool :=
  forallb (fun p => match nth p (k_of k) None, nth p (k_behind k) None with
    | Some _, Some _ => own_only p && trunk_ok p | _, _ => true end) (seq 0 (length (n_ports n))) &&
  forallb (fun s => let d := nth s dists [] in
    Nat.eqb (length d) (length (k_swap k)) && arranged trunks (latency_of n k s) s d &&
    forallb (fun x => x <=? arrange) d) (seq 0 (length (k_swap k))).

(** What comes to a port in so long, in bits: over each line. *)
Definition feeders (p : nat) : list nat :=
  nodup Nat.eq_dec (flat_map (fun f => flat_map (fun x => match from_port f x with Some q => [q] | None => [] end)
    (places_at p f)) (n_flows n)).
Definition line_bits (p : nat) (span : Z) (g : nat) : Z :=
  largest p + up (p_rate_max (port_at n g) *
    (span + p_tick (port_at n g) + (p_latency_max (port_at n p) - p_latency_min (port_at n p)))) ps_per_s.
Definition comes (p : nat) (span : Z) : Z := sum_list (map (line_bits p span) (feeders p)).

(** By other flows than the signals. *)
Definition used (p : nat) : bool :=
  existsb (fun i => negb (is_own p i) && match places_at p (flow_at n i) with [] => false | _ => true end)
    (seq 0 (length (n_flows n))).
Definition stands (p : nat) (span : Z) : Z :=
  if used p then match nth p (q_backlogs c) None with Some b => b_bits b + comes p span | None => 0 end else 0.
Definition queue_ok (span queues : Z) (s : nat) : bool :=
  let ps := ports_of n k s in
  (nth s (k_purge k) 0 =? 0) && (0 <=? queues) ||
  (0 <? nth s (k_purge k) 0) &&
  forallb (fun p => own_only p && of_switch n (filter (at_place p) (entries n c)) &&
    (negb (used p) || match nth p (q_backlogs c) None with Some _ => true | None => false end)) ps &&
  (nth s (k_purge k) 0 * (sum_list (map (fun p => stands p span) ps) / n_frame_min n) <=? queues).

(** The terms of D_mc. *)
Definition change_ok (dists : list (list Z)) (arrange update queues mc : Z) : bool :=
  (0 <=? arrange) && arrange_ok dists arrange &&
  forallb (fun p => match nth p (k_of k) None with Some s => (s <? length (k_swap k))%nat | None => true end)
    (seq 0 (length (k_of k))) &&
  forallb (fun s => (0 <=? nth s (k_swap k) 0) && (nth s (k_swap k) 0 <=? update) && queue_ok (arrange + update) queues s)
    (seq 0 (length (k_swap k))) &&
  (arrange + update + queues <=? mc).
End Checker.

(** ** Why it is right *)

Lemma max_list_in l x : In x l -> x <= max_list l.
Proof. induction l as [|y l IH]; cbn; [tauto|]. intros [->|H]; [lia|]. specialize (IH H). unfold max_list in IH. lia. Qed.

Lemma max_list_nonneg l : 0 <= max_list l.
Proof. induction l; cbn; unfold max_list in *; lia. Qed.

Section Spread.
Variables (n : network) (c : claims) (k : fabric) (t : trace) (r : raise).
Hypothesis good : wf n c = true.
Hypothesis V : follows n t.
Hypothesis S : spreads n t r k.
Let unit_pos : 0 < t_unit t := unit_positive _ _ V.

Lemma at_places p f x : In x (places_at p f) <-> (x < length (f_places f))%nat /\ at_port (place_at f x) = p.
Proof. unfold places_at. rewrite filter_In, in_seq, Nat.eqb_eq. intuition lia. Qed.

Lemma visit_at_places v : In v (t_visits t) -> In (v_place v) (places_at (v_port v) (flow_at n (flow_of v))).
Proof.
  intros Hv. apply at_places. split; [apply (visit_place _ _ (ways_hold _ _ V) v Hv)|].
  symmetry. apply (port_is n t V v Hv).
Qed.

Lemma signal_spec p i : signal_of n p = Some i -> (i < length (n_flows n))%nat /\ is_signal p (flow_at n i) = true.
Proof. intros E. apply find_some in E. destruct E as [I E]. apply in_seq in I. split; [lia|exact E]. Qed.

Lemma signal_facts p i : signal_of n p = Some i -> let f := flow_at n i in
  f_class f = 0 /\ c_jitter (f_contract f) = 0 /\ f_meter f = None /\
  forall x, parent_of n i x = None.
Proof.
  intros E. destruct (signal_spec p i E) as [_ G]. unfold is_signal in G. cbn zeta.
  rewrite !andb_true_iff, !Z.eqb_eq in G. destruct G as [[Cl J] G]. destruct (f_meter (flow_at n i)); [discriminate|].
  destruct (f_places (flow_at n i)) as [|l [|]] eqn:Ep; try discriminate. apply andb_true_iff in G. destruct G as [_ G].
  repeat split; auto. intros x. unfold parent_of, place_at. rewrite Ep. destruct x as [|[|x]]; cbn; [|reflexivity..].
  destruct (parent l); [discriminate|reflexivity].
Qed.

(** A frame at a port where only signals begin. *)
Lemma root_is_signal v : own_only n (v_port v) = true -> In v (t_visits t) -> parent_of n (flow_of v) (v_place v) = None ->
  signal_of n (v_port v) = Some (flow_of v).
Proof.
  intros O Hv Pv. unfold own_only in O. rewrite forallb_forall in O.
  specialize (O (flow_of v) ltac:(apply in_seq; pose proof (frame_lt n t V v Hv); lia)). apply orb_true_iff in O.
  destruct O as [O|O].
  - unfold is_own in O. destruct (signal_of n (v_port v)); [|discriminate]. apply Nat.eqb_eq in O. now subst.
  - rewrite forallb_forall in O. specialize (O _ (visit_at_places v Hv)). unfold is_root in O. unfold parent_of in Pv.
    now rewrite Pv in O.
Qed.

Lemma frame_fits v : own_only n (v_port v) = true -> In v (t_visits t) ->
  size v <= flow_frame n (flow_at n (flow_of v)) (v_place v).
Proof.
  intros O Hv. pose proof (frame_lt n t V v Hv) as Hi. unfold flow_frame. pose proof (size_bounds n t V v Hv) as Sz.
  assert (Con : t_babbling t (flow_of v) = false -> size v <= c_frame (f_contract (flow_at n (flow_of v)))).
  { intros B. apply (frame_size _ _ _ (contracts _ _ V _ Hi B)); auto. now apply (visit_frame _ _ (ways_hold _ _ V)). }
  assert (Unmetered : f_meter (flow_at n (flow_of v)) = None -> size v <= c_frame (f_contract (flow_at n (flow_of v)))).
  { intros M. apply Con. destruct (t_babbling t (flow_of v)) eqn:B; [|reflexivity]. now destruct (babbling _ _ V _ Hi B). }
  destruct (parent (place_at (flow_at n (flow_of v)) (v_place v))) as [y|] eqn:Ep.
  - destruct (f_meter (flow_at n (flow_of v))) as [m|] eqn:Em; [|now apply Unmetered].
    apply Z.min_glb; [|lia]. pose proof (contract_facts n c good _ Hi) as F. cbn zeta in F. rewrite Em in F.
    destruct F as [_ [_ [_ [_ [Mw _]]]]]. unfold meter_wf in Mw. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in Mw.
    destruct (passed_size n c t good V v m Hv Em) as [Le _]; [unfold parent_of; congruence|].
    pose proof (up_spec (n_frame_min n * m_burst m) (n_frame_min n - m_uncounted m) ltac:(lia)). nia.
  - pose proof (root_is_signal v O Hv Ep) as E. destruct (signal_facts _ _ E) as [_ [_ [M _]]]. now apply Unmetered.
Qed.

Lemma frame_small v : own_only n (v_port v) = true -> In v (t_visits t) -> size v <= largest n (v_port v).
Proof.
  intros O Hv. etransitivity; [now apply frame_fits|]. apply max_list_in. apply in_flat_map. exists (flow_at n (flow_of v)).
  split; [apply nth_In; apply (frame_lt n t V v Hv)|]. apply in_map. now apply visit_at_places.
Qed.

Lemma one_visit v w : In v (t_visits t) -> In w (t_visits t) -> v_frame v = v_frame w -> v_port v = v_port w -> v = w.
Proof.
  intros Hv Hw Ef Ep. apply (same_visit n t V); auto.
  pose proof (visit_place _ _ (ways_hold _ _ V) v Hv) as [L1 P1].
  pose proof (visit_place _ _ (ways_hold _ _ V) w Hw) as [L2 P2].
  assert (Fl : flow_of w = flow_of v) by (unfold flow_of; now rewrite Ef).
  unfold key. rewrite Ef. f_equal. rewrite Fl in *.
  apply (ports_distinct n c good (flow_of v)); auto; [apply (frame_lt n t V v Hv)|congruence].
Qed.

(** *** Signals on trunks *)

Lemma signal_bucket p i x y w : signal_of n p = Some i -> 0 <= w -> y - x <= w ->
  full t * sumif f_size (released_in i x y) (t_frames t)
    <= full t * c_message (f_contract (flow_at n i)) + signal_rate n (flow_at n i) * w.
Proof.
  intros E Hw Le. destruct (signal_facts p i E) as [_ [J [M _]]]. destruct (signal_spec p i E) as [Hi _].
  assert (B : t_babbling t i = false) by (destruct (t_babbling t i) eqn:B; [now destruct (babbling _ _ V _ Hi B)|reflexivity]).
  pose proof (contract_facts n c good i Hi) as F. cbn zeta in F. destruct F as [F1 [_ [F3 _]]].
  pose proof (wf_parts n c good) as [_ [_ [Tol [Fm _]]]]. assert (0 <= ps_per_s) by (unfold ps_per_s; lia).
  assert (R : 0 <= signal_rate n (flow_at n i)) by (apply up_nonneg; [lia|apply Z.mul_nonneg_nonneg; nia]).
  pose proof (contract_brings n t i unit_pos (fun f Hf => ltac:(pose proof (frame_bounds _ _ (frames_real _ _ V) f Hf); lia))
    Tol ps_per_s (signal_rate n (flow_at n i)) x y w (contracts _ _ V i Hi B) F1 F3 ltac:(lia) H R Hw Le) as G.
  rewrite J in G. unfold units in G. rewrite Z.mul_0_l, Z.add_0_r in G.
  assert (Rt : ps_per_s * c_message (f_contract (flow_at n i)) * (1000000 + n_tolerance n) <=
    signal_rate n (flow_at n i) * (c_period (f_contract (flow_at n i)) * 1000000)) by (apply up_spec; lia).
  specialize (G Rt). unfold full. lia.
Qed.

Lemma trunk_signals p i : own_only n p = true -> trunk_ok n p = true -> signal_of n p = Some i -> (p < length (n_ports n))%nat ->
  signals_at n t i p (in_front n p) (c_message (f_contract (flow_at n i))) (signal_rate n (flow_at n i)).
Proof.
  intros Ow Ok E Hp. destruct (signal_spec p i E) as [Hi _]. destruct (signal_facts p i E) as [Ci [_ [_ Ro]]].
  unfold trunk_ok in Ok. rewrite E in Ok. apply andb_true_iff in Ok. destruct Ok as [_ Ok]. rewrite forallb_forall in Ok.
  pose proof (wf_parts n c good) as [_ [Fl [_ [Fm _]]]].
  assert (At : forall w, In w (visits_at t p) -> v_port w = p /\ (In w (t_visits t) \/ In w (t_others t))).
  { intros w Hw. apply filter_In in Hw. destruct Hw as [Hw Pw]. apply Nat.eqb_eq in Pw. now apply in_app_iff in Hw. }
  constructor.
  - intros x y Le. apply (signal_bucket p i x y (y - x) E); lia.
  - intros w Hw. destruct (At w Hw) as [Pw [Hv|Ho]].
    + pose proof (frame_lt n t V w Hv) as Hj. rewrite (class_of n t V w Hv). pose proof (Fl _ Hj) as W.
      unfold flow_wf in W. rewrite !andb_true_iff, !Z.leb_le in W. split; [lia|]. intros C0.
      specialize (Ok (flow_of w) ltac:(apply in_seq; lia)). rewrite !orb_true_iff, negb_true_iff, Z.eqb_neq in Ok.
      pose proof (visit_at_places w Hv) as Pl. rewrite Pw in Pl.
      destruct Ok as [[Ok|Ok]|Ok]; [|lia|destruct (places_at p _); [destruct Pl|discriminate]].
      unfold is_own in Ok. rewrite E in Ok. apply Nat.eqb_eq in Ok. split; [exact Ok|].
      split; [now apply (visit_frame _ _ (ways_hold _ _ V))|].
      destruct (visit_from _ _ (ways_hold _ _ V) w Hv) as [[_ A]|[u [_ [_ [Pu _]]]]]; [exact A|].
      rewrite Ok, Ro in Pu. discriminate.
    + pose proof (others_below _ _ _ (ports _ _ V p Hp) w Ho Pw) as [_ L]. specialize (L i Hi). lia.
  - intros w Hw. split; [now apply (sizes_at n c t good V p)|]. intros Cw. unfold in_front. destruct (At w Hw) as [Pw [Hv|Ho]].
    + assert (G : size w <= max_list (flat_map (fun j => if is_own n p j then []
        else map (flow_frame n (flow_at n j)) (places_at p (flow_at n j))) (seq 0 (length (n_flows n))))); [|lia].
      etransitivity; [apply (frame_fits w ltac:(now rewrite Pw) Hv)|]. apply max_list_in. apply in_flat_map. exists (flow_of w).
      split; [apply in_seq; pose proof (frame_lt n t V w Hv); lia|]. unfold is_own. rewrite E.
      destruct (Nat.eqb_spec (flow_of w) i) as [Eq|_]; [rewrite (class_of n t V w Hv), Eq in Cw; lia|].
      apply in_map. rewrite <- Pw. now apply visit_at_places.
    + pose proof (others_below _ _ _ (ports _ _ V p Hp) w Ho Pw). lia.
  - pose proof (max_list_nonneg (flat_map (fun j => if is_own n p j then []
        else map (flow_frame n (flow_at n j)) (places_at p (flow_at n j))) (seq 0 (length (n_flows n))))). unfold in_front. lia.
  - intros f Hf. pose proof (frame_bounds _ _ (frames_real _ _ V) f Hf). lia.
  - apply (visits_at_nodup n t V).
  - intros w w' Hw Hw' C C' Ef. destruct (At w Hw) as [Pw [Hv|Ho]];
      [|pose proof (others_below _ _ _ (ports _ _ V p Hp) w Ho Pw) as [_ L]; specialize (L i Hi); lia].
    destruct (At w' Hw') as [Pw' [Hv'|Ho]];
      [|pose proof (others_below _ _ _ (ports _ _ V p Hp) w' Ho Pw') as [_ L]; specialize (L i Hi); lia].
    apply (one_visit w w'); auto. congruence.
Qed.

(** *** D_arrange *)

Lemma hears p a b : In p (seq 0 (length (n_ports n))) -> nth p (k_of k) None = Some a -> nth p (k_behind k) None = Some b ->
  own_only n p && trunk_ok n p = true -> forall tr, In tr (trunk_at n k p) -> 0 < t_delay tr ->
  t_from tr = a /\ t_to tr = b /\ r_knows r b <= r_knows r a + units t (t_delay tr).
Proof.
  intros Hp Ea Eb Ok tr Htr Pos. apply in_seq in Hp. unfold trunk_at in Htr. rewrite Ea, Eb in Htr.
  destruct Htr as [<-|[]]. cbn [t_from t_to t_delay] in *. split; [reflexivity|]. split; [reflexivity|].
  apply andb_true_iff in Ok. destruct Ok as [Ow Ok].
  destruct (heard _ _ _ _ S p a b Ea Eb) as [Le|[v [left [Hv [Pv [Cv [Hb Kv]]]]]]]; [unfold units; nia|].
  destruct (signal_of n p) as [i|] eqn:E; [|unfold trunk_ok in Ok; rewrite E in Ok; discriminate].
  pose proof (trunk_signals p i Ow Ok E ltac:(lia)) as Sg. destruct (signal_spec p i E) as [Hi _].
  pose proof (port_facts n c good p ltac:(lia)) as Fp. pose proof (contract_facts n c good i Hi) as F. cbn zeta in F.
  assert (Ro : room_for_signals n p (in_front n p) (c_message (f_contract (flow_at n i))) (signal_rate n (flow_at n i))
    (sending n p)).
  { pose proof (max_list_nonneg (flat_map (fun j => if is_own n p j then []
      else map (flow_frame n (flow_at n j)) (places_at p (flow_at n j))) (seq 0 (length (n_flows n))))) as Ln.
    pose proof (wf_parts n c good) as [_ [_ [Tol _]]]. assert (0 < ps_per_s) by (unfold ps_per_s; lia).
    unfold trunk_ok in Ok. rewrite E in Ok. apply andb_true_iff in Ok. destruct Ok as [Ok _]. apply Z.leb_le in Ok.
    assert (0 <= in_front n p) by (unfold in_front; lia).
    unfold sending, signal_bits. rewrite E. constructor; [split; [|lia]| |].
    - split; [|exact Ok]. apply up_nonneg; [lia|apply Z.mul_nonneg_nonneg; nia].
    - apply up_nonneg; [lia|]. nia.
    - rewrite (Z.mul_comm (p_rate_min _)). apply up_spec. lia. }
  exact (trunk_in_time n t i p _ _ _ _ (eta_of k a) (latency_of n k b) v (r_knows r a) left (r_knows r b) unit_pos
    (ports _ _ V p ltac:(lia)) Sg Ro ltac:(rewrite <- Pv; now apply at_port_in) Cv Hb Kv).
Qed.

Lemma all_know own starter dist : arranged (trunks n k) own starter dist = true ->
  r_starter r = starter -> r_knows r starter <= r_trigger r + units t own ->
  (forall p, In p (seq 0 (length (n_ports n))) -> forall a b, nth p (k_of k) None = Some a -> nth p (k_behind k) None = Some b ->
     own_only n p && trunk_ok n p = true) ->
  forall s, (s < length dist)%nat -> r_knows r s <= r_trigger r + units t (distance dist s).
Proof.
  intros A <- St Ok. unfold arranged in A. apply andb_true_iff in A. destruct A as [A0 A].
  apply Z.leb_le in A0. rewrite forallb_forall in A.
  enough (B : forall d s, (s < length dist)%nat -> (Z.to_nat (distance dist s) <= d)%nat ->
            r_knows r s <= r_trigger r + units t (distance dist s)) by (intros s Hs; now apply (B _ s Hs (Nat.le_refl _))).
  induction d as [|d IH]; intros s Hs Hd; specialize (A s ltac:(apply in_seq; lia)) as As;
    apply andb_true_iff in As; destruct As as [As0 As]; apply Z.leb_le in As0; apply orb_true_iff in As;
    destruct As as [As|As]; try (apply Nat.eqb_eq in As; subst s; unfold units in *; nia);
    apply existsb_exists in As; destruct As as [tr [Htr As]];
    rewrite !andb_true_iff, Nat.eqb_eq, Nat.ltb_lt, Z.ltb_lt, Z.leb_le in As; destruct As as [[[Ks Kl] Kd] Ka];
    pose proof (A (t_from tr) ltac:(apply in_seq; lia)) as Af; apply andb_true_iff in Af;
    destruct Af as [Af _]; apply Z.leb_le in Af; [lia|].
  unfold trunks in Htr. apply in_flat_map in Htr. destruct Htr as [p [Hp Htr]].
  pose proof Htr as Htr'. unfold trunk_at in Htr'. destruct (nth p (k_of k) None) as [a|] eqn:Ea; [|destruct Htr'].
  destruct (nth p (k_behind k) None) as [b|] eqn:Eb; [|destruct Htr']. clear Htr'.
  destruct (hears p a b Hp Ea Eb (Ok p Hp a b Ea Eb) tr Htr Kd) as [Fa [Fb Le]].
  rewrite Ks in Fb. subst b. rewrite <- Fa in Le. specialize (IH (t_from tr) Kl ltac:(lia)).
  unfold units in *. nia.
Qed.
(** *** D_q *)

(** What comes to a port from x to y. *)
Definition came_at (p : nat) (x y : Z) (v : visit) : bool :=
  Nat.eqb (v_port v) p && (x <=? v_arrival v) && (v_arrival v <=? y).

Lemma came_at_spec p x y v : came_at p x y v = true <-> v_port v = p /\ x <= v_arrival v <= y.
Proof. unfold came_at. rewrite !andb_true_iff, Nat.eqb_eq, !Z.leb_le. tauto. Qed.

Definition over (g : option nat) (v : visit) : bool :=
  match g, from_port (flow_at n (flow_of v)) (v_place v) with
  | None, None => true | Some a, Some b => Nat.eqb a b | _, _ => false end.

Let full_pos : 0 < full t.
Proof. unfold full, ps_per_s. lia. Qed.

(** Bits in a time, from a rate. *)
Lemma in_bits z b rate d : full t * z <= full t * b + rate * units t d -> z <= b + up (rate * d) ps_per_s.
Proof.
  intros H. pose proof (up_spec (rate * d) ps_per_s ltac:(unfold ps_per_s; lia)) as U.
  set (u := up _ _) in *. apply Z.mul_le_mono_pos_l with (p := full t); [exact full_pos|].
  assert (rate * units t d <= full t * u); [|lia]. unfold units, full in *. nia.
Qed.

Lemma line_brings_bits p g x y span : own_only n p = true -> (p < length (n_ports n))%nat -> 0 <= span -> x <= y ->
  y - x <= units t span -> sumif size (fun v => came_at p x y v && over (Some g) v) (t_visits t) <= line_bits n p span g.
Proof.
  intros Ow Hp Hs Hxy Le. pose proof (port_good n c good g) as Fg. pose proof (port_facts n c good p Hp) as Fp.
  assert (Ln : 0 <= largest n p) by apply max_list_nonneg.
  set (W := fun v => came_at p x y v && over (Some g) v).
  assert (Up : forall v, In v (t_visits t) -> W v = true -> exists u, In u (t_visits t) /\ from_switch n t v u /\
    v_port u = g /\ v_port v = p /\ x <= v_arrival v <= y).
  { intros v Hv Wv. apply andb_true_iff in Wv. destruct Wv as [Wv O]. apply came_at_spec in Wv. destruct Wv as [Pv Av].
    unfold over, from_port in O. destruct (visit_from _ _ (ways_hold _ _ V) v Hv) as [[Pn _]|[u [Hu Fs]]].
    - unfold parent_of in Pn. rewrite Pn in O. discriminate.
    - exists u. split; [exact Hu|]. split; [exact Fs|]. split; [|now split]. destruct Fs as [Ef [Pu _]].
      unfold parent_of in Pu. rewrite Pu in O. apply Nat.eqb_eq in O.
      rewrite (port_is n t V u Hu). unfold flow_of at 1. rewrite Ef. symmetry. exact O. }
  unfold line_bits. apply in_bits.
  set (J := p_tick (port_at n g) + (p_latency_max (port_at n p) - p_latency_min (port_at n p))).
  destruct (Z_le_gt_dec (sumif size W (t_visits t)) 0) as [Z0|Gt].
  { assert (0 <= p_rate_max (port_at n g) * units t (span + p_tick (port_at n g) +
      (p_latency_max (port_at n p) - p_latency_min (port_at n p)))) by (apply Z.mul_nonneg_nonneg; unfold units; nia).
    fold W. nia. }
  assert (Hg : (g < length (n_ports n))%nat).
  { apply Z.gt_lt, sumif_positive in Gt. destruct Gt as [v [Hv Wv]].
    destruct (Up v Hv Wv) as [u [Hu [_ [<- _]]]]. apply (port_lt n c t good V u Hu). }
  set (lo := x - units t (p_propagation (port_at n g) + p_latency_max (port_at n p) + p_tick (port_at n g))).
  set (hi := y - units t (p_propagation (port_at n g) + p_latency_min (port_at n p))).
  assert (Hlh : lo <= hi) by (subst lo hi; unfold units; nia).
  pose proof (line_brings n t g (ports _ _ V g Hg) (visits_at_nodup n t V g)
    (fun v => sizes_at n c t good V g v Hg) unit_pos ltac:(lia) (largest n p) lo hi Ln Hlh) as L.
  assert (A : sumif size W (t_visits t) <=
    sumif size (fun v => negb (t_dropped t v) && (size v <=? largest n p) && (lo <=? v_end v) && (v_end v <=? hi)) (visits_at t g)).
  { apply sumif_inject with (R := fun v u => from_switch n t v u); [apply (visits_nodup n t V)| | |].
    - intros v Hv. pose proof (sizes_at n c t good V g v Hg Hv). lia.
    - intros v Hv Wv. destruct (Up v Hv Wv) as [u [Hu [Fs [Pu [Pv Av]]]]]. exists u.
      pose proof Fs as [Ef [_ Fb]]. cbn zeta in Fb. pose proof (port_order n c t good V u Hu) as O. rewrite Pu in O, Fb.
      rewrite Pv in Fb. pose proof (frame_small v ltac:(now rewrite Pv) Hv) as Sm. rewrite Pv in Sm.
      replace (size u) with (size v) by (unfold size; now rewrite Ef).
      split; [rewrite <- Pu; now apply at_port_in|]. split; [exact Fs|]. split; [|lia].
      rewrite (went_on _ _ (ways_hold _ _ V) v u Hv Hu Fs), !andb_true_iff, !Z.leb_le. subst lo hi. unfold units in *. repeat split; lia.
    - intros v w u Hv Hw Wv Ww [E1 _] [E2 _]. destruct (Up v Hv Wv) as [_ [_ [_ [_ [Pv _]]]]].
      destruct (Up w Hw Ww) as [_ [_ [_ [_ [Pw _]]]]]. apply one_visit; auto; congruence. }
  assert (hi - lo <= units t (span + p_tick (port_at n g) + (p_latency_max (port_at n p) - p_latency_min (port_at n p))))
    by (subst lo hi; unfold units in *; lia).
  set (z := sumif size W _) in *. set (z' := sumif size _ (visits_at t g)) in *. nia.
Qed.

(** What is no signal. *)
Definition no_signal (v : visit) : bool := negb (class v =? 0).

Lemma no_signal_from v : In v (t_visits t) -> own_only n (v_port v) = true -> no_signal v = true ->
  is_own n (v_port v) (flow_of v) = false /\ exists g, from_port (flow_at n (flow_of v)) (v_place v) = Some g.
Proof.
  intros Hv Ow Ns. unfold no_signal in Ns. rewrite negb_true_iff, Z.eqb_neq, (class_of n t V v Hv) in Ns.
  assert (No : signal_of n (v_port v) <> Some (flow_of v)).
  { intros E. destruct (signal_facts _ _ E) as [C0 _]. contradiction. }
  split.
  - unfold is_own. destruct (signal_of n (v_port v)) as [j|]; [|reflexivity]. apply Nat.eqb_neq. congruence.
  - unfold from_port. destruct (parent (place_at (flow_at n (flow_of v)) (v_place v))) eqn:E; [eauto|].
    destruct No. apply root_is_signal; auto.
Qed.

Lemma port_brings p x y span : own_only n p = true -> (p < length (n_ports n))%nat -> 0 <= span -> x <= y ->
  y - x <= units t span -> sumif size (fun v => no_signal v && came_at p x y v) (t_visits t) <= comes n p span.
Proof.
  intros Ow Hp Hs Hxy Le. pose proof (wf_parts n c good) as [_ [_ [_ [Fm _]]]].
  etransitivity; [apply sumif_cover with (ks := map Some (feeders n p)) (f := over)|].
  - intros v Hv. pose proof (size_bounds n t V v Hv). lia.
  - intros v Hv W. apply andb_true_iff in W. destruct W as [Ns W]. apply came_at_spec in W. destruct W as [Pv _].
    destruct (no_signal_from v Hv ltac:(now rewrite Pv) Ns) as [_ [g E]].
    exists (Some g). split; [|unfold over; rewrite E; apply Nat.eqb_refl]. apply in_map. apply nodup_In.
    apply in_flat_map. exists (flow_at n (flow_of v)). split; [apply nth_In; apply (frame_lt n t V v Hv)|].
    apply in_flat_map. exists (v_place v). split; [rewrite <- Pv; now apply visit_at_places|]. rewrite E. now left.
  - unfold comes. induction (feeders n p) as [|g l IH]; cbn [map sumif sum_list fold_right]; [unfold sum_list; cbn; lia|].
    unfold all at 1. pose proof (line_brings_bits p g x y span Ow Hp Hs Hxy Le).
    assert (sumif size (fun v => no_signal v && came_at p x y v && over (Some g) v) (t_visits t)
      <= sumif size (fun v => came_at p x y v && over (Some g) v) (t_visits t)).
    { apply sumif_le; intros v Hv; [|pose proof (size_bounds n t V v Hv); lia].
      intros W. rewrite !andb_true_iff in *. split; [tauto|lia]. }
    unfold sum_list in *. cbn [fold_right] in *. lia.
Qed.

Hypothesis accepted : accepts n c = true.
Hypothesis ends : s_until (t_span t) = Some (r_trigger r).
Hypothesis drained : forall p, s_done (t_span t) p < r_trigger r.

(** What a switch has queued when it turns. *)
Lemma port_stands p y span : own_only n p = true -> (p < length (n_ports n))%nat ->
  of_switch n (filter (at_place p) (entries n c)) = true ->
  negb (used n p) || match nth p (q_backlogs c) None with Some _ => true | None => false end = true ->
  0 <= span -> r_trigger r <= y <= r_trigger r + units t span ->
  sumif size (fun v => no_signal v && in_buffer p y v) (t_visits t) <= stands n c p span.
Proof.
  intros Ow Hp Sw Cl Hs Hy. pose proof (wf_parts n c good) as [_ [_ [_ [Fm _]]]]. unfold stands.
  destruct (used n p) eqn:U.
  2: { rewrite sumif_empty; [lia|]. intros v Hv W. unfold in_buffer in W. rewrite !andb_true_iff, Nat.eqb_eq in W.
       destruct W as [Ns [[Pv _] _]]. assert (used n p = true); [|congruence]. apply existsb_exists.
       exists (flow_of v). split; [apply in_seq; pose proof (frame_lt n t V v Hv); lia|].
       destruct (no_signal_from v Hv ltac:(now rewrite Pv) Ns) as [Io _]. rewrite Pv in Io. rewrite Io.
       pose proof (visit_at_places v Hv) as I. rewrite Pv in I. now destruct (places_at p _). }
  destruct (nth p (q_backlogs c) None) as [b|] eqn:B; [|discriminate].
  unfold accepts in accepted. apply andb_true_iff in accepted. destruct accepted as [St Rows].
  assert (E : nth_error (q_backlogs c) p = Some (Some b)).
  { rewrite (nth_error_nth' _ None), B; [reflexivity|]. destruct (Nat.lt_ge_cases p (length (q_backlogs c))) as [|G]; [assumption|].
    rewrite nth_overflow in B by exact G. discriminate. }
  pose proof (backlog_accepted n c p b Rows Hp E) as Ok.
  assert (Dok : delays_ok n c = true) by (unfold rows_ok in Rows; rewrite !andb_true_iff in Rows; tauto).
  pose proof (port_backlogs n c t V (steady_windows n c t V St) Dok p b Hp Ok
    (switch_claimed n c t p V Sw)
    (fun y _ _ lo u _ _ _ v Hv _ L => ltac:(rewrite (none_leaves n c t V St v Hv) in L; discriminate))) as Bu.
  specialize (Bu (r_trigger r - 1) ltac:(specialize (drained p); lia)).
  assert (In1 : inside t (r_trigger r - 1)) by (unfold inside, before_end; rewrite ends; apply Z.ltb_lt; lia).
  specialize (Bu In1). pose proof (port_brings p (r_trigger r) y span Ow Hp Hs ltac:(lia) ltac:(lia)) as C.
  etransitivity; [apply sumif_or with (Q := in_buffer p (r_trigger r - 1))
    (R := fun v => no_signal v && came_at p (r_trigger r) y v)|lia].
  - intros v Hv. pose proof (size_bounds n t V v Hv). lia.
  - intros v Hv W. unfold in_buffer, came_at in *. rewrite !andb_true_iff, !Z.leb_le, !Z.ltb_lt in *.
    destruct (Z_le_gt_dec (r_trigger r) (v_arrival v)); [right; tauto|left]. destruct W as [_ [[W1 W2] W3]]. repeat split; auto; lia.
Qed.

Lemma switch_queued s y span : (forall p, In p (ports_of n k s) -> own_only n p = true /\
    of_switch n (filter (at_place p) (entries n c)) = true /\
    negb (used n p) || match nth p (q_backlogs c) None with Some _ => true | None => false end = true) ->
  0 <= span -> r_trigger r <= y <= r_trigger r + units t span ->
  sumif (fun _ => 1) (queued k s y) (t_visits t) <= sum_list (map (fun p => stands n c p span) (ports_of n k s)) / n_frame_min n.
Proof.
  intros Ps Hs Hy. pose proof (wf_parts n c good) as [_ [_ [_ [Fm _]]]]. apply Z.div_le_lower_bound; [lia|].
  rewrite <- sumif_scale. transitivity (sumif size (queued k s y) (t_visits t)).
  { apply sumif_le; intros v Hv; [intros Q; split; [exact Q|]|]; pose proof (size_bounds n t V v Hv); lia. }
  etransitivity; [apply sumif_cover with (ks := ports_of n k s) (f := fun p v => Nat.eqb (v_port v) p)|].
  - intros v Hv. pose proof (size_bounds n t V v Hv). lia.
  - intros v Hv Q. exists (v_port v). split; [|apply Nat.eqb_refl]. apply filter_In. unfold queued in Q.
    rewrite !andb_true_iff in Q. split; [apply in_seq; pose proof (port_lt n c t good V v Hv); lia|tauto].
  - assert (Sub : forall p, In p (ports_of n k s) -> (p < length (n_ports n))%nat)
      by (intros p Hp; apply filter_In in Hp; destruct Hp as [Hp _]; apply in_seq in Hp; lia).
    revert Ps Sub. induction (ports_of n k s) as [|p l IH]; intros Ps Sub; cbn [map sumif sum_list fold_right]; [lia|].
    unfold all at 1. specialize (IH (fun q Hq => Ps q (or_intror Hq)) (fun q Hq => Sub q (or_intror Hq))).
    destruct (Ps p (or_introl eq_refl)) as [Ow [Sw Cl]].
    pose proof (port_stands p y span Ow (Sub p (or_introl eq_refl)) Sw Cl Hs Hy) as St.
    assert (sumif size (fun v => queued k s y v && Nat.eqb (v_port v) p) (t_visits t) <= sumif size (fun v => no_signal v && in_buffer p y v) (t_visits t));
      [|unfold sum_list in *; lia].
    apply sumif_le; intros v Hv; [|pose proof (size_bounds n t V v Hv); lia].
    intros Q. split; [|lia]. unfold queued, in_buffer, no_signal in *. rewrite !andb_true_iff in *. tauto.
Qed.

(** *** D_mc *)

Theorem change_in_time dists arrange update queues mc : change_ok n c k dists arrange update queues mc = true ->
  forall p s, r_switch r p = Some s -> r_swapped r s <= r_trigger r + units t mc.
Proof.
  intros Ok p s Es. unfold change_ok in Ok. rewrite !andb_true_iff, !Z.leb_le in Ok.
  destruct Ok as [[[[Ha Ar] Co] Sw] Mc]. rewrite !forallb_forall in Co, Sw.
  apply (raised_switch _ _ _ _ S) in Es. assert (Hs : (s < length (k_swap k))%nat).
  { destruct (Nat.lt_ge_cases p (length (k_of k))) as [L|G]; [|rewrite nth_overflow in Es by exact G; discriminate].
    specialize (Co p ltac:(apply in_seq; lia)). rewrite Es in Co. now apply Nat.ltb_lt. }
  clear Co Es. assert (Kn : r_knows r s <= r_trigger r + units t arrange).
  { unfold arrange_ok in Ar. apply andb_true_iff in Ar. destruct Ar as [Tr Ar]. rewrite forallb_forall in Tr, Ar.
    destruct (starts _ _ _ _ S) as [Hst St]. specialize (Ar (r_starter r) ltac:(apply in_seq; lia)). cbn zeta in Ar.
    set (d := nth (r_starter r) dists []) in *. rewrite !andb_true_iff, Nat.eqb_eq, forallb_forall in Ar.
    destruct Ar as [[Len Ar] Mx]. pose proof (all_know _ _ d Ar eq_refl St) as K. etransitivity; [apply K|].
    - intros q Hq a b Ea Eb. specialize (Tr q Hq). now rewrite Ea, Eb in Tr.
    - lia.
    - specialize (Mx (distance d s) ltac:(apply nth_In; lia)). apply Z.leb_le in Mx. unfold units. nia. }
  specialize (Sw s ltac:(apply in_seq; lia)). rewrite !andb_true_iff, !Z.leb_le in Sw. destruct Sw as [[S0 Su] Q].
  destruct (swaps _ _ _ _ S s Hs) as [y [Hy Le]]. pose proof (no_sooner _ _ _ _ S s) as Ns.
  set (swap := nth s (k_swap k) 0) in *. set (purge := nth s (k_purge k) 0) in *.
  assert (Pq : purge * sumif (fun _ => 1) (queued k s y) (t_visits t) <= queues).
  { unfold queue_ok in Q. fold purge in Q. rewrite orb_true_iff, !andb_true_iff, Z.eqb_eq, Z.ltb_lt, !Z.leb_le, forallb_forall in Q.
    destruct Q as [[P0 Q]|[[P0 Ps] Q]]; [rewrite P0; lia|]. etransitivity; [|exact Q].
    apply Z.mul_le_mono_nonneg_l; [lia|]. apply switch_queued; [| lia | unfold units in *; nia].
    intros q Hq. specialize (Ps q Hq). rewrite !andb_true_iff in Ps. tauto. }
  unfold units in *. nia.
Qed.
End Spread.

(** ** All rows of a raise, with a D_mc that is proved *)

Section Whole.
Variables (before : network) (cb : claims) (during : network) (cd : claims) (t : trace) (r : raise) (k : fabric).
Variables (since done : nat -> Z) (e : option Z).
Hypothesis drained : forall p, done p < r_trigger r.
Hypothesis Vb : follows before (with_span t (Span since done (Some (r_trigger r)))).
Hypothesis Vd : valid during (with_span t (Span since done e)).
Hypothesis R : raises (after during) t r.
Hypothesis S : spreads before t r k.
Variables (dists : list (list Z)) (arrange update queues mc : Z) (ys : list (list stretch)).
Hypothesis accepted_change : change_ok before cb k dists arrange update queues mc = true.
Hypothesis accepted : raise_accepts before cb during cd mc ys = true.

Lemma raise_in_time p s : r_switch r p = Some s -> r_swapped r s <= r_trigger r + units t mc.
Proof.
  set (tb := with_span t (Span since done (Some (r_trigger r)))).
  assert (Ab : accepts before cb = true) by (unfold raise_accepts in accepted; rewrite !andb_true_iff in accepted; tauto).
  assert (W : wf before cb = true).
  { unfold accepts, rows_ok, delays_ok in Ab. rewrite !andb_true_iff in Ab. tauto. }
  assert (Sb : spreads before tb r k) by (destruct S; constructor; assumption).
  apply (change_in_time before cb k tb r W Vb Sb Ab eq_refl drained dists arrange update queues mc accepted_change).
Qed.

Theorem raise_holds : all_hold during cd (with_span t (Span since done e)).
Proof. exact (raise_claims_hold before cb during cd t r mc since done e ys Vb Vd R raise_in_time accepted). Qed.

(** And from the drain on the trace is one of the mode raised to. *)
Theorem drain_holds zs from switch_of claim : (forall p, r_switch r p = nth p switch_of None) ->
  drain_ok before cb during cd mc switch_of ys zs from claim = true ->
  let t' := with_span t (drained_span t r (busy_at zs) (from_at mc from) e) in
  inside t' (r_trigger r + units t claim) -> valid (after during) t'.
Proof.
  intros Sw D. apply (raise_drained before cb during cd t r mc since done e (fun p => Z.lt_le_incl _ _ (drained p))
    Vb Vd R raise_in_time ys zs from switch_of claim Sw accepted D).
Qed.
End Whole.
