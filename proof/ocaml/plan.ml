(* A plan of Tenuto as the description and the claims that the checker knows. What a plan has and
   the proof does not is named: those rows are checked by `tenuto certify` only. *)
open Proved_kernel
module Z = Zint
open Json

let zero = Z.zero
let thousand = Z.of_int 1000

exception Beyond of string      (* what the proof has not *)

type stream = { name : string; copy : string option; targets : (string * int) list; of_flow : flow }

(* A mode, by its level; or the raise from one to another. *)
type state = Steady of int | Raise of int * int

type t = {
  mode : string option;                             (* where there are several *)
  network : network;
  streams : stream list;
  ports : (string * string) array;                  (* label, and the node *)
  fabric : fabric;                                  (* the switches, by their numbers *)
  rows : (int * Z.t * Z.t) list;                    (* port, class, delay *)
  bounds : (string * string option * string, Z.t option) Hashtbl.t;   (* flow, copy, target *)
  row_bounds : (string * string * Z.t option * int * string) list;
                          (* flow, target, bound, copies, method *)
  backlogs : (int * Z.t option) list;
}

(* What makes rows of a plan no business of the theorem. *)
let check_scope plan =
  let net = field "network" plan in
  if text (field "model" plan) <> "store-and-forward" then raise (Beyond "the fluid model");
  if List.length (list (field "modes" net)) > 1 && field_or "networks" (List []) net <> List []
  then raise (Beyond "modes in redundant networks");
  (match field_or "processors" (List []) plan with
   | List [] -> () | _ -> raise (Beyond "a processor that ports share"));
  (match field_or "staircases" (Bool false) plan with
   | Bool false -> () | _ -> raise (Beyond "messages that count whole"))

let wire bytes = Z.of_int ((bytes + 20) * 8)

(* The wire bits of a largest message, and of its largest frame. *)
let packets as_stated size =
  let padded b = if as_stated then b else max b 64 in
  match size with
  | Object [ ("frame_bytes", b) ] -> let w = wire (padded (small b)) in (w, w)
  | Object [ ("payload_bytes", b) ] -> let w = wire (padded (small b + 46)) in (w, w)
  | Object [ ("message_bytes", b) ] ->
    let m = small b in
    let frames = max 1 ((m + 1459) / 1460) in
    let last = padded (m - (frames - 1) * 1460 + 58) in
    let full = wire (1460 + 58) in
    let all = Z.add (Z.mul (Z.of_int (frames - 1)) full) (wire last) in
    (all, if frames > 1 then full else wire last)
  | _ -> raise (Wrong "a size expected")

(* What differs between contracts: size, period, jitter. *)
let terms contract = List.map (fun what -> field what contract) [ "size"; "period_ns"; "jitter_ns" ]

(* Every contract keeps the highest: no host knows the mode. *)
let highest as_stated contracts =
  let sizes = List.map (fun c -> packets as_stated (field "size" c)) contracts in
  let most pick = List.fold_left (fun m c -> Z.max m (pick c)) zero in
  let period = List.fold_left (fun m c -> Z.min m (int (field "period_ns" c)))
      (int (field "period_ns" (List.hd contracts))) contracts in
  { c_message = most fst sizes; c_frame = most snd sizes; c_period = Z.mul period thousand;
    c_jitter = Z.mul (most (fun c -> int (field "jitter_ns" c)) contracts) thousand }

(* Signals of modes: a flow of the switch's own at every trunk, above every class. Least dwell 100 ms,
   by an exact clock. *)
let signals net plan tolerance ports is_switch =
  let count = List.length (list (field "switches" net)) and levels = List.length (list (field "modes" net)) in
  let copies = small (field "signal_copies" plan) in
  let number = copies * (max 4 (2 * (levels - 1)) + 2 * count) in
  let dwell = Z.of_int 100_000 in      (* us: times a million plus the tolerance, it is in ps *)
  let at p = { f_class = zero; f_monitor = None; f_admitted = true; f_leaves = false; f_meter = None;
               f_contract = { c_message = Z.of_int (number * 816); c_frame = Z.of_int 816; c_jitter = zero;
                              c_period = Z.mul dwell (Z.add (Z.of_int 1_000_000) tolerance) };
               f_places = [ { at_port = p; parent = None } ]; f_targets = [] } in
  List.concat (List.mapi (fun p (here, there) ->
      if is_switch here && is_switch there then [ (p, at p) ] else []) ports)

(* The delay of signals at a trunk: what may be in the way, and all of them. *)
let signal_delay port flow =
  let bits = Z.add (Z.max (Z.of_int 12304) (Z.max port.p_below port.p_other)) flow.f_contract.c_message in
  let rate = port.p_rate_min in
  let up a b = Z.div (Z.add a (Z.pred b)) b in
  (* a part in a thousand more, for what may come while they wait *)
  Z.add (up (Z.mul bits (Z.of_string "1001000000000")) rate) port.p_tick

(* Which switch a port belongs to, which is behind its line, and how long switches take to swap and purge. *)
let fabric_of ports numbers switches profile =
  let number (node : string) : int option = Hashtbl.find_opt numbers node in
  let time what s = Z.mul (int (field what (Option.get (profile (text (field "name" s)))))) thousand in
  { k_of = List.map (fun (here, _) -> number here) ports; k_behind = List.map (fun (_, there) -> number there) ports;
    k_swap = List.map (time "swap_ns_max") switches; k_purge = List.map (time "purge_frame_ns_max") switches }

let modes plan = List.map text (list (field "modes" (field "network" plan)))

let read state (plan : Json.t) : t =
  check_scope plan;
  (* In a raise all contracts and monitors are those of the mode raised to. *)
  let from, mode = match state with Steady m -> (m, m) | Raise (a, c) -> (a, c) in
  let net = field "network" plan in
  let several = List.length (modes plan) > 1 in
  let level m = Int (Z.of_int m) in
  let key = match state with
    | Steady m -> Object [ ("steady", level m) ]
    | Raise (a, c) -> Object [ ("raise", Object [ ("from", level a); ("to", level c) ]) ] in
  let of_mode r = not several || field "mode" r = key in
  let shift k = if several then Z.succ k else k in
  let as_stated = bool (field "as_stated" plan) in
  let profiles = match field "profiles" net with Object l -> l | _ -> raise (Wrong "profiles") in
  let switches = Hashtbl.create 16 in
  List.iter (fun s ->
      let profile = List.assoc (text (field "profile" s)) profiles in
      if field_or "processor" Null profile <> Null then raise (Beyond "a processor that ports share");
      Hashtbl.replace switches (text (field "name" s)) profile) (list (field "switches" net));
  let numbers = Hashtbl.create 16 in
  List.iteri (fun i s -> Hashtbl.replace numbers (text (field "name" s)) i) (list (field "switches" net));
  let profile node = Hashtbl.find_opt switches node in
  let of_profile node what = match profile node with Some p -> int (field what p) | None -> zero in
  let other = match text (field "policy" (field "other_traffic" net)) with
    | "drop" -> zero
    | _ ->
      if small (field "babbling_hosts" (field "tolerates" net)) > 0 then Z.of_int 12304
      else wire (small (field "frame_bytes_max" (field "other_traffic" net))) in
  let places = Hashtbl.create 64 and peers = Hashtbl.create 64 in
  let ports = ref [] and labels = ref [] and nodes = ref [] in
  List.iteri (fun i l ->
      let rate = int (field "rate_bps" l) in
      let ends = (field "a" l, field "b" l) in
      List.iteri (fun side (here, there) ->
          let node = text (field "node" here) and number = small (field "port" here) in
          if Hashtbl.mem places (node, number) then raise (Wrong (node ^ ": a port is used twice"));
          Hashtbl.replace places (node, number) (2 * i + side);
          Hashtbl.replace peers (2 * i + side) (text (field "node" there), small (field "port" there));
          let whole = Z.equal (Z.rem (Z.of_int 1_000_000_000) rate) zero in
          ports := { p_rate_min = rate; p_rate_max = rate;
                     p_propagation = Z.mul (int (field "propagation_ns" l)) thousand;
                     p_latency_min = Z.mul (of_profile node "latency_ns_min") thousand;
                     p_latency_max = Z.mul (of_profile node "latency_ns_max") thousand;
                     p_below = Z.mul (of_profile node "below_scheduler_bytes") (Z.of_int 8);
                     p_tick = if whole then zero else thousand;
                     p_other = other } :: !ports;
          nodes := (node, text (field "node" there)) :: !nodes;
          labels := (Printf.sprintf "%s:%d > %s" node number (text (field "node" there)), node) :: !labels)
        [ ends; (snd ends, fst ends) ]) (list (field "links" net));
  let port p =
    let key = (text (field "node" p), small (field "port" p)) in
    match Hashtbl.find_opt places key with
    | Some i -> i | None -> raise (Wrong (Printf.sprintf "no port %s:%d" (fst key) (snd key))) in
  let tolerance = Hashtbl.fold (fun _ p most -> Z.max most (int (field "clock_tolerance_ppm" p))) switches zero in
  let is_babbling = small (field "babbling_hosts" (field "tolerates" net)) > 0 in
  let deployed = list (field "switches" plan) in
  (* The meter that a flow's frames pass in its first switch, by the port of entry. *)
  let meter_of flow root =
    if not is_babbling then None
    else
      let node, entry_port = Hashtbl.find peers root in
      match profile node with
      | None -> None
      | Some p ->
        let d = List.find (fun d -> text (field "switch" d) = node) deployed in
        let is_entry e = field "flow" e = Text flow && field "meter" e <> Null
          && field_or "in_port" Null (field "match" e) = Int (Z.of_int entry_port) in
        (match List.filter is_entry (list (field "entries" d)) with
         | e :: rest when List.for_all (fun r -> field "meter" r = field "meter" e) rest ->
           let m = List.find (fun m -> field "id" m = field "meter" e) (list (field "meters" d)) in
           let uncounted = match text (field "meter_counts" p) with
             | "wire" -> 0 | "frame" -> 160 | "l2-without-fcs" -> 192 | w -> raise (Wrong w) in
           Some { m_uncounted = Z.of_int uncounted; m_rate = int (field "rate_bps" m);
                  m_burst = Z.mul (int (field "burst_bytes" m)) (Z.of_int 8) }
         | _ -> raise (Wrong (flow ^ ": not one meter in " ^ node))) in
  (* What the monitor of the first switch bears with in the mode, if there is a higher contract. *)
  let monitor_of f contracts root =
    let flow = text (field "name" f) in
    let now = List.nth_opt contracts mode in
    let higher = match now with
      | Some c -> List.exists (fun d -> terms d <> terms c) (List.filteri (fun i _ -> i > mode) contracts)
      | None -> false in
    if not higher || list (field "monitor_at" f) <> [] then None
    else
      let node, entry_port = Hashtbl.find peers root in
      let d = List.find (fun d -> text (field "switch" d) = node) deployed in
      let is_entry e = field "flow" e = Text flow && field "monitor" e <> Null
        && field_or "in_port" Null (field "match" e) = Int (Z.of_int entry_port) in
      match List.filter is_entry (list (field "entries" d)) with
      | e :: rest when List.for_all (fun r -> field "monitor" r = field "monitor" e) rest ->
        let m = List.find (fun m -> field "id" m = field "monitor" e) (list (field "monitors" d)) in
        let watched = list (field "contracts" m) in
        let jitter c = Z.mul (int (field "jitter_ns" c)) thousand in
        let spread = if text (field "kind" m) = "message"
          then List.fold_left (fun j c -> Z.max j (jitter c)) zero watched else zero in
        let c = List.find (fun c -> field "level" c = Int (Z.of_int mode)) watched in
        Some { w_message = Z.mul (int (field "bytes_max" c)) (Z.of_int 8);
               w_period = Z.mul (int (field "period_ns" c)) thousand; w_jitter = jitter c; w_spread = spread }
      | _ -> raise (Wrong (flow ^ ": not one monitor in " ^ node)) in
  let described = Hashtbl.create 64 in
  List.iter (fun f -> Hashtbl.replace described (text (field "name" f)) f) (list (field "flows" net));
  let stream r =
    let name = text (field "flow" r) in
    let copy = match field "copy" r with Null -> None | c -> Some (text c) in
    let f = match Hashtbl.find_opt described name with Some f -> f | None -> raise (Wrong ("no flow " ^ name)) in
    let contracts = list (field "contracts" f) in
    if contracts = [] then raise (Wrong (name ^ ": contracts"));
    let tree = ref [] and count = ref 0 and known = Hashtbl.create 8 in
    let targets = List.map (fun path ->
        let parent = List.fold_left (fun parent p ->
            let i = port p in
            match Hashtbl.find_opt known i with
            | Some x -> Some x
            | None ->
              let x = !count in
              incr count;
              Hashtbl.replace known i x;
              tree := { at_port = i; parent } :: !tree;
              Some x) None (list (field "ports" path)) in
        match parent with Some x -> (text (field "target" path), x) | None -> raise (Wrong "an empty path"))
        (list (field "paths" r)) in
    let tree = List.rev !tree in
    let root = (List.hd tree).at_port in
    { name; copy; targets;
      of_flow = { f_class = shift (int (field "priority" (List.hd contracts)));
                  f_contract = highest as_stated contracts;
                  f_meter = meter_of name root; f_monitor = monitor_of f contracts root;
                  f_admitted = not several || List.length contracts > from;
                  f_leaves = several && List.length contracts > from && List.length contracts <= mode;
                  f_places = tree; f_targets = List.map snd targets } } in
  let streams = List.map stream (list (field "routes" plan)) in
  let signals = if several then signals net plan tolerance (List.rev !nodes) (Hashtbl.mem switches) else [] in
  let least = List.fold_left (fun l s -> Z.min l s.of_flow.f_contract.c_frame) (Z.of_int 672) streams in
  let network = { n_ports = List.rev !ports; n_flows = List.map (fun s -> s.of_flow) streams @ List.map snd signals;
                  n_tolerance = tolerance; n_frame_min = least; n_frame_max = Z.of_int 12304 } in
  let rows = List.map (fun (p, f) -> (p, zero, signal_delay (List.nth network.n_ports p) f)) signals
             @ List.map (fun p -> (port (field "port" p), shift (int (field "class" p)), int (field "delay_ps" p)))
               (List.filter of_mode (list (field "ports" plan))) in
  let opt = function Null -> None | v -> Some (int v) in
  let bounds = Hashtbl.create 64 in
  let row_bounds = List.map (fun r ->
      let flow = text (field "flow" r) and target = text (field "target" r) in
      let copies = list (field "copies" r) in
      List.iter (fun c ->
          let copy = match field "network" c with Null -> None | n -> Some (text n) in
          Hashtbl.replace bounds (flow, copy, target) (opt (field "delay_bound_ps" c))) copies;
      (flow, target, opt (field "delay_bound_ps" r), List.length copies, text (field "method" r)))
      (List.filter of_mode (list (field "flows" plan))) in
  let backlogs = List.map (fun r -> (port (field "port" r), opt (field "backlog_bound_bits" r)))
      (List.filter of_mode (list (field "port_rows" plan))) in
  let named = match state with
    | Steady m -> List.nth (modes plan) m
    | Raise (a, c) -> List.nth (modes plan) a ^ ">" ^ List.nth (modes plan) c in
  { mode = if several then Some named else None; network; streams; ports = Array.of_list (List.rev !labels);
    fabric = fabric_of (List.rev !nodes) numbers (list (field "switches" net)) profile; rows; bounds; row_bounds; backlogs }
