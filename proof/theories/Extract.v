(** The checker of plans and the checker of traces as OCaml: whole numbers become those of zarith, places in lists machine integers. *)
From Coq Require Import ZArith List Bool.
From Coq Require Extraction.
From Coq Require Import ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZBigInt.
From Tenuto Require Import Description Model Accepts Check Modes Spread.

Extraction Language OCaml.
Extraction "proved_kernel.ml" accepts raise_accepts windows_ok drain_ok stretch_ok feeding_ok window_holds
  buffer_window_holds busy_ok in_the_way total leaves after rows_ok steady no_stretch from_at delay delays_ok wf port_ok row_ok target_ok backlog_ok entries groups
  below blocking at_place one_side per_ps up scale
  change_ok arrange_ok queue_ok trunks latency_of used
  always valid_b frames_b contract_b port_b ways_b nothing_lost_b meter_b monitor_b modes_b.
