(* The description and the claims as a Coq file, in which Coq itself runs `accepts`. Whoever reads the
   file need trust neither extraction nor OCaml: what it says is what is proved. *)
open Proved_kernel
module Z = Zint

(* A comment names what a line is about; nothing in a name can end it. *)
let comment name =
  let plain c = match c with 'a' .. 'z' | 'A' .. 'Z' | '0' .. '9' | '-' | '_' | ':' | '.' | '>' | ' ' -> c | _ -> '?' in
  "(* " ^ String.map plain name ^ " *)"

let number z = if Z.lt z Z.zero then "(" ^ Z.to_string z ^ ")" else Z.to_string z
let natural i = string_of_int i ^ "%nat"
let optional show = function None -> "None" | Some v -> "(Some " ^ show v ^ ")"
let listed show l = "[" ^ String.concat "; " (List.map show l) ^ "]"
let applied name words = "(" ^ String.concat " " (name :: words) ^ ")"

let port p =
  applied "Port" (List.map number [ p.p_rate_min; p.p_rate_max; p.p_propagation; p.p_latency_min;
                                    p.p_latency_max; p.p_below; p.p_tick; p.p_other ])
let contract k = applied "Contract" (List.map number [ k.c_message; k.c_frame; k.c_period; k.c_jitter ])
let meter m = applied "Meter" (List.map number [ m.m_uncounted; m.m_rate; m.m_burst ])
let place x = applied "Place" [ natural x.at_port; optional natural x.parent ]
let monitor m = applied "Monitor" (List.map number [ m.w_message; m.w_period; m.w_jitter; m.w_spread ])
let flow f =
  applied (if f.f_leaves then "FlowOfRaise" else "FlowIn")
    ([ number f.f_class; contract f.f_contract; optional meter f.f_meter;
       optional monitor f.f_monitor; string_of_bool f.f_admitted ] @
     (if f.f_leaves then [ "true" ] else []) @ [
                     listed place f.f_places; listed natural f.f_targets ])
let hint h = applied "Hint" (List.map number [ h.h_num; h.h_den; h.h_part; h.h_whole ])
let row r = match r.r_window with
  | None -> applied "Row" [ number r.r_class; number r.r_delay; hint r.r_hint ]
  | w -> applied "RowOfRaise" [ number r.r_class; number r.r_delay; optional number w; hint r.r_hint ]
let backlog b = match b.b_window with
  | None -> applied "Backlog" [ number b.b_bits; hint b.b_hint ]
  | w -> applied "BacklogOfRaise" [ number b.b_bits; optional number w; hint b.b_hint ]
let stretch y = applied "Stretch" [ number y.y_longest; optional number y.y_window; hint y.y_hint ]

(* One definition per element, and the list of them: terms that are nested less are read faster. *)
let definitions out letter of_type show names l =
  List.iteri (fun i x ->
      Printf.fprintf out "Definition %s%d : %s := %s. %s\n" letter i of_type (show x) (comment (names i))) l;
  Printf.fprintf out "Definition %ss := %s.\n\n" letter
    (if l = [] then Printf.sprintf "@nil (%s)" of_type
     else listed (fun i -> letter ^ string_of_int i) (List.mapi (fun i _ -> i) l))

let head = "From Coq Require Import ZArith List.\n\
  From Tenuto Require Import Description Model Accepts Soundness Modes Raise Drain Spread.\n\
  Import ListNotations.\nOpen Scope Z_scope.\n\n"

(* The description and the claims of a mode, or of a raise. *)
let definitions_of out (plan : Plan.t) c =
  let n = plan.network in
  let port_name i = fst plan.ports.(i) in
  let streams = Array.of_list plan.streams in
  let flow_name i = if i < Array.length streams then streams.(i).Plan.name else "signals" in
  definitions out "port_" "port" port port_name n.n_ports;
  definitions out "flow_" "flow" flow flow_name n.n_flows;
  Printf.fprintf out "Definition described : network := Network port_s flow_s %s %s %s.\n\n"
    (number n.n_tolerance) (number n.n_frame_min) (number n.n_frame_max);
  definitions out "delay_" "list row" (listed row) port_name c.q_rows;
  definitions out "target_" "list (option Z)" (listed (optional number)) flow_name c.q_targets;
  definitions out "backlog_" "option backlog" (optional backlog) port_name c.q_backlogs;
  Printf.fprintf out "Definition claimed_here : claims := Claims %s delay_s target_s backlog_s.\n\n" (number c.q_scale)

let counted out c =
  let some l = List.length (List.filter (fun x -> x <> None) l) in
  Printf.fprintf out "(** %d delays of ports, %d of messages and %d backlogs of buffers: every one holds in every trace. *)\n"
    (List.length (List.concat c.q_rows)) (some (List.concat c.q_targets)) (some c.q_backlogs)

let print out number_of (plan : Plan.t) c =
  counted out c;
  Option.iter (Printf.fprintf out "Module Mode_%d. %s\n" number_of) (Option.map comment plan.mode);
  definitions_of out plan c;
  output_string out "Lemma accepted : accepts described claimed_here = true.\n\
    Proof. vm_cast_no_check (eq_refl true). Qed.\n\n\
    Theorem every_claim_holds : forall t, valid described t -> all_hold described claimed_here t.\n\
    Proof. intros t V. exact (accepted_claims_hold described claimed_here t V accepted). Qed.\n\
    Print Assumptions every_claim_holds.\n";
  if plan.mode <> None then Printf.fprintf out "End Mode_%d.\n\n" number_of

(* A raise to the next mode: its rows, and out of the start mode the drain. *)
let print_raise out a (r : Change.t) =
  let { Change.plan; claims; _ } = r.during in
  counted out claims;
  Printf.fprintf out "Module Raise_%d. %s\n" a (comment (Option.value plan.mode ~default:""));
  definitions_of out plan claims;
  let before = Printf.sprintf "Mode_%d.described Mode_%d.claimed_here" a a in
  let arrange, update, queues = r.terms and k = plan.fabric in
  Printf.fprintf out "Definition mc : Z := %s.\nDefinition stretches : list (list stretch) := %s.\n\n"
    (number r.mc) (listed (listed stretch) r.stretches);
  Printf.fprintf out "Definition switches_here : fabric := Fabric %s %s %s %s.\n\
    Definition signals_take : list (list Z) := %s.\n\n"
    (listed (optional natural) k.k_of) (listed (optional natural) k.k_behind) (listed number k.k_swap) (listed number k.k_purge)
    (listed (listed number) r.dists);
  let spreading = if r.is_timed then Printf.sprintf "spreads Mode_%d.described t r switches_here" a
    else "(forall p s, r_switch r p = Some s -> r_swapped r s <= r_trigger r + units t mc)" in
  let change = Printf.sprintf "signals_take %s %s %s" (number arrange) (number update) (number queues) in
  if r.is_timed then Printf.fprintf out "Lemma change_accepted : change_ok %s switches_here %s mc = true.\n\
    Proof. vm_cast_no_check (eq_refl true). Qed.\n\n" before change;
  Printf.fprintf out "Lemma accepted : raise_accepts %s described claimed_here mc stretches = true.\n\
    Proof. vm_cast_no_check (eq_refl true). Qed.\n\n\
    Theorem every_claim_holds : forall t r since done e,\n\
    \  follows Mode_%d.described (with_span t (Span since done (Some (r_trigger r)))) ->\n\
    \  valid described (with_span t (Span since done e)) -> raises (after described) t r ->\n\
    \  %s -> (forall p, done p < r_trigger r) ->\n\
    \  all_hold described claimed_here (with_span t (Span since done e)).\n\
    Proof.\n\
    \  intros t r since done e Vb Vd R S D. %s\n\
    Qed.\nPrint Assumptions every_claim_holds.\n\n" before a spreading
    (if r.is_timed then Printf.sprintf "exact (raise_holds %s described claimed_here t r switches_here since done e D Vb Vd R S\n\
      \    %s mc stretches change_accepted accepted)." before change
     else Printf.sprintf "exact (raise_claims_hold %s described claimed_here t r mc since done e stretches Vb Vd R S accepted)." before);
  (match r.drain with
   | Some claim when r.is_drained ->
     Printf.fprintf out "Definition longest_busy : list stretch := %s.\nDefinition of_mode_from : list Z := %s.\n\
       Definition switch_of : list (option nat) := %s.\nDefinition drain : Z := %s.\n\n"
       (listed stretch r.busy) (listed number r.from) (listed (optional natural) r.switch_of) (number claim);
     Printf.fprintf out "Lemma drain_accepted : drain_ok %s described claimed_here mc switch_of stretches longest_busy\n\
       \  of_mode_from drain = true.\nProof. vm_cast_no_check (eq_refl true). Qed.\n\n\
       Lemma mode_after : after described = Mode_%d.described.\nProof. reflexivity. Qed.\n\n\
       Theorem next_mode_holds : forall t r since done e, (forall p, done p < r_trigger r) ->\n\
       \  follows Mode_%d.described (with_span t (Span since done (Some (r_trigger r)))) ->\n\
       \  valid described (with_span t (Span since done e)) -> raises (after described) t r ->\n\
       \  %s -> (forall p, r_switch r p = nth p switch_of None) ->\n\
       \  let t' := with_span t (drained_span t r (busy_at longest_busy) (from_at mc of_mode_from) e) in\n\
       \  inside t' (r_trigger r + units t drain) -> all_hold Mode_%d.described Mode_%d.claimed_here t'.\n\
       Proof.\n\
       \  intros t r since done e D Vb Vd R M S t' I. apply accepted_claims_hold; [|exact Mode_%d.accepted].\n\
       \  rewrite <- mode_after. %s\n\
       Qed.\nPrint Assumptions next_mode_holds.\n" before (a + 1) a spreading (a + 1) (a + 1) (a + 1)
       (if r.is_timed then Printf.sprintf "exact (drain_holds %s described claimed_here t r switches_here since done e D Vb Vd R M\n\
         \    %s mc stretches change_accepted accepted longest_busy of_mode_from switch_of drain S drain_accepted I)." before change
        else Printf.sprintf "exact (raise_drained %s described claimed_here t r mc since done e\n\
          \    (fun p => Z.lt_le_incl _ _ (D p)) Vb Vd R M stretches longest_busy of_mode_from switch_of drain S accepted drain_accepted I)." before)
   | _ -> ());
  Printf.fprintf out "End Raise_%d.\n\n" a
