(** The checker: which claims it accepts for a description. It computes in whole numbers only.

    Sizes are scaled by [scale]: 1/(q_scale * 10^12) bit, so that a rate per picosecond is whole;
    where it is not, it is rounded up for what comes and nothing is rounded for what a line sends. *)
From Coq Require Import ZArith List Bool.
From Tenuto Require Import Description.
Import ListNotations.
Open Scope Z_scope.

(** Where the sum of what comes is farthest above the line: an instant h_num/h_den, and how groups
    count whose two lines meet there. Not trusted: any numbers give a sound check. *)
Record hint := Hint { h_num : Z; h_den : Z; h_part : Z; h_whole : Z }.

(** The delay of a class at a port: from the place in the queue to the hand-over. In a raise: the window
    that begins with a busy period and has all arrivals of flows that leave. *)
Record row := RowOfRaise { r_class : Z; r_delay : Z; r_window : option Z; r_hint : hint }.
Definition Row (k d : Z) (h : hint) : row := RowOfRaise k d None h.

(** Bits in the buffer of a port. *)
Record backlog := BacklogOfRaise { b_bits : Z; b_window : option Z; b_hint : hint }.
Definition Backlog (bits : Z) (h : hint) : backlog := BacklogOfRaise bits None h.

Record claims := Claims {
  q_scale : Z;
  q_rows : list (list row);               (* by port *)
  q_targets : list (list (option Z));     (* by flow and target: from release to the last bit *)
  q_backlogs : list (option backlog)      (* by port *)
}.

Section Accepts.
Variables (n : network) (c : claims).

Definition scale : Z := q_scale c * ps_per_s.
Definition per_ps (bps : Z) : Z := q_scale c * bps.

(** a / b for b > 0, rounded up. *)
Definition up (a b : Z) : Z := - ((- a) / b).

Definition rows_at (p : nat) : list row := nth p (q_rows c) [].
Definition delay (p : nat) (k : Z) : Z :=
  match find (fun r => r_class r =? k) (rows_at p) with Some r => r_delay r | None => 0 end.

(** ** Ways: from the source's queue, or from the meter, to the queue of a place *)

Definition is_root (f : flow) (x : nat) : bool :=
  match parent (place_at f x) with None => true | Some _ => false end.

Fixpoint way_max (metered : bool) (f : flow) (fuel x : nat) : Z :=
  match fuel with
  | O => 0
  | S fuel =>
    match parent (place_at f x) with
    | None => 0
    | Some y =>
      (if metered && is_root f y then 0
       else let p := at_port (place_at f y) in
            way_max metered f fuel y + delay p (f_class f) + p_propagation (port_at n p))
      + p_latency_max (port_at n (at_port (place_at f x)))
    end
  end.

Fixpoint way_min (metered : bool) (f : flow) (fuel x : nat) : Z :=
  match fuel with
  | O => 0
  | S fuel =>
    match parent (place_at f x) with
    | None => 0
    | Some y =>
      (if metered && is_root f y then 0
       else let p := at_port (place_at f y) in
            way_min metered f fuel y + p_propagation (port_at n p))
      + p_latency_min (port_at n (at_port (place_at f x)))
    end
  end.

(** ** What comes to a port *)

(** A flow at a place: (e_burst, e_rate) bounds it, no frame is above e_frame. *)
Record entry := Entry {
  e_flow : nat;
  e_place : nat;
  e_port : nat;
  e_from : option nat;     (* the port of the place before: the line over which it comes *)
  e_class : Z;
  e_burst : Z;
  e_rate : Z;
  e_frame : Z
}.

Definition from_port (f : flow) (x : nat) : option nat :=
  match parent (place_at f x) with None => None | Some y => Some (at_port (place_at f y)) end.

(** By the contract. *)
Definition contract_rate (f : flow) : Z :=
  up (scale * c_message (f_contract f) * (1000000 + n_tolerance n))
     (c_period (f_contract f) * 1000000).

Definition by_contract (i : nat) (f : flow) (x : nat) : entry :=
  let r := contract_rate f in
  let spread := Z.max 0 (way_max false f (S x) x - way_min false f (S x) x) in
  Entry i x (at_port (place_at f x)) (from_port f x) (f_class f)
    (scale * c_message (f_contract f) + r * (c_jitter (f_contract f) + spread)) r
    (scale * c_frame (f_contract f)).

(** By what the meter passes: frames of the least size have the most bits per counted bit. *)
Definition by_meter (m : meter) (i : nat) (f : flow) (x : nat) : entry :=
  let least := n_frame_min n in
  let r := up (least * per_ps (m_rate m)) (least - m_uncounted m) in
  let b := up (least * (scale * m_burst m)) (least - m_uncounted m) in
  let spread := Z.max 0 (way_max true f (S x) x - way_min true f (S x) x) in
  Entry i x (at_port (place_at f x)) (from_port f x) (f_class f)
    (b + r * (stamp_step + spread)) r (Z.min b (scale * n_frame_max n)).

(** By what the monitor bears with. *)
Definition by_monitor (m : monitor) (i : nat) (f : flow) (x : nat) : entry :=
  let r := up (scale * w_message m) (w_period m) in
  let spread := Z.max 0 (way_max true f (S x) x - way_min true f (S x) x) in
  Entry i x (at_port (place_at f x)) (from_port f x) (f_class f)
    (scale * w_message m + r * (w_jitter m + w_spread m + stamp_step + spread)) r
    (scale * Z.min (w_message m) (n_frame_max n)).

Definition entry_at (i : nat) (f : flow) (x : nat) : entry :=
  if is_root f x then by_contract i f x
  else match f_monitor f, f_meter f with
       | Some m, _ => by_monitor m i f x
       | None, Some m => by_meter m i f x
       | None, None => by_contract i f x
       end.

(** A flow without a place in the mode is at its source's port only. *)
Definition entries_of (i : nat) (f : flow) : list entry :=
  map (entry_at i f) (filter (fun x => f_admitted f || is_root f x) (seq 0 (length (f_places f)))).

Definition entries : list entry :=
  flat_map (fun x => entries_of (fst x) (snd x)) (combine (seq 0 (length (n_flows n))) (n_flows n)).

Definition sum_of (w : entry -> Z) (es : list entry) : Z := fold_right (fun e s => w e + s) 0 es.
Definition max_of (w : entry -> Z) (es : list entry) : Z := fold_right (fun e s => Z.max (w e) s) 0 es.

Definition same_line (k : option nat) (e : entry) : bool :=
  match k, e_from e with
  | None, None => true
  | Some a, Some b => Nat.eqb a b
  | _, _ => false
  end.

(** ** The inequality *)

(** A straight line: a size at 0, and a rate per picosecond. *)
Definition line : Type := Z * Z.

(** A weighted mean of two lines, times h_whole. *)
Definition mean (h : hint) (a b : line) : line :=
  let va := fst a * h_den h + snd a * h_num h in
  let vb := fst b * h_den h + snd b * h_num h in
  let w := if va <? vb then h_whole h else if vb <? va then 0 else h_part h in
  (w * fst a + (h_whole h - w) * fst b, w * snd a + (h_whole h - w) * snd b).

(** The flow leaves, and the entry is behind its source's port. *)
Definition leaves (e : entry) : bool :=
  f_leaves (flow_at n (e_flow e)) && match e_from e with None => false | Some _ => true end.

Definition times (w : Z) (l : line) : line := (w * fst l, w * snd l).
Definition plus (a b : line) : line := (fst a + fst b, snd a + snd b).

(** What of a curve can come within the window, times h_whole: the line of [at_zero], or all of the
    window, whatever the time is. *)
Definition windowed (h : hint) (window : option Z) (at_zero : Z) (l : line) : line :=
  match window with
  | None => times (h_whole h) (at_zero, snd l)
  | Some w => mean h (fst l + snd l * w, 0) (at_zero, snd l)
  end.

(** Bursts and rates of entries. *)
Definition bucket_of (es : list entry) : line := (sum_of e_burst es, sum_of e_rate es).
Definition within_delay (d : Z) (l : line) : Z := fst l + snd l * d.
Definition shorter (window : option Z) (d : Z) : Z := match window with None => d | Some w => Z.min d w end.

(** What comes over one line of class k in t, and of the classes above it in t + d: by the flows,
    times h_whole, and by the line. Of flows that leave no more than within the window. *)
Definition group (h : hint) (window : option Z) (p : nat) (k d : Z) (from : option nat) (es : list entry)
    : line * option line :=
  let same := filter (fun e => e_class e =? k) es in
  let above := filter (fun e => e_class e <? k) es in
  let stay l := bucket_of (filter (fun e => negb (leaves e)) l) in
  let leave l := bucket_of (filter leaves l) in
  let with_delay l := (within_delay d l, snd l) in
  let waiting := within_delay d (stay above) + within_delay (shorter window d) (leave above) in
  (plus (times (h_whole h) (plus (stay same) (with_delay (stay above))))
        (plus (windowed h window (fst (leave same)) (leave same))
              (windowed h window (within_delay d (leave above)) (leave above))),
   match from with
   | None => None
   | Some g =>
     let rate := per_ps (p_rate_max (port_at n g)) in
     let j := p_latency_max (port_at n p) - p_latency_min (port_at n p) in
     Some (max_of e_frame es + scale * p_below (port_at n g)
             + rate * (p_tick (port_at n g) + j) + Z.min waiting (rate * d), rate)
   end).

(** The least of both, weighed: times h_whole twice. *)
Definition weighed (h : hint) (g : line * option line) : line :=
  match snd g with
  | None => times (h_whole h) (fst g)
  | Some l => mean h (fst g) (times (h_whole h) l)
  end.

Definition lines (es : list entry) : list (option nat) :=
  nodup (fun a b : option nat => ltac:(decide equality; apply Nat.eq_dec)) (map e_from es).

(** The groups of a port that bring anything of class k or above. *)
Definition groups (h : hint) (window : option Z) (p : nat) (k d : Z) (es : list entry)
    : list (line * option line) :=
  let es := filter (fun e => e_class e <=? k) es in
  map (fun from => group h window p k d from (filter (same_line from) es)) (lines es).

Definition hint_ok (h : hint) : bool := (0 <=? h_part h) && (h_part h <=? h_whole h) && (0 <? h_whole h).

Definition total (h : hint) (gs : list (line * option line)) : line :=
  fold_right (fun g s => plus (weighed h g) s) (0, 0) gs.

(** Whether the groups stay below what the line sends from [start] on: never above
    [room] + rate * t. *)
Definition below (h : hint) (gs : list (line * option line)) (start room rate : Z) : bool :=
  let whole := h_whole h * h_whole h in
  hint_ok h && (fst (total h gs) + whole * start <=? whole * room) && (snd (total h gs) <=? whole * rate).

(** Whether they are below it after [w]. *)
Definition below_after (w : Z) (h : hint) (gs : list (line * option line)) (start rate : Z) : bool :=
  let whole := h_whole h * h_whole h in
  hint_ok h && (fst (total h gs) + snd (total h gs) * w + whole * start <=? whole * (rate * w)).

(** The largest that can be in the way of class k: other traffic, what stands below the scheduler,
    a frame of a lower class. *)
Definition blocking (p : nat) (k : Z) (es : list entry) : Z :=
  Z.max (scale * Z.max (p_below (port_at n p)) (p_other (port_at n p)))
        (max_of e_frame (filter (fun e => k <? e_class e) es)).

Definition window_ok (window : option Z) : bool := match window with None => true | Some w => 0 <=? w end.

Definition row_ok (p : nat) (es : list entry) (r : row) : bool :=
  let d := r_delay r - p_tick (port_at n p) in
  let rate := per_ps (p_rate_min (port_at n p)) in
  (0 <=? d) && window_ok (r_window r) &&
  below (r_hint r) (groups (r_hint r) (r_window r) p (r_class r) d es) (blocking p (r_class r) es) (rate * d) rate.

(** In bits. *)
Definition in_the_way (p : nat) (k : Z) (es : list entry) : Z := blocking p k es / scale.

(** A busy period of the classes up to k is over after w, where s bits and no more may be in the way. *)
Definition busy_ok (p : nat) (es : list entry) (k s w : Z) (window : option Z) (h : hint) : bool :=
  (0 <=? w) && window_ok window && (in_the_way p k es <=? s) &&
  below_after w h (groups h window p k 0 es) (scale * s) (per_ps (p_rate_min (port_at n p))).

Definition at_place (p : nat) (e : entry) : bool := Nat.eqb (e_port e) p.

(** A host's port is used by what the host releases only. What a switch releases itself (signals of
    modes) has no meter: a switch does not babble. *)
Definition of_host (es : list entry) : bool :=
  forallb (fun e => match e_from e with None => true | _ => false end) es.
Definition of_switch (es : list entry) : bool :=
  forallb (fun e => match e_from e, f_meter (flow_at n (e_flow e)) with
                    | None, Some _ => false | _, _ => true end) es.
Definition one_side (es : list entry) : bool := of_host es || of_switch es.

Definition port_ok (all : list entry) (p : nat) : bool :=
  let es := filter (at_place p) all in
  one_side es &&
  forallb (fun e => existsb (fun r => r_class r =? e_class e) (rows_at p)) es &&
  forallb (row_ok p es) (rows_at p).

(** ** Rows of targets and buffers *)

Definition target_ok (f : flow) (x : nat) (claim : Z) : bool :=
  let p := at_port (place_at f x) in
  (x <? length (f_places f))%nat && f_admitted f && negb (f_leaves f) &&
  (way_max false f (S x) x + delay p (f_class f) + p_propagation (port_at n p) <=? claim).

Definition targets_ok (f : flow) (cs : list (option Z)) : bool :=
  forallb (fun x => match snd x with Some claim => target_ok f (fst x) claim | None => true end)
          (combine (f_targets f) cs).

Definition backlog_ok (all : list entry) (p : nat) (b : backlog) : bool :=
  let es := filter (at_place p) all in
  let k := max_of e_class es in
  let in_front := if p_other (port_at n p) =? 0 then 0 else blocking p k es in
  (0 <=? b_bits b) && window_ok (b_window b) &&
  below (b_hint b) (groups (b_hint b) (b_window b) p k 0 es) (in_front + max_of e_frame es) (scale * b_bits b)
        (per_ps (p_rate_min (port_at n p))).

Definition backlogs_ok (all : list entry) : bool :=
  forallb (fun x => match snd x with Some b => backlog_ok all (fst x) b | None => true end)
          (combine (seq 0 (length (n_ports n))) (q_backlogs c)).

(** ** The description *)

Definition port_wf (p : port) : bool :=
  (0 <? p_rate_min p) && (p_rate_min p <=? p_rate_max p) && (0 <=? p_propagation p) &&
  (0 <=? p_latency_min p) && (p_latency_min p <=? p_latency_max p) && (0 <=? p_below p) &&
  (0 <=? p_tick p) && (0 <=? p_other p).

(** The first place is the source's port, every other is behind an earlier one. *)
Definition place_wf (f : flow) (x : nat) : bool :=
  (at_port (place_at f x) <? length (n_ports n))%nat &&
  match parent (place_at f x) with None => (x =? 0)%nat | Some y => (y <? x)%nat end.

Fixpoint distinct (l : list nat) : bool :=
  match l with [] => true | x :: r => negb (existsb (Nat.eqb x) r) && distinct r end.

Definition meter_wf (m : meter) : bool :=
  (0 <=? m_uncounted m) && (m_uncounted m <? n_frame_min n) && (0 <=? m_rate m) && (0 <=? m_burst m).

Definition monitor_wf (m : monitor) : bool :=
  (0 <=? w_message m) && (0 <? w_period m) && (0 <=? w_jitter m) && (0 <=? w_spread m).

Definition flow_wf (f : flow) : bool :=
  (0 <=? c_message (f_contract f)) && (0 <=? c_frame (f_contract f)) &&
  (0 <? c_period (f_contract f)) && (0 <=? c_jitter (f_contract f)) && (0 <=? f_class f) &&
  forallb (place_wf f) (seq 0 (length (f_places f))) && distinct (map at_port (f_places f)) &&
  match f_meter f with None => true | Some m => meter_wf m end &&
  match f_monitor f with None => true | Some m => monitor_wf m end.

Definition wf : bool :=
  forallb port_wf (n_ports n) && forallb flow_wf (n_flows n) && (0 <=? n_tolerance n) &&
  (0 <? n_frame_min n) && (n_frame_min n <=? n_frame_max n) && (0 <? q_scale c).

(** ** All together *)

Definition delays_ok : bool :=
  wf && let all := entries in forallb (port_ok all) (seq 0 (length (n_ports n))).

Definition rows_ok : bool :=
  delays_ok &&
  forallb (fun x => targets_ok (fst x) (snd x)) (combine (n_flows n) (q_targets c)) &&
  (let all := entries in backlogs_ok all).

(** No raise is described: nothing leaves. *)
Definition steady : bool := forallb (fun f => negb (f_leaves f)) (n_flows n).

Definition accepts : bool := steady && rows_ok.
End Accepts.

(** ** A raise *)

(** The mode that a raise goes to, when all has settled: what left is gone. *)
Definition settled (f : flow) : flow :=
  FlowIn (f_class f) (f_contract f) (f_meter f) (f_monitor f) (f_admitted f && negb (f_leaves f))
    (f_places f) (f_targets f).
Definition after (n : network) : network :=
  Network (n_ports n) (map settled (n_flows n)) (n_tolerance n) (n_frame_min n) (n_frame_max n).

(** How long a busy period takes at most, with the instant at which to look. *)
Record stretch := Stretch { y_longest : Z; y_window : option Z; y_hint : hint }.
Definition no_stretch : stretch := Stretch (-1) None (Hint 0 1 0 1).

Section Raise.
Variables (before : network) (cb : claims) (during : network) (cd : claims).
Variable (mc : Z).               (* from the trigger until every switch has swapped *)

(** A window is long enough: a busy period of the mode before, and the change. *)
Definition window_holds (p : nat) (eb ed : list entry) (k : Z) (ys : list stretch) (window : option Z) : bool :=
  match window with
  | None => true
  | Some th => of_switch before eb && (in_the_way before cb p k eb <=? in_the_way during cd p k ed) &&
    existsb (fun y =>
      busy_ok before cb p eb k (in_the_way before cb p k eb) (y_longest y) None (y_hint y) &&
      (y_longest y + mc <=? th)) ys
  end.

(** Of all classes. *)
Definition buffer_window_holds (p : nat) (eb ed : list entry) (ys : list stretch) (window : option Z) : bool :=
  (max_of e_class eb <=? max_of e_class ed) && (p_other (port_at before p) =? p_other (port_at during p)) &&
  window_holds p eb ed (max_of e_class ed) ys window.

(** [ys]: by port, busy periods of the mode before, as many as it takes. *)
Definition windows_ok (ys : list (list stretch)) : bool :=
  let allb := entries before cb in
  let alld := entries during cd in
  (0 <? mc) && forallb (fun p =>
    let eb := filter (at_place p) allb in
    let ed := filter (at_place p) alld in
    forallb (fun r => window_holds p eb ed (r_class r) (nth p ys []) (r_window r)) (rows_at cd p) &&
    match nth p (q_backlogs cd) None with
    | None => true
    | Some b => buffer_window_holds p eb ed (nth p ys []) (b_window b)
    end) (seq 0 (length (n_ports during))).

Definition raise_accepts (ys : list (list stretch)) : bool :=
  accepts before cb && rows_ok during cd && windows_ok ys.

(** The drain: [zs], how long any flow's frames may stand at a port in the raise; [from], when what
    comes to a port is of the mode; [switch_of], the switches of the ports. *)
Definition from_at (from : list Z) (p : nat) : Z := Z.max mc (nth p from 0).
Definition busy_at (zs : list stretch) (p : nat) : Z := Z.max 0 (y_longest (nth p zs no_stretch)).

Definition stretch_ok (p : nat) (eb ed : list entry) (ys : list stretch) (z : stretch) : bool :=
  let k := max_of e_class ed in
  of_switch during ed && (p_other (port_at during p) =? 0) &&
  busy_ok during cd p ed k (in_the_way during cd p k ed) (y_longest z) (y_window z) (y_hint z) &&
  buffer_window_holds p eb ed ys (y_window z).

Definition feeding_ok (switch_of : list (option nat)) (zs : list stretch) (from : list Z) (f : flow) (x : nat) : bool :=
  match parent (place_at f x) with
  | None => true
  | Some y =>
    let q := at_port (place_at f y) in
    let p := at_port (place_at f x) in
    match nth q switch_of None with
    | None => true
    | Some _ => from_at from q + busy_at zs q + delay cd q (f_class f) + p_propagation (port_at during q)
                + p_latency_max (port_at during p) <=? from_at from p
    end
  end.

Definition drain_ok (switch_of : list (option nat)) (ys : list (list stretch)) (zs : list stretch) (from : list Z)
    (claim : Z) : bool :=
  let allb := entries before cb in
  let alld := entries during cd in
  forallb (fun p => match nth p switch_of None with
    | None => true
    | Some _ =>
      stretch_ok p (filter (at_place p) allb) (filter (at_place p) alld) (nth p ys []) (nth p zs no_stretch) &&
      (from_at from p + busy_at zs p <=? claim)
    end) (seq 0 (length (n_ports during))) &&
  forallb (fun f => forallb (feeding_ok switch_of zs from f) (seq 0 (length (f_places f)))) (n_flows during).
End Raise.
