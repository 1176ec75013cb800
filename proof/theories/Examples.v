(** Concrete traces that satisfy all hypotheses together, so that the theorem is about something:
    a circle of ports, and a network with all that the model has. A line of 10^12 bit/s sends a bit
    in a picosecond, so sizes are times. *)
From Coq Require Import ZArith List Bool Lia.
From Tenuto Require Import Sums Description Model Contract Check Accepts Ways Soundness Modes Raise Drain Spread.
Import ListNotations.
Open Scope Z_scope.

Definition fast : Z := ps_per_s.

(** A line without anything else. *)
Definition wire : port := Port fast fast 0 0 0 0 0 0.

(** A frame at a port of such lines: chosen when it starts, handed over when it ends. *)
Definition hop (f : frame) (x p : nat) (arrival start : Z) : visit :=
  Visit f x p arrival start start (start + f_size f) (start + f_size f) (start + f_size f).

(** The curves of the flows alone count. *)
Definition far : hint := Hint 1000000000 1 0 1.
(** The lines count. *)
Definition near : hint := Hint 0 1 0 1.

Definition nobody (_ : nat) : bool := false.

(** An instant at which to look. *)
Definition after_ (w : Z) : hint := Hint w 1 0 1.

(** From the start on. *)
Definition always_until (e : option Z) : span := Span (fun _ => -1) (fun _ => -1) e.

Ltac each_visit H := cbn in H; repeat destruct H as [<-|H]; try contradiction.

(** ** A circle: three switches, each sends to the next what also goes on from there *)
Module Circle.
Definition contract_ := Contract 1000 1000 1000000 100.
(* ports 0, 1, 2 of hosts; 3, 4, 5 around the circle; 6, 7, 8 to hosts *)
Definition around (h a b e : nat) : flow :=
  Flow 0 contract_ None [Place h None; Place a (Some 0%nat); Place b (Some 1%nat); Place e (Some 2%nat)] [3%nat].
Definition switch_port : port := Port fast fast 10 0 20 0 0 0.
Definition net : network :=
  Network (repeat wire 3 ++ repeat switch_port 6) [around 0 3 4 8; around 1 4 5 6; around 2 5 3 7] 200 672 12304.

(* every host releases a frame at 0; each waits once for another *)
Definition f (i : nat) : frame := Frame i i 0 0 1000 0 0 true.
Definition trace_ : trace := Trace 1 [f 0; f 1; f 2]
  [ hop (f 0) 0 0 0 0; hop (f 0) 1 3 1000 1000; hop (f 0) 2 4 2010 2020; hop (f 0) 3 8 3030 3030;
    hop (f 1) 0 1 0 0; hop (f 1) 1 4 1020 1020; hop (f 1) 2 5 2030 2030; hop (f 1) 3 6 3045 3045;
    hop (f 2) 0 2 0 0; hop (f 2) 1 5 1010 1010; hop (f 2) 2 3 2020 2020; hop (f 2) 3 7 3030 3030 ]
  [] nobody.

Definition rows_ : list row := [Row 0 2100 far].
Definition claims_ : claims := Claims 1000000 (repeat [Row 0 1001 far] 3 ++ repeat rows_ 6)
  (repeat [Some 10000] 3) (repeat (Some (Backlog 3200 far)) 9).

Lemma is_valid : valid net trace_.
Proof. apply checked_trace_is_valid. vm_compute. reflexivity. Qed.

Lemma is_accepted : accepts net claims_ = true.
Proof. vm_compute. reflexivity. Qed.

(** A picosecond less is refused: the jitter may bring a tenth of a bit more. *)
Lemma less_is_refused : accepts net (Claims 1000000 (repeat [Row 0 1000 far] 3 ++ repeat rows_ 6) [] []) = false.
Proof. vm_compute. reflexivity. Qed.

Lemma holds : all_hold net claims_ trace_.
Proof. apply accepted_claims_hold; [apply is_valid | apply is_accepted]. Qed.
End Circle.

(** ** Everything: a host that babbles behind a meter, other traffic, bits below the scheduler, a
    tick, latency that varies, two copies of a message, two classes *)
Module Everything.
Definition trusted : flow :=
  Flow 0 (Contract 2000 1000 1000000 50) (Some (Meter 160 3000000000 4000))
    [Place 0 None; Place 2 (Some 0%nat); Place 3 (Some 0%nat)] [1%nat; 2%nat].
Definition babbler : flow :=
  Flow 1 (Contract 672 672 1000000 0) (Some (Meter 160 1000000000 1024))
    [Place 1 None; Place 2 (Some 0%nat)] [1%nat].
Definition net : network := Network
  [ wire; wire; Port fast fast 5 0 30 2200 3 1500; Port fast fast 5 10 30 0 0 0 ]
  [trusted; babbler] 200 672 12304.

Definition a : frame := Frame 0 0 0 0 1000 0 20 true.
Definition b : frame := Frame 1 0 0 0 1000 0 20 true.
(* the babbler sends three frames at once: the meter takes two *)
Definition x : frame := Frame 2 1 1 0 672 0 0 true.
Definition y : frame := Frame 3 1 1 0 672 0 0 true.
Definition z : frame := Frame 4 1 1 0 672 0 0 false.
Definition other : visit :=
  Visit (Frame 9 7 9 0 1500 0 0 true) 0 2 600 600 600 2100 2101 0.

Definition trace_ : trace := Trace 1 [a; b; x; y; z]
  [ hop a 0 0 20 20; hop b 0 0 20 1020;
    hop x 0 1 0 0; hop y 0 1 0 672; hop z 0 1 0 1344;
    (* other traffic is on the line; x stands below the scheduler; a and b overtake y *)
    Visit x 1 2 702 702 2100 2772 2775 0;
    Visit a 1 2 1050 2100 2772 3772 3772 0;
    Visit b 1 2 2020 2772 3772 4772 4773 0;
    Visit y 1 2 1374 4000 4772 5444 5445 0;
    hop a 2 3 1030 1030; hop b 2 3 2050 2050 ]
  [other] (fun i => Nat.eqb i 1).

Definition claims_ : claims := Claims 1000000
  [ [Row 0 2001 far]; [Row 1 672 far]; [Row 0 9000 far; Row 1 12000 far]; [Row 0 6000 far] ]
  [ [Some 12000; Some 9000]; [] ] [ Some (Backlog 3100 far); None; Some (Backlog 17000 far); Some (Backlog 11000 far) ].

Lemma is_valid : valid net trace_.
Proof. apply checked_trace_is_valid. vm_compute. reflexivity. Qed.

Lemma is_accepted : accepts net claims_ = true.
Proof. vm_compute. reflexivity. Qed.

Lemma holds : all_hold net claims_ trace_.
Proof. apply accepted_claims_hold; [apply is_valid | apply is_accepted]. Qed.
End Everything.

(** ** Two modes: a host turns to its higher contract, a monitor raises, a signal crosses a trunk, two
    switches swap and purge, another flow ends *)
Module TwoModes.
(* flow 0 has a higher contract than that of LO: a message in 2000 for one in 10,000; flow 1 is of LO; signals at both trunks *)
Definition places_ : list place := [Place 0 None; Place 1 (Some 0%nat); Place 2 (Some 1%nat)].
Definition signals (p : nat) : flow := Flow 0 (Contract 100 100 1000000 0) None [Place p None] [].
Definition stays (m : option monitor) : flow := FlowIn 1 (Contract 1000 1000 2000 0) None m true places_ [2%nat].
Definition ends (a : bool) : flow := FlowIn 2 (Contract 500 500 10000 0) None None a places_ [2%nat].
Definition net (fs : list flow) : network := Network [wire; wire; wire; wire] (fs ++ [signals 1; signals 3]) 0 64 12304.
Definition low : network := net [stays (Some (Monitor 1000 9000 1000 0)); ends true].
Definition leaves_ : flow := FlowOfRaise 2 (Contract 500 500 10000 0) None None true true places_ [2%nat].
Definition rising : network := net [stays None; leaves_].
Definition high : network := net [stays None; ends false].
Lemma high_after : after rising = high.
Proof. reflexivity. Qed.

Definition f (k : Z) (release : Z) : frame := Frame (Z.to_nat k) 0 1 k 1000 release release true.
Definition g (k : Z) : frame := Frame (Z.to_nat (10 + k)) 1 2 k 500 (10000 * k) (10000 * k) true.
Definition signal : frame := Frame 20 2 0 0 100 3000 3000 true.
(* the second message is 7000 too early for LO: the monitor sees it at 3000 *)
Definition frames_ := [f 0 0; f 1 2000; f 2 12000; f 3 14000; f 4 26000; g 0; g 1; signal].
Definition way (h : frame) (a b c : Z) : list visit :=
  [hop h 0 0 (f_release h) a; hop h 1 1 (a + f_size h) b; hop h 2 2 (b + f_size h) c].
Definition kept_ : list visit := way (f 0 0) 0 1000 2000 ++ way (f 1 2000) 2000 3000 4000 ++
  way (f 2 12000) 12000 13000 14000 ++ way (f 3 14000) 14000 15000 16000 ++ way (f 4 26000) 26000 27000 28000 ++
  way (g 0) 1000 2000 3000 ++ [hop signal 0 1 3000 4000].

(* as it went on in HI: what the second message of flow 1 meets at the first switch is a drop *)
Definition raised (s : span) : trace := TraceIn 1 frames_ (hop (g 1) 0 0 10000 10000 :: kept_) [] nobody s.
(* the same up to 3000, continued as if LO had stayed in force *)
Definition in_low : trace :=
  TraceIn 1 frames_ (way (g 1) 10000 10500 11000 ++ kept_) [] nobody (until 3000).

Definition low_claims : claims := Claims 1000000
  [ [Row 1 1500 far; Row 2 3000 far]; [Row 0 1200 far; Row 1 2000 far; Row 2 3000 far]; [Row 1 2300 far; Row 2 3400 far];
    [Row 0 200 far] ]
  [ [Some 5800]; [Some 9400]; []; [] ] [ None; Some (Backlog 3000 far); Some (Backlog 3300 far); Some (Backlog 300 far) ].
Definition high_claims : claims := Claims 1000000
  [ [Row 1 1500 far; Row 2 3000 far]; [Row 0 1200 far; Row 1 2000 far]; [Row 1 3000 far]; [Row 0 200 far] ] [ [Some 6500]; [] ] [].

Lemma low_holds : all_hold low low_claims in_low.
Proof.
  apply accepted_claims_hold; [apply checked_trace_is_valid|]; vm_compute; reflexivity.
Qed.

Definition real : trace := raised always.
Definition raise_ : raise := Raise (fun p => match p with 1%nat => Some 0%nat | 2%nat => Some 1%nat | _ => None end)
  3000 0 (fun s => match s with 0%nat => 3000 | _ => 4136 end) (fun s => match s with 0%nat => 3021 | _ => 4157 end).
Lemma is_raise : raises high real raise_.
Proof.
  constructor.
  - intros v s Hv _. each_visit Hv; cbn; intros E; inversion E; subst; vm_compute; auto; intros X; now destruct X.
  - intros v s _ D. discriminate.
  - intros v Hv. each_visit Hv; cbn; intros E; try discriminate; reflexivity.
Qed.

(* where a switch turns, one frame is queued, and takes 1; a signal is there too, and is held back for the 20 of the swap
   and a step of 16 frames *)
Definition fabric_ : fabric := Fabric [None; Some 0%nat; Some 1%nat; Some 1%nat] [Some 0%nat; Some 1%nat; None; Some 0%nat] [20; 20] [1; 1].
Lemma signals_spread : spreads low real raise_ fabric_.
Proof.
  constructor.
  - intros [|[|[|p]]] s E; inversion E; reflexivity.
  - split; [cbn; lia|]. vm_compute. discriminate.
  - intros [|s]; vm_compute; discriminate.
  - intros p a b Ea Eb. destruct p as [|[|[|[|p]]]]; cbn in Ea, Eb; try discriminate; inversion Ea; inversion Eb; subst.
    + right. exists (hop signal 0 1 3000 4000), 4136. split; [cbn; tauto|]. repeat split; vm_compute; discriminate.
    + left. vm_compute. discriminate.
    + destruct p; discriminate.
  - intros [|[|s]] Hs; [| |cbn in Hs; lia].
    + exists 3000. repeat split; vm_compute; discriminate.
    + exists 4136. repeat split; vm_compute; discriminate.
Qed.

(* D_arrange 1136, D_update 20, D_q 86 at least: 86 frames of 64 bit; more is claimed *)
Definition dists : list (list Z) := [[0; 1136]; [236; 0]].
Lemma change_is_accepted : change_ok low low_claims fabric_ dists 1136 20 3964 5120 = true.
Proof. vm_compute. reflexivity. Qed.

(* The raise: until all have swapped flow 1 may bring what it brings in the window. *)
Definition rising_claims : claims := Claims 1000000
  [ [Row 1 1500 far; Row 2 3000 far]; [Row 0 1200 far; Row 1 2400 far; RowOfRaise 2 6000 (Some 9200) far];
    [Row 1 3600 far; RowOfRaise 2 9000 (Some 9200) far]; [Row 0 200 far] ]
  [ [Some 7600]; []; []; [] ] [None; Some (BacklogOfRaise 4000 (Some 9200) far); None; None].
Definition stretches : list (list stretch) :=
  [ []; [Stretch 4000 None (after_ 4000)]; [Stretch 4000 None (after_ 4000)]; [] ].
Definition busy_ : list stretch :=
  [ no_stretch; Stretch 6000 (Some 9200) (after_ 6000); Stretch 10000 (Some 9200) (after_ 10000); no_stretch ].
Definition from : list Z := [0; 5120; 17120; 0].
Definition switch_of : list (option nat) := [None; Some 0%nat; Some 1%nat; None].

Lemma low_is_followed : follows low (with_span real (always_until (Some 3000))).
Proof. apply checked_trace_follows. vm_compute. reflexivity. Qed.

Lemma rising_is_valid : valid rising (with_span real (always_until None)).
Proof. apply checked_trace_is_valid. vm_compute. reflexivity. Qed.

Lemma rising_is_accepted : raise_accepts low low_claims rising rising_claims 5120 stretches = true.
Proof. vm_compute. reflexivity. Qed.

Lemma starts_drained (p : nat) : -1 < r_trigger raise_.
Proof. reflexivity. Qed.

(** D_mc, and with it all rows of the raise. *)
Lemma swapped_in_time p s : r_switch raise_ p = Some s -> r_swapped raise_ s <= r_trigger raise_ + units real 5120.
Proof.
  apply (raise_in_time low low_claims rising rising_claims real raise_ fabric_ (fun _ => -1) (fun _ => -1) starts_drained
    low_is_followed signals_spread dists 1136 20 3964 5120 stretches change_is_accepted rising_is_accepted).
Qed.

Lemma rising_holds : all_hold rising rising_claims (with_span real (always_until None)).
Proof.
  apply (raise_holds low low_claims rising rising_claims real raise_ fabric_ _ _ None starts_drained low_is_followed
    rising_is_valid is_raise signals_spread dists 1136 20 3964 5120 stretches change_is_accepted rising_is_accepted).
Qed.

Definition in_high : trace := with_span real (drained_span real raise_ (busy_at busy_) (from_at 5120 from) None).

(** All hypotheses of the drain together, and then the rows of HI. *)
Lemma high_is_valid : valid high in_high.
Proof.
  rewrite <- high_after. apply (drain_holds low low_claims rising rising_claims real raise_ fabric_ (fun _ => -1) (fun _ => -1) None
    starts_drained low_is_followed rising_is_valid is_raise signals_spread dists 1136 20 3964 5120 stretches
    change_is_accepted rising_is_accepted busy_ from switch_of 27120).
  - intros [|[|[|[|p]]]]; try reflexivity. cbn. now destruct p.
  - vm_compute. reflexivity.
  - reflexivity.
Qed.

Lemma high_holds : all_hold high high_claims in_high.
Proof. apply accepted_claims_hold; [apply high_is_valid | vm_compute; reflexivity]. Qed.
End TwoModes.

(** ** A raise in which frames are dropped: one in its turn, while two wait that stay, and one at no cost *)
Module Dropping.
(* flows 0 and 4 leave, the first above the three others, the last below; port 1 is of a switch *)
Definition ending (p : nat) (k m period : Z) (leaves : bool) : flow :=
  FlowOfRaise k (Contract m m period 0) None None true leaves [Place p None; Place 1 (Some 0%nat)] [1%nat].
Definition staying (p : nat) : flow :=
  Flow 1 (Contract 1000 1000 100000 0) None [Place p None; Place 1 (Some 0%nat)] [1%nat].
Definition slowest (least : Z) (leaves : bool) : network := Network
  [wire; Port least fast 0 0 0 0 0 0; wire; wire; wire; wire]
  [ending 0 0 4000 4900 leaves; staying 2; staying 3; staying 4; ending 5 2 1000 100000 leaves] 0 64 12304.
Definition net : bool -> network := slowest fast.

Definition e (k : Z) : frame := Frame (Z.to_nat (10 + k)) 0 0 k 4000 (4900 * k) (4900 * k) true.
Definition s (i : nat) : frame := Frame i i 1 0 1000 3000 3000 true.
Definition low_ : frame := Frame 20 4 2 0 1000 3000 3000 true.
(* the second frame of flow 0 stands in front at the swap, and keeps the port for [long]; that of flow 4 goes while s 1 is sent *)
Definition stood (long : Z) : list visit :=
  [ Visit (e 1) 1 1 8900 9000 9000 (9000 + long) (9000 + long) (9000 + long); Visit low_ 1 1 4000 8970 8970 8970 8970 8970 ].
Definition dropped_ (long : Z) (v : visit) : bool := existsb (same v) (stood long).
Definition trace_ (long : Z) : trace := TraceOf 1 [e 0; e 1; s 1; s 2; s 3; low_]
  (stood long ++ [ hop (e 0) 0 0 0 0; hop (e 1) 0 0 4900 4900; hop (s 1) 0 2 3000 3000; hop (s 2) 0 3 3000 3000;
    hop (s 3) 0 4 3000 3000; hop low_ 0 5 3000 3000; hop (e 0) 1 1 4000 4000; hop (s 1) 1 1 4000 8000;
    hop (s 2) 1 1 4000 (9000 + long); hop (s 3) 1 1 4000 (10000 + long) ]) [] nobody (dropped_ long) always.
Definition raise_ : raise := Raise (fun p => match p with 1%nat => Some 0%nat | _ => None end) 8900 0
  (fun _ => 8900) (fun _ => 8950).

Lemma are_dropped long v : In v (stood long) -> dropped_ long v = true.
Proof. intros I. apply existsb_exists. exists v. split; [exact I|]. unfold same. destruct (visit_dec v v); congruence. Qed.

Ltac are_raises long := constructor;
  [ intros v x Hv D; change (dropped_ long v = false) in D; apply in_app_or in Hv; destruct Hv as [Hv|Hv];
    [ rewrite (are_dropped long v Hv) in D; discriminate
    | clear D; each_visit Hv; cbn; intros E; inversion E; subst; vm_compute; auto; intros X; now destruct X ]
  | intros v x _ D; change (dropped_ long v = true) in D; apply existsb_exists in D; destruct D as [w [Hw D]];
    apply same_eq in D; subst w; destruct Hw as [<-|[<-|[]]]; cbn; intros E; inversion E; reflexivity
  | intros v Hv; each_visit Hv; cbn; intros E; try discriminate; reflexivity ].

Lemma is_raise : raises (after (net true)) (trace_ 4000) raise_.
Proof. are_raises 4000. Qed.

Lemma before_is_followed : follows (net false) (with_span (trace_ 4000) (always_until (Some 8900))).
Proof. apply checked_trace_follows. vm_compute. reflexivity. Qed.

Lemma during_is_valid : valid (net true) (with_span (trace_ 4000) (always_until None)).
Proof. apply checked_trace_is_valid. vm_compute. reflexivity. Qed.

Definition hosts_ : list row := [Row 1 1000 far].
Definition claims_ (window : option Z) : claims := Claims 1000000
  [[Row 0 4000 far]; [RowOfRaise 0 8300 window near; RowOfRaise 1 90000 window far; RowOfRaise 2 100000 window far];
   hosts_; hosts_; hosts_; [Row 2 1000 far]] [] [].
Definition stretches : list (list stretch) := [ []; [Stretch 90000 None (after_ 90000)]; []; []; []; [] ].

Lemma is_accepted : raise_accepts (net false) (claims_ None) (net true) (claims_ (Some 90100)) 100 stretches = true.
Proof. vm_compute. reflexivity. Qed.

Lemma soon p x : r_switch raise_ p = Some x -> r_swapped raise_ x <= r_trigger raise_ + units (trace_ 4000) 100.
Proof. intros _. vm_compute. discriminate. Qed.

Lemma holds : all_hold (net true) (claims_ (Some 90100)) (with_span (trace_ 4000) (always_until None)).
Proof.
  apply (raise_claims_hold (net false) (claims_ None) (net true) (claims_ (Some 90100)) (trace_ 4000) raise_ 100
    (fun _ => -1) (fun _ => -1) None stretches before_is_followed during_is_valid is_raise soon is_accepted).
Qed.
End Dropping.

(** ** Signals: a switch sends them itself, above every class, on a trunk that a host's frames cross
    which may babble *)
Module Signals.
Definition signals : flow := Flow 0 (Contract 1632 816 1000000 0) None [Place 1 None] [].
Definition metered : flow :=
  Flow 1 (Contract 672 672 1000000 0) (Some (Meter 160 1000000000 1024)) [Place 0 None; Place 1 (Some 0%nat)] [1%nat].
Definition net : network := Network [wire; wire] [signals; metered] 0 672 12304.
Definition s (i : nat) : frame := Frame i 0 0 0 816 700 700 true.
Definition x (i : nat) : frame := Frame i 1 1 0 672 0 0 true.
Definition trace_ : trace := Trace 1 [s 0; s 1; x 2; x 3]
  [ hop (x 2) 0 0 0 0; hop (x 3) 0 0 0 672; hop (x 2) 1 1 672 672; hop (x 3) 1 1 1344 2976;
    hop (s 0) 0 1 700 1344; hop (s 1) 0 1 700 2160 ] [] (fun i => Nat.eqb i 1).
Definition claims_ : claims := Claims 1000000 [ [Row 1 672 far]; [Row 0 2980 far; Row 1 3100 far] ] [] [].

Lemma is_valid : valid net trace_.
Proof. apply checked_trace_is_valid. vm_compute. reflexivity. Qed.

Lemma holds : all_hold net claims_ trace_.
Proof. apply accepted_claims_hold; [apply is_valid | vm_compute; reflexivity]. Qed.

(** Both signals of the trace are within what D_arrange counts: 816 bit may be in the way, 1632 are signals. *)
Lemma in_time : forall v, In v (visits_at trace_ 1) -> class v = 0 -> v_handover v <= v_arrival v + 2448.
Proof.
  intros v Hv Cv. apply (signal_in_time net trace_ 0 1 816 1632 0 2448 v); auto.
  - reflexivity.
  - apply (ports _ _ is_valid). cbn. lia.
  - constructor.
    + intros x y _. rewrite Z.mul_0_l, Z.add_0_r. apply Z.mul_le_mono_nonneg_l; [discriminate|].
      transitivity (sumif f_size (fun f => Nat.eqb (f_flow f) 0) (t_frames trace_)); [|vm_compute; discriminate].
      apply sumif_le.
      * intros f _ R. unfold released_in in R. rewrite !andb_true_iff in R. split; [tauto|lia].
      * intros f Hf. cbn in Hf. repeat destruct Hf as [<-|Hf]; try contradiction; cbn; lia.
    + intros w Hw. vm_compute in Hw. repeat destruct Hw as [<-|Hw]; try contradiction; cbn;
        (split; [lia|]); intros; try discriminate; auto.
    + intros w Hw. vm_compute in Hw. repeat destruct Hw as [<-|Hw]; try contradiction; cbn; lia.
    + cbn. lia.
    + intros f Hf. cbn in Hf. repeat destruct Hf as [<-|Hf]; try contradiction; cbn; lia.
    + apply (visits_at_nodup net trace_ is_valid).
    + intros w w' Hw Hw'. vm_compute in Hw, Hw'. repeat destruct Hw as [<-|Hw]; try contradiction;
        repeat destruct Hw' as [<-|Hw']; try contradiction; cbn; intros _ _ E; try discriminate; reflexivity.
  - constructor; repeat split; vm_compute; first [reflexivity|discriminate].
Qed.
End Signals.
