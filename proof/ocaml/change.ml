(* A raise to the next level: windows, busy periods, and when the network is drained. What is found
   here is not trusted: the extracted functions check it. *)
open Proved_kernel
module Z = Zint

(* A mode or a raise, its claims with hints, and what comes to each port. *)
type claimed = { plan : Plan.t; claims : claims; at : entry list array }

let classes es = List.fold_left (fun k e -> Z.max k e.e_class) Z.zero es

(* How long a busy period of the classes up to k may be when the raise is triggered. *)
let stretch before p k =
  let n = before.plan.Plan.network and c = before.claims and es = before.at.(p) in
  Hints.busy n c None p k (in_the_way n c p k es) es

(* The window, where flows of these classes leave. *)
let window before (during : Plan.t) mc p k es =
  let n = during.network in
  if not (List.exists (fun e -> leaves n e && Z.leq e.e_class k) es) then None
  else Option.map (fun y -> Z.add y.y_longest mc) (stretch before p k)

type t = {
  during : claimed;
  mc : Z.t;
  terms : Z.t * Z.t * Z.t;    (* D_arrange, D_update, D_q *)
  dists : Z.t list list;      (* how soon a signal is everywhere, from each switch *)
  stretches : stretch list list;
  busy : stretch list;
  from : Z.t list;
  switch_of : int option list;   (* of ports that forward; where only signals begin, nothing is raised *)
  drain : Z.t option;
  is_timed : bool;            (* D_mc is proved *)
  is_drained : bool;          (* by the claim *)
}

let forwarding d =
  List.mapi (fun p switch -> if List.exists (fun e -> e.e_from <> None) d.at.(p) then switch else None)
    d.plan.Plan.fabric.k_of

(* From when on what comes to a port is of the mode raised to: port by port, as they feed one another; none
   in a circle. The chapter asks of a host's port, too, when it has sent what it had. *)
let drained ?(hosts = false) d busy mc =
  let n = d.plan.Plan.network in
  let count = Array.length d.at in
  let switch = Array.of_list (if hosts then d.plan.Plan.fabric.k_of else forwarding d) in
  let rows = Array.of_list d.claims.q_rows in
  let delay q k = List.fold_left (fun m r -> if r.r_class = k then Z.max m r.r_delay else m) Z.zero rows.(q) in
  (* The chapter takes the longest of any class of flows. *)
  let longest q k = if hosts
    then List.fold_left (fun m r -> if Z.gt r.r_class Z.zero then Z.max m r.r_delay else m) Z.zero rows.(q)
    else delay q k in
  let ports = Array.of_list n.n_ports and busy = Array.of_list busy in
  let hops = List.concat_map (fun f -> List.filter_map (fun x -> match x.parent with
      | None -> None | Some y -> Some ((List.nth f.f_places y).at_port, x.at_port, f.f_class)) f.f_places) n.n_flows in
  let hops = List.sort_uniq compare hops in
  let from = Array.make count mc in
  let later changed (q, p, k) =
    let here = if switch.(q) = None then (if hosts then Some Z.zero else None)
      else Some (Z.add from.(q) (Z.max Z.zero busy.(q).y_longest)) in
    match here with
    | None -> changed
    | Some here ->
      let sum = List.fold_left Z.add here
          [ longest q k; ports.(q).p_propagation; ports.(p).p_latency_max ] in
      if Z.gt sum from.(p) then (from.(p) <- sum; true) else changed in
  let rec settle rounds = if List.fold_left later false hops && rounds > 0 then settle (rounds - 1) in
  settle (count + 1);
  Array.to_list from

(* Least distances over trunks, from each switch. *)
let distances (plan : Plan.t) =
  let n = plan.network and k = plan.fabric in
  let count = List.length k.k_swap in
  let ts = trunks n k in
  let from s =
    let d = Array.make count None in
    d.(s) <- Some (latency_of n k s);
    let closer changed t =
      match d.(t.t_from) with
      | None -> changed
      | Some here ->
        let there = Z.add here t.t_delay in
        if Option.fold ~none:true ~some:(Z.lt there) d.(t.t_to) then (d.(t.t_to) <- Some there; true) else changed in
    while List.fold_left closer false ts do () done;
    List.map (Option.value ~default:Z.zero) (Array.to_list d) in
  List.init count from

(* D_mc, and each of its terms. *)
let in_time before r =
  let arrange, update, queues = r.terms in
  change_ok before.plan.Plan.network before.claims before.plan.fabric r.dists arrange update queues r.mc
let arranged before r (arrange, _, _) = arrange_ok before.plan.Plan.network before.plan.fabric r.dists arrange
let updated before (_, update, _) = List.for_all (fun s -> Z.leq s update) before.plan.Plan.fabric.k_swap
let queued before (arrange, update, queues) =
  let k = before.plan.Plan.fabric in
  List.for_all (queue_ok before.plan.network before.claims k (Z.add arrange update) queues)
    (List.init (List.length k.k_swap) Fun.id)

let has_backlogs before =
  List.for_all Fun.id (List.mapi (fun p b -> b <> None || List.nth before.plan.Plan.fabric.k_of p = None
    || not (used before.plan.network p)) before.claims.q_backlogs)

let windows_fine before r =
  windows_ok before.plan.Plan.network before.claims r.during.plan.network r.during.claims r.mc r.stretches

let accepted before r =
  raise_accepts before.plan.Plan.network before.claims r.during.plan.network r.during.claims r.mc r.stretches

let drain_accepted before r claim =
  drain_ok before.plan.Plan.network before.claims r.during.plan.network r.during.claims r.mc
    r.switch_of r.stretches r.busy r.from claim

let make before during mc terms drain =
  let n = during.plan.Plan.network in
  let needed p rows =
    let es = during.at.(p) in
    List.sort_uniq compare (classes es :: List.map (fun r -> r.r_class) rows)
    |> List.filter (fun k -> window before during.plan mc p k es <> None)
    |> List.filter_map (fun k -> stretch before p k) in
  let longest p _ =
    let es = during.at.(p) in
    let k = classes es in
    let w = window before during.plan mc p k es in
    match Hints.busy n during.claims w p k (in_the_way n during.claims p k es) es with
    | Some z -> z | None -> no_stretch in
  let busy = List.mapi longest n.n_ports in
  let r = { during; mc; terms; dists = distances before.plan; drain; busy; stretches = List.mapi needed during.claims.q_rows; from = drained during busy mc;
            switch_of = forwarding during; is_timed = false; is_drained = false } in
  let r = { r with is_timed = in_time before r } in
  let by claim = accepted before r && drain_accepted before r claim in
  { r with is_drained = Option.fold ~none:false ~some:by drain }

(* Every class of every port has a claim. *)
let bounded r =
  List.for_all2 (fun rows es -> List.for_all (fun e -> List.exists (fun r -> Z.equal r.r_class e.e_class) rows) es)
    r.during.claims.q_rows (Array.to_list r.during.at)

(* The drain as the chapter has it. *)
let in_chapter r =
  (* It asks of every switch's port, and of signals alone nothing. *)
  let busy = List.map2 (fun switch z -> if switch = None then no_stretch else z) r.switch_of r.busy in
  let from = drained ~hosts:true r.during busy r.mc in
  let done_ = List.map2 (fun from z -> Z.add from (Z.max Z.zero z.y_longest)) from busy in
  List.fold_left2 (fun m switch d -> if switch = None then m else Z.max m d) Z.zero r.during.plan.fabric.k_of done_
