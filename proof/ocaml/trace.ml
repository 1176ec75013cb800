(* A run of the switches' own code, as `tenuto sim --frames` writes it, read as a trace of the model, and
   whether the proved checker of traces takes it. The run says when a frame came to a queue and when its last bit
   left. When it was chosen and its first bit went on the line is what the model has lines do: at once, or when the
   frame in front of it has left. *)
open Proved_kernel
module Z = Zint
open Json

type hop = { port : int; arrival : Z.t; departure : Z.t }

(* Units of a picosecond in which a byte on every line takes a whole number. *)
let units network =
  let bits = Z.of_string "8000000000000" in
  List.fold_left (fun u p -> Z.lcm u (Z.div p.p_rate_min (Z.gcd p.p_rate_min bits))) (Z.of_int 1) network.n_ports

let hops_of index frame =
  List.map (fun h ->
      let key = (text (field "node" h), small (field "port" h)) in
      match Hashtbl.find_opt index key with
      | Some port -> { port; arrival = int (field "arrival_ns" h); departure = int (field "departure_ns" h) }
      | None -> raise (Wrong (Printf.sprintf "no port %s:%d" (fst key) (snd key)))) (list (field "hops" frame))

(* Where a flow's tree has a port. *)
let place_of flow port =
  let rec find x = function
    | [] -> None | p :: rest -> if p.at_port = port then Some x else find (x + 1) rest in
  find 0 flow.f_places

let is_root flow x = (List.nth flow.f_places x).parent = None

(* Each message is due as early as the jitter and the one before allow. *)
let dues u tolerance flow releases =
  let million = Z.of_int 1_000_000 in
  let period = Z.mul (Z.mul flow.f_contract.c_period u) million in
  let period = Z.div (Z.add period (Z.add million (Z.pred tolerance))) (Z.add million tolerance) in
  let jitter = Z.mul flow.f_contract.c_jitter u in
  let step (before, all) (message, release) =
    let earliest = Z.sub release jitter in
    let due = match before with
      | None -> earliest
      | Some (last, at) -> Z.max earliest (Z.add at (Z.mul (Z.of_int (message - last)) period)) in
    (Some (message, due), (message, due) :: all) in
  snd (List.fold_left step (None, []) (List.sort compare releases))

(* The frames of one stream, each with its hops in the stream's tree. *)
let of_stream u index (plan : Plan.t) logged (i, (s : Plan.stream)) next =
  let flow = s.of_flow in
  let mine = List.filter_map (fun f ->
      if text (field "flow" f) <> s.name then None
      else
        let at = List.filter_map (fun h -> Option.map (fun x -> (x, h)) (place_of flow h.port)) (hops_of index f) in
        if List.exists (fun (x, _) -> is_root flow x) at then Some (f, at) else None) logged in
  let instant ns = Z.mul (Z.mul ns Plan.thousand) u in
  let release f = instant (int (field "release_ns" f)) in
  let due = dues u plan.network.n_tolerance flow
      (List.sort_uniq compare (List.map (fun (f, _) -> (small (field "message" f), release f)) mine)) in
  List.map (fun (f, at) ->
      let message = small (field "message" f) in
      let policed = flow.f_meter <> None && List.length flow.f_places > 1
        && not (List.exists (fun (x, _) -> not (is_root flow x)) at) in
      let id = !next in
      incr next;
      ({ f_id = id; f_flow = i; f_level = flow.f_class; f_message = Z.of_int message;
         f_size = Plan.wire (small (field "frame_bytes" f)); f_due = List.assoc message due;
         f_release = release f; f_passed = not policed }, at)) mine

(* What stood at one port, in the order in which it left. *)
let at_port u network port stood =
  let p = List.nth network.n_ports port in
  let instant ns = Z.mul (Z.mul ns Plan.thousand) u in
  let slot size = Z.div (Z.mul (Z.mul size u) (Z.of_string "1000000000000")) p.p_rate_min in
  let stood = List.sort (fun (_, _, g) (_, _, h) -> Z.compare g.departure h.departure) stood in
  let _, visits = List.fold_left (fun (free, all) (frame, x, h) ->
      let arrival = instant h.arrival and handover = instant h.departure in
      let start = Z.max free arrival in
      let over = Z.add start (slot frame.f_size) in
      (over, { v_frame = frame; v_place = x; v_port = port; v_arrival = arrival; v_choice = start; v_start = start;
               v_end = over; v_handover = handover;
               v_stamp = Z.add handover (Z.mul p.p_propagation u) } :: all)) (Z.zero, []) stood in
  visits

let read (plan : Plan.t) (json : Json.t) =
  if text (field "schema" json) <> "tenuto-frames/1" then raise (Wrong "these are no frames of a run");
  if small (field "frames_without_stamp" json) > 0 then raise (Wrong "the run has frames of no flow: nothing is said of those");
  let network = plan.network in
  let u = units network in
  let index = Hashtbl.create 64 in
  Array.iteri (fun p (label, node) ->
      let number = List.nth (String.split_on_char ':' (List.hd (String.split_on_char ' ' label))) 1 in
      Hashtbl.replace index (node, int_of_string number) p) plan.ports;
  let next = ref 0 and logged = list (field "frames" json) in
  let of_flow = Hashtbl.create 64 in
  List.iter (fun f -> Hashtbl.add of_flow (text (field "flow" f)) f) logged;
  let frames = List.concat (List.mapi (fun i (s : Plan.stream) ->
      of_stream u index plan (List.rev (Hashtbl.find_all of_flow s.name)) (i, s) next) plan.streams) in
  let stood = Hashtbl.create 64 in
  List.iter (fun (f, at) -> List.iter (fun (x, h) -> Hashtbl.add stood h.port (f, x, h)) at) frames;
  let visits = List.concat (List.mapi (fun p _ -> at_port u network p (Hashtbl.find_all stood p)) network.n_ports) in
  let trace babbling = { t_unit = u; t_frames = List.map fst frames; t_visits = visits; t_others = []; t_dropped = (fun _ -> false);
                         t_babbling = babbling; t_span = always } in
  (* A host babbles if any of its flows keeps no contract. *)
  let bare = trace (fun _ -> false) in
  let root f = (List.hd f.f_places).at_port in
  let broken = List.filteri (fun i _ -> not (contract_b network bare i)) network.n_flows in
  let babbles i = List.exists (fun f -> root f = root (List.nth network.n_flows i)) broken in
  trace babbles

(* The parts of the model that the trace does not keep, by the names of its assumptions. *)
let faults (plan : Plan.t) t =
  let n = plan.network in
  let flow i = match List.nth_opt plan.streams i with Some s -> s.Plan.name | None -> "signals" in
  let each count holds say = List.filter_map (fun i -> if holds i then None else Some (say i)) (List.init count Fun.id) in
  let flows = List.length n.n_flows and ports = List.length n.n_ports in
  (if frames_b n t then [] else [ "frames: one is not as an Ethernet has it, or there twice" ])
  @ each flows (fun i -> t.t_babbling i || contract_b n t i) (fun i -> "sources: " ^ flow i ^ " keeps no contract")
  @ each ports (port_b n t) (fun p -> "ports: " ^ fst plan.ports.(p))
  @ (if ways_b n t then [] else [ "ways: a frame comes from nowhere, or outside the latency" ])
  @ (if nothing_lost_b n t then [] else [ "faults: a frame is lost" ])
  @ each flows (meter_b n t) (fun i -> "meters: " ^ flow i)
  @ each flows (monitor_b n t) (fun i -> "monitors: " ^ flow i)
  @ (if modes_b n t then [] else [ "modes: a frame that is not of the mode" ])

(* Says whether the run is a trace; exit code. *)
let judge plan json =
  let t = read plan json in
  let count = Printf.sprintf "%d frames, %d hops" (List.length t.t_frames) (List.length t.t_visits) in
  let babbling = List.filteri (fun i _ -> t.t_babbling i) plan.Plan.streams in
  List.iter (fun (s : Plan.stream) -> Printf.printf "babbles  %s\n" s.name) babbling;
  if t.t_frames = [] then raise (Wrong "a run without frames says nothing");
  if valid_b plan.network t then (Printf.printf "%s: a trace of the network\n" count; 0)
  else begin
    List.iter (Printf.printf "BROKEN   %s\n") (faults plan t);
    Printf.printf "%s: no trace of the network\n" count;
    1
  end
