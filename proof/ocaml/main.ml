(* tenuto-proved PLAN: which rows of a plan are proved, and by which theorem. With --coq: the
   description and the claims as a file in which Coq runs the checker itself. *)
open Proved_kernel
module Z = Zint

let hint_for n c window p k d es = Hints.find n c window p k d es

let lcm_periods streams =
  List.fold_left (fun m (s : Plan.stream) -> Z.lcm m (Z.div s.of_flow.f_contract.c_period Plan.thousand))
    (Z.of_int 80) streams

let tick (port : port) = port.p_tick

(* The claims with a hint for every row. In a raise rows have windows. *)
let claims_of ?(window = fun _ _ _ -> None) (plan : Plan.t) : Change.claimed =
  let count = Array.length plan.ports in
  let rows = Array.make count [] in
  List.iter (fun (p, k, d) -> rows.(p) <- rows.(p) @ [ { r_class = k; r_delay = d; r_window = None; r_hint = Hints.nothing } ]) plan.rows;
  let backlogs = Array.make count None in
  List.iter (fun (p, b) -> match b with
      | Some bits -> backlogs.(p) <- Some { b_bits = bits; b_window = None; b_hint = Hints.nothing } | None -> ()) plan.backlogs;
  let targets = List.map (fun (s : Plan.stream) ->
      List.map (fun (host, _) ->
          match Hashtbl.find_opt plan.bounds (s.name, s.copy, host) with Some b -> b | None -> None) s.targets)
      plan.streams in
  let bare = { q_scale = lcm_periods plan.streams; q_rows = Array.to_list rows; q_targets = targets;
               q_backlogs = Array.to_list backlogs } in
  let n = plan.network in
  let at = Array.make count [] in
  List.iter (fun e -> at.(e.e_port) <- e :: at.(e.e_port)) (List.rev (entries n bare));
  let hinted p r =
    let d = Z.sub r.r_delay (tick (List.nth n.n_ports p)) in
    let w = window p r.r_class at.(p) in
    { r with r_window = w; r_hint = hint_for n bare w p r.r_class d at.(p) } in
  let lowest p = List.fold_left (fun k e -> Z.max k e.e_class) Z.zero at.(p) in
  (* What is less than the sum of its hops has another proof, or none: no claim of the theorem. *)
  let summed = Hashtbl.create 64 in
  List.iter (fun (flow, target, _, _, how) -> if how = "tfa" then Hashtbl.replace summed (flow, target) ())
    plan.row_bounds;
  let targets = List.map2 (fun (s : Plan.stream) claims ->
      List.map2 (fun (host, x) claim -> match claim with
          | Some b when Hashtbl.mem summed (s.name, host) || target_ok n bare s.of_flow x b -> claim
          | _ -> None) s.targets claims) plan.streams targets in
  (* The theorem counts signals with flows, and so a signal that is on the line: no claim of the theorem
     where a plan has room for a smaller frame only. *)
  let a_signal_more p b =
    let holds bits = backlog_ok n bare at.(p) p { b with b_bits = bits } in
    plan.mode <> None && not (holds b.b_bits) && holds (Z.add b.b_bits (Z.of_int 816)) in
  ({ bare with
     q_targets = targets;
     q_rows = List.mapi (fun p rs -> List.map (hinted p) rs) bare.q_rows;
     q_backlogs = List.mapi (fun p b ->
         let w = window p (lowest p) at.(p) in
         let hinted = Option.map (fun b ->
             { b with b_window = w; b_hint = hint_for n bare w p (lowest p) Z.zero at.(p) }) b in
         Option.bind hinted (fun b -> if a_signal_more p b then None else Some b)) bare.q_backlogs }
   |> fun claims -> { Change.plan; claims; at })

(* The raises, each with its claims. One over several levels may also come in steps, which has no theorem. *)
let raises_of json (steady : Change.claimed array) =
  let level m = Json.Int (Z.of_int m) in
  List.filter_map (fun (a, c) ->
      let key = Json.Object [ ("raise", Json.Object [ ("from", level a); ("to", level c) ]) ] in
      match List.find_opt (fun r -> Json.field "change" r = key) (Json.list (Json.field "mode_changes" json)) with
      | None -> None
      | Some change ->
        let plan = Plan.read (Plan.Raise (a, c)) json in
        let mc = Json.int (Json.field "bound_ps" change) in
        let term name = match List.find_opt (fun t -> Json.field "name" t = Json.Text name) (Json.list (Json.field "terms" change)) with
          | Some t -> Json.int (Json.field "bound_ps" t) | None -> raise (Json.Wrong ("no term " ^ name)) in
        let terms = (term "D_arrange", term "D_update", term "D_q") in
        let drain = match Json.field_or "drain_ps" Json.Null change with Json.Null -> None | d -> Some (Json.int d) in
        let during = claims_of ~window:(Change.window steady.(a) plan mc) plan in
        Some ((a, c), Change.make steady.(a) during mc terms drain))
    (List.concat (List.init (Array.length steady) (fun a ->
        List.init (Array.length steady - a - 1) (fun more -> (a, a + 1 + more)))))

type verdict = Proved of string | Checked of string | Refused of string

let say quiet (what, verdict) =
  match verdict with
  | Proved by -> if not quiet then Printf.printf "proved   %s  (%s)\n" what by
  | Checked why -> if not quiet then Printf.printf "checked  %s  (%s)\n" what why
  | Refused why -> Printf.printf "REFUSED  %s: %s\n" what why

let port_rows (plan : Plan.t) c at =
  let n = plan.network in
  List.concat (List.mapi (fun p rows ->
      let label = fst plan.ports.(p) in
      let es = at.(p) in
      let missing = List.filter (fun e -> not (List.exists (fun r -> Z.equal r.r_class e.e_class) rows)) es in
      let gaps = match missing with
        | [] -> []
        | e :: _ -> [ (Printf.sprintf "%s, class %s" label (Z.to_string e.e_class), Refused "no claim") ] in
      let sides = if one_side n es then [] else [ (label, Refused "a host's port that forwards") ] in
      gaps @ sides @ List.map (fun r ->
          let what = Printf.sprintf "%s, class %s: %s ps" label (Z.to_string r.r_class) (Z.to_string r.r_delay) in
          (what, if row_ok n c p es r then Proved "port_delays" else Refused "the inequality does not hold")) rows)
      c.q_rows)

let target_rows (plan : Plan.t) c =
  let n = plan.network in
  List.map (fun (flow, target, bound, copies, how) ->
      let what b = Printf.sprintf "%s to %s: %s ps" flow target (Z.to_string b) in
      let mine = List.filter (fun (s : Plan.stream) -> s.name = flow) plan.streams in
      match bound with
      | None -> (Printf.sprintf "%s to %s: unbounded" flow target, Checked "no bound is claimed")
      | Some b ->
        let holds (s : Plan.stream) =
          match List.assoc_opt target s.targets, Hashtbl.find_opt plan.bounds (s.name, s.copy, target) with
          | Some x, Some (Some claim) -> Z.leq claim b && target_ok n c s.of_flow x claim
          | _ -> false in
        if List.length mine = copies && copies > 0 && List.for_all holds mine then (what b, Proved "target_delays")
        else if how = "tfa" then (what b, Refused "less than the sum of its hops")
        else (what b, Checked ("less than the sum of its hops: " ^ how))) plan.row_bounds

let backlog_rows (plan : Plan.t) c all =
  let n = plan.network in
  let claimed = Array.of_list c.q_backlogs in
  List.map (fun (p, bits) ->
      let label = fst plan.ports.(p) in
      match bits, claimed.(p) with
      | None, _ -> (label ^ ", buffer: unbounded", Checked "no bound is claimed")
      | Some bits, None when plan.mode <> None ->
        (Printf.sprintf "%s, buffer: %s bit" label (Z.to_string bits),
         Checked "with signals there may be one of them more; of flows alone there is no theorem")
      | Some bits, None ->
        (Printf.sprintf "%s, buffer: %s bit" label (Z.to_string bits), Refused "claimed twice")
      | Some _, Some b ->
        (Printf.sprintf "%s, buffer: %s bit" label (Z.to_string b.b_bits),
         if backlog_ok n c all.(p) p b then Proved "port_backlogs" else Refused "more can stand there"))
    plan.backlogs

(* Why a claim less one unit is accepted. *)
type slack = Refused_then | Smaller_frames | Rounding | Other_slack

(* The largest frame of an entry as the chapter counts it: behind a meter that of its burst after the
   first switch, and no less than the contract's. *)
let frame_in_chapter n c e =
  let f = List.nth n.n_flows e.e_flow in
  match e.e_from, f.f_meter with
  | Some _, Some m ->
    let per_wire x = up (Z.mul n.n_frame_min x) (Z.sub n.n_frame_min m.m_uncounted) in
    let first = List.nth n.n_ports (List.nth f.f_places 1).at_port in
    let varies = Z.add (Z.sub first.p_latency_max first.p_latency_min) Plan.thousand in
    let burst = Z.add (per_wire (Z.mul (scale c) m.m_burst)) (Z.mul (per_wire (per_ps c m.m_rate)) varies) in
    Z.max (Z.min burst (Z.mul (scale c) n.n_frame_max)) (Z.mul (scale c) f.f_contract.c_frame)
  | _ -> e.e_frame

(* The entries as the chapter counts them: over a line the largest frame of all classes, not up to k only. *)
let as_in_chapter n c k es =
  let es = List.map (fun e -> { e with e_frame = frame_in_chapter n c e }) es in
  let largest from = List.fold_left (fun l e -> if e.e_from = from then Z.max l e.e_frame else l) Z.zero es in
  List.map (fun e -> if Z.leq e.e_class k then { e with e_frame = largest e.e_from } else e) es

(* What is refused ten units lower has been rounded. *)
let slack_of accepted in_chapter claim =
  let lower = Z.sub claim (Z.of_int 10) in
  if not (accepted (Z.pred claim)) then Refused_then
  else if not (accepted lower) then Rounding
  else if not (in_chapter lower) then Smaller_frames
  else Other_slack

let port_slack n c p es r =
  let accepted es delay =
    let d = Z.sub delay (tick (List.nth n.n_ports p)) in
    row_ok n c p es { r with r_delay = delay; r_hint = hint_for n c r.r_window p r.r_class d es } in
  slack_of (accepted es) (accepted (as_in_chapter n c r.r_class es)) r.r_delay

let backlog_slack n c p es b =
  let k = List.fold_left (fun k e -> Z.max k e.e_class) Z.zero es in
  let accepted es bits =
    backlog_ok n c es p { b with b_bits = bits; b_hint = hint_for n c b.b_window p k Z.zero es } in
  slack_of (accepted es) (accepted (as_in_chapter n c k es)) b.b_bits

(* Every claim less one unit: refused, or why not. False if there is slack without a reason. *)
let less_one { Change.plan; claims = c; at } =
  let n = plan.network in
  let unexplained = ref 0 in
  let show what slacks =
    let count s = List.length (List.filter (( = ) s) slacks) in
    unexplained := !unexplained + count Other_slack;
    Printf.printf "%s: %d refused, %d with slack" what (count Refused_then) (List.length slacks - count Refused_then);
    List.iter (fun (s, why) -> if count s > 0 then Printf.printf "; %d: %s" (count s) why)
      [ (Smaller_frames, "the proof counts smaller frames than the chapter"); (Rounding, "rounding, below 10 units");
        (Other_slack, "no reason known") ];
    print_newline () in
  let over l f = List.concat (List.mapi f l) in
  (* The delays of signals are of this program, not of the plan. *)
  let of_plan r = plan.mode = None || Z.gt r.r_class Z.zero in
  show "port delays less 1 ps" (over c.q_rows (fun p rows ->
      List.map (port_slack n c p at.(p)) (List.filter of_plan rows)));
  show "backlogs less 1 bit" (over c.q_backlogs (fun p b ->
      match b with None -> [] | Some b -> [ backlog_slack n c p at.(p) b ]));
  show "message delays less 1 ps" (over plan.streams (fun _ (s : Plan.stream) -> List.filter_map (fun (host, x) ->
      match Hashtbl.find_opt plan.bounds (s.name, s.copy, host) with
      | Some (Some claim) when target_ok n c s.of_flow x claim ->
        let accepted = target_ok n c s.of_flow x in
        Some (slack_of accepted accepted claim)
      | _ -> None) s.targets));
  !unexplained = 0

(* The drain of a raise. *)
let drain_less_one (steady : Change.claimed array) ((a, _), (r : Change.t)) =
  match r.drain with
  | Some claim when Change.drain_accepted steady.(a) r claim ->
    let accepted less = Change.drain_accepted steady.(a) r (Z.sub claim (Z.of_int less)) in
    (* Several busy periods in a row, each rounded. *)
    let in_chapter = Z.lt (Z.sub claim (Change.in_chapter r)) (Z.of_int 1000) in
    let slack = if not (accepted 1) then "refused" else if not (accepted 1000) then "rounding, below 1 ns"
      else if in_chapter then "accepted, the proof asks nothing of hosts' ports, nor of ports without flows" else "accepted, no reason known" in
    Printf.printf "%s, drain less 1 ps: %s\n" (Option.get r.during.plan.mode) slack;
    slack <> "accepted, no reason known"
  | _ -> true

(* The terms of D_mc. The planner rounds what is queued up to a frame at every port, the proof at every switch. *)
let change_less_one (steady : Change.claimed array) ((a, _), (r : Change.t)) =
  let before = steady.(a) in
  let k = before.plan.fabric in
  let frame = List.fold_left Z.max Z.zero k.k_purge in
  let a_port = Z.mul frame (Z.of_int (List.length k.k_of)) in
  let arrange, update, queues = r.terms in
  let show name accepted rounded claim =
    let by less = accepted (Z.sub claim less) in
    let slack = if not (by Z.one) then "refused"
      else if not (by rounded) then "rounding" else "accepted, no reason known" in
    Printf.printf "%s, %s less 1 ps: %s\n" (Option.get r.during.plan.mode) name slack;
    slack <> "accepted, no reason known" in
  (not r.is_timed) || List.for_all Fun.id [
    show "D_arrange" (fun d -> Change.arranged before r (d, update, queues)) (Z.of_int 10) arrange;
    show "D_update" (fun d -> Change.updated before (arrange, d, queues)) Z.one update;
    show "D_q" (fun d -> Change.queued before (arrange, update, d)) a_port queues ]

let read_file name =
  let ic = open_in_bin name in
  Fun.protect ~finally:(fun () -> close_in ic) (fun () -> really_input_string ic (in_channel_length ic))

(* The plan as it is in each of its modes. *)
let in_modes name =
  let plan = Json.parse (read_file name) in
  let steady = List.mapi (fun m _ -> claims_of (Plan.read (Plan.Steady m) plan)) (Plan.modes plan) in
  (plan, steady, raises_of plan (Array.of_list steady))

let emit name =
  let _, steady, raises = in_modes name in
  (* the first line says what is proved, so the head comes behind it *)
  List.iteri (fun m (c : Change.claimed) ->
      if m = 0 then print_string Coq.head; Coq.print stdout m c.plan c.claims) steady;
  List.iter (fun ((a, c), r) -> if c = a + 1 then Coq.print_raise stdout a r) raises;
  0

(* Rows of returns. *)
let beyond plan raises several =
  let level m = Json.Int (Z.of_int m) in
  let of_way (a, c) = Json.Object [ ("raise", Json.Object [ ("from", level a); ("to", level c) ]) ] in
  let has_theorem r = match Json.field "mode" r with
    | Json.Object [ ("steady", _) ] -> true
    | mode -> List.exists (fun (way, _) -> mode = of_way way) raises in
  let proves_change r = List.exists (fun (way, _) -> Json.field "change" r = of_way way) raises in
  if not several then []
  else
    let count what keep why =
      let rows = List.filter keep (Json.list (Json.field what plan)) in
      List.map (fun _ -> (what ^ " of modes", Checked why)) rows in
    let others r = not (has_theorem r) in
    count "ports" others "a return"
    @ count "flows" others "a return"
    @ count "port_rows" others "a return"
    @ count "mode_changes" (fun r -> not (proves_change r)) "a return"

(* The rows of a raise: those of ports, messages and buffers are of the theorem if the windows are. *)
let raise_rows (steady : Change.claimed array) ((a, c_level), (r : Change.t)) =
  let { Change.plan; claims = c; at } = r.during in
  (* Where a raise has no bound, its rows are not of the theorem. *)
  let unbounded = function (what, Refused "no claim") -> (what, Checked "no bound is claimed") | row -> row in
  let rows = List.map unbounded (port_rows plan c at) in
  let none_refused l = List.for_all (fun (_, v) -> match v with Refused _ -> false | _ -> true) l in
  let fine = wf plan.network c && none_refused (port_rows steady.(a).plan steady.(a).claims steady.(a).at) in
  let windows = Change.windows_fine steady.(a) r in
  let later = target_rows plan c @ backlog_rows plan c at in
  let why = if not windows then Some "a window is too short"
    else if not (fine && none_refused rows) then Some "a claim before it is refused"
    else if not (Change.bounded r) then Some "a port has no bound" else None in
  let name = Option.get plan.mode in
  let named (what, v) = (name ^ ": " ^ what, match v, why with
      | Proved by, None -> Proved (by ^ (if r.is_timed then " by raise_holds" else " by raise_claims_hold, with D_mc as claimed"))
      | Proved _, Some why -> Checked why
      | v, _ -> v) in
  let drain = match r.drain with
    | None -> []
    | Some claim ->
      let what = Printf.sprintf "%s, drain: %s ps" name (Z.to_string claim) in
      [ (what,
         match why with
         | Some why -> Checked why
         | None when Change.drain_accepted steady.(a) r claim -> Proved (if r.is_timed then "drain_holds" else "raise_drained, with D_mc as claimed")
         | None when List.exists (fun p -> Z.gt p.p_other Z.zero) plan.network.n_ports -> Checked "with other traffic"
         | None -> Refused "not drained by then") ] in
  let arrange, update, queues = r.terms in
  let change = Printf.sprintf "%s, D_mc: %s ps" name (Z.to_string r.mc) in
  let change = (change,
    if r.is_timed && fine then Proved "change_in_time"
    else if not (Change.arranged steady.(a) r r.terms) then Refused (Printf.sprintf "D_arrange: more than %s ps" (Z.to_string arrange))
    else if not (Change.updated steady.(a) r.terms) then Refused (Printf.sprintf "D_update: more than %s ps" (Z.to_string update))
    else if not fine then Checked "a claim before it is refused"
    else if not (Change.has_backlogs steady.(a)) then Checked "a backlog has no theorem"
    else if not (Change.queued steady.(a) r.terms) then Checked (Printf.sprintf "D_q: more than %s ps of frames can be queued" (Z.to_string queues))
    else Refused "less than its terms") in
  let at_once = function
    | what, Proved by when c_level > a + 1 -> (what, Checked ("in steps; at once: " ^ by))
    | row -> row in
  List.map at_once (change :: List.map named (rows @ later) @ drain)

let run quiet less timed name =
  let started = Sys.time () in
  let json, steady, raises = in_modes name in
  let hinted = Sys.time () in
  let modes = Array.of_list steady in
  let accepted (c : Change.claimed) = accepts c.plan.network c.claims in
  let verdict = List.for_all accepted steady && List.for_all (fun ((a, _), r) -> not (Change.bounded r) || Change.accepted modes.(a) r) raises in
  let checked = Sys.time () in
  let described = List.for_all (fun (c : Change.claimed) -> wf c.plan.network c.claims)
      (steady @ List.map (fun (_, r) -> r.Change.during) raises) in
  let of_raises = List.map (raise_rows modes) raises in
  let rec is_drained m = m = 0 || is_drained (m - 1) && List.exists (fun (way, (r : Change.t)) ->
      way = (m - 1, m) && r.is_drained && after r.during.plan.network = modes.(m).plan.network) raises in
  let of_plan m { Change.plan; claims = c; at } =
    let rows = port_rows plan c at in
    let ports_fine = described && List.for_all (fun (_, v) -> match v with Refused _ -> false | _ -> true) rows in
    let later = target_rows plan c @ backlog_rows plan c at in
    let later = if ports_fine then later
      else List.map (fun (w, v) -> (w, match v with Proved _ -> Checked "a claim before it is refused" | v -> v)) later in
    let when_ = if m = 0 then "until a monitor sees more than it bears with"
      else if is_drained m then "from the drain on" else "from the drain on, which is checked only" in
    let named (what, v) = match plan.mode, v with
      | None, _ -> (what, v)
      | Some mode, Proved by -> (mode ^ ": " ^ what, Proved (by ^ ", " ^ when_))
      | Some mode, _ -> (mode ^ ": " ^ what, v) in
    List.map named (rows @ later) in
  let all = List.concat (List.mapi of_plan steady) @ List.concat of_raises
            @ beyond json raises (List.length steady > 1) in
  List.iter (say quiet) all;
  if not described then print_endline "REFUSED  the description: not one that the proof is about";
  let count f = List.length (List.filter (fun (_, v) -> f v) all) in
  let refused = count (function Refused _ -> true | _ -> false) in
  let still = count (function Checked _ -> true | _ -> false) in
  Printf.printf "%d rows proved, %d checked only, %d refused; accepts = %b\n"
    (List.length all - refused - still) still refused verdict;
  if timed then Printf.printf "reading and hints %.0f ms, accepts %.0f ms\n"
      ((hinted -. started) *. 1e3) ((checked -. hinted) *. 1e3);
  let all_claims = steady @ List.map (fun (_, r) -> r.Change.during) raises in
  let explained = not less || List.for_all Fun.id (List.map less_one all_claims @ List.map (change_less_one modes) raises @ List.map (drain_less_one modes) raises) in
  if refused > 0 || not described || not explained then 1 else 0

(* Whether the frames of a run are a trace of the network, in its first mode. *)
let traced frames name =
  let _, steady, _ = in_modes name in
  Trace.judge (List.hd steady).plan (Json.parse (read_file frames))

let () =
  let flags, files = List.partition (fun a -> String.length a > 1 && a.[0] = '-')
      (List.tl (Array.to_list Sys.argv)) in
  let has f = List.mem f flags in
  let frames_of flag = if String.starts_with ~prefix:"--frames=" flag
    then Some (String.sub flag 9 (String.length flag - 9)) else None in
  match files with
  | [ name ] when List.length flags = 1 && frames_of (List.hd flags) <> None ->
    exit (try traced (Option.get (frames_of (List.hd flags))) name with
        | Plan.Beyond what -> Printf.printf "nothing is said of this run: the plan has %s\n" what; 3
        | Json.Wrong what | Sys_error what | Failure what -> prerr_endline ("not a plan with a run of it: " ^ what); 2
        | Not_found -> prerr_endline "not a plan with a run of it: a name that nothing has"; 2)
  | [ name ] when List.for_all (fun f -> List.mem f [ "--quiet"; "--less-one"; "--time"; "--coq" ]) flags ->
    exit (try if has "--coq" then emit name else run (has "--quiet") (has "--less-one") (has "--time") name with
        | Plan.Beyond what when has "--coq" -> Printf.eprintf "nothing to prove: the plan has %s\n" what; 3
        | Plan.Beyond what -> Printf.printf "all rows checked only: the plan has %s\n" what; 0
        | Json.Wrong what | Sys_error what | Failure what -> prerr_endline ("not a plan: " ^ what); 2
        | Not_found -> prerr_endline "not a plan: a name that nothing has"; 2)
  | _ -> prerr_endline "usage: tenuto-proved [--quiet] [--less-one] [--time] PLAN, --coq PLAN, or --frames=FRAMES PLAN"; exit 2
