(* Where the sum of what comes is farthest above the line, and how long busy periods take. Not
   trusted: a bad hint can only make the checker refuse. *)
open Proved_kernel
module Z = Zint

let at num den = { h_num = num; h_den = den; h_part = Z.zero; h_whole = Z.one }
let nothing = at Z.zero Z.one

(* The lines whose least a group counts: of the flows, before and after a window cuts them, and of the
   line over which they come. *)
let pieces n c window p k d es =
  let instants = match window with
    | None -> [ (Z.zero, Z.one) ]
    | Some w ->
      let two = Z.of_int 2 in
      [ (Z.zero, Z.one); (Z.max Z.zero (Z.sub (Z.mul two w) d), two); (Z.succ w, Z.one) ] in
  let views = List.map (fun (num, den) -> groups n c (at num den) window p k d es) instants in
  match views with
  | [] -> []
  | first :: rest ->
    List.mapi (fun i (flows, line) ->
        let flows = flows :: List.map (fun v -> fst (List.nth v i)) rest in
        match line with None -> flows | Some l -> l :: flows) first

(* The breaks of the least of some lines, with the change of slope; and the slope at 0. *)
let breaks lines =
  let least a b =
    let c = Z.compare (fst a) (fst b) in
    if c < 0 || (c = 0 && Z.lt (snd a) (snd b)) then a else b in
  let start = List.fold_left least (List.hd lines) lines in
  (* Where another line crosses the one that counts: of the earliest, the flattest. *)
  let rec go (b, s) found =
    let crossing (b', s') =
      if Z.lt s' s then Some ((Z.sub b' b, Z.sub s s'), (b', s')) else None in
    let earlier ((n1, d1), l1) ((n2, d2), l2) =
      let c = Z.compare (Z.mul n1 d2) (Z.mul n2 d1) in
      if c < 0 || (c = 0 && Z.lt (snd l1) (snd l2)) then (n1, d1), l1 else (n2, d2), l2 in
    match List.filter_map crossing lines with
    | [] -> List.rev found
    | first :: rest ->
      let when_, next = List.fold_left earlier first rest in
      go next ((when_, Z.sub (snd next) s) :: found) in
  (snd start, go start [])

let find n c window p k d es =
  let rate = per_ps c (List.nth n.n_ports p).p_rate_min in
  let parts = List.map breaks (pieces n c window p k d es) in
  let slope = List.fold_left (fun sum (s, _) -> Z.add sum s) Z.zero parts in
  let compare_at (n1, d1) (n2, d2) = Z.compare (Z.mul n1 d2) (Z.mul n2 d1) in
  let all = List.sort (fun (a, _) (b, _) -> compare_at a b) (List.concat_map snd parts) in
  let rec go slope = function
    | [] -> nothing
    | ((t, _) :: _) as here ->
      let same, later = List.partition (fun (u, _) -> compare_at t u = 0) here in
      let after = List.fold_left (fun s (_, change) -> Z.add s change) slope same in
      if Z.leq after rate then
        { h_num = fst t; h_den = snd t; h_part = Z.sub slope rate; h_whole = Z.sub slope after }
      else go after later in
  if Z.leq slope rate then nothing else go slope all

(* The least w after which the line has sent what came up to w and s bits; none if it takes too many steps. *)
let busy n c window p k s es =
  let rate = per_ps c (List.nth n.n_ports p).p_rate_min in
  let start = Z.mul (scale c) s in
  let up a b = Z.div (Z.add a (Z.pred b)) b in
  let rec go steps w =
    if steps = 0 then None
    else
      let hint = at w Z.one in
      let sum = total hint (groups n c hint window p k Z.zero es) in
      let next = up (Z.add start (Z.add (fst sum) (Z.mul (snd sum) w))) rate in
      if Z.leq next w then Some { y_longest = w; y_window = window; y_hint = hint } else go (steps - 1) next in
  go 20000 Z.zero
