(* The whole numbers of zarith, under a name that the extracted kernel does not use. *)
include Z
