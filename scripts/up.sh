#!/usr/bin/env bash
# The main job: the vehicle, live on this machine. Where neither root nor user namespaces are
# allowed, the same network runs in virtual time instead, and says so.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/prepare.sh

step "building (some minutes the first time)"
cargo build --release --bin tenuto
step "running networks/vehicle.yaml live, as slow as this machine needs it"
code=0
tenuto=$(realpath "${CARGO_TARGET_DIR:-target}")/release/tenuto
"$tenuto" up networks/vehicle.yaml --slow auto "$@" || code=$?
# `doctor` ends with 3 where no lab is possible: what it says counts, not how it ends.
lab_is_impossible() { grep -q '"lab_possible": *false' <<<"$("$tenuto" doctor --for 1s --json || true)"; }
if [ "$code" = 3 ] && lab_is_impossible; then
  step "live runs are not allowed here (see above): the same in virtual time"
  code=0
  "$tenuto" sim networks/vehicle.yaml || code=$?
fi
step "done"
exit "$code"
