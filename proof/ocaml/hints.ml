(* Where the sum of what comes is farthest above the line. Not trusted: a bad hint can only make the
   checker refuse. *)
open Proved_kernel
module Z = Zint

let nothing = { h_num = Z.zero; h_den = Z.one; h_part = Z.zero; h_whole = Z.one }

(* The least lines of a group at 0, and where another takes over. *)
let group_breaks ((b1, s1), second) =
  match second with
  | None -> (s1, None)
  | Some (b2, s2) ->
    let flat_first = Z.lt s1 s2 in
    let lower, upper = if flat_first then ((b1, s1), (b2, s2)) else ((b2, s2), (b1, s1)) in
    (* [upper] is steeper (or as steep): it counts up to the break, if it begins below. *)
    if Z.lt (fst upper) (fst lower) then
      (snd upper, Some ((Z.sub (fst lower) (fst upper), Z.sub (snd upper) (snd lower)), Z.sub (snd lower) (snd upper)))
    else (snd lower, None)

let find gs rate =
  let parts = List.map group_breaks gs in
  let slope = List.fold_left (fun sum (s, _) -> Z.add sum s) Z.zero parts in
  let compare_at (n1, d1) (n2, d2) = Z.compare (Z.mul n1 d2) (Z.mul n2 d1) in
  let breaks = List.sort (fun (a, _) (b, _) -> compare_at a b) (List.filter_map snd parts) in
  let rec go slope = function
    | [] -> nothing
    | ((t, _) :: _) as here ->
      let same, later = List.partition (fun (u, _) -> compare_at t u = 0) here in
      let after = List.fold_left (fun s (_, change) -> Z.add s change) slope same in
      if Z.leq after rate then
        { h_num = fst t; h_den = snd t; h_part = Z.sub slope rate; h_whole = Z.sub slope after }
      else go after later in
  if Z.leq slope rate then nothing else go slope breaks
