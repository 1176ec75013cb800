#!/usr/bin/env bash
# The main job: the vehicle, live on this machine. Where neither root nor user namespaces are
# allowed, the same network runs in virtual time instead, and says so.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/prepare.sh

step "building (some minutes the first time)"
cargo build --release --quiet --bin tenuto
step "built"

network=networks/vehicle.yaml
slow=$(target/release/tenuto doctor --slow-for "$network") || slow=1
step "running $network ($([ "$slow" = 1 ] && echo "at full speed" || echo "$slow times slower, as doctor recommends here"))"
code=0
target/release/tenuto up "$network" --slow "$slow" "$@" || code=$?
if [ "$code" = 3 ] && ! target/release/tenuto doctor --can-run-live >/dev/null 2>&1; then
  step "live runs are not allowed here (see above): the same in virtual time"
  code=0
  target/release/tenuto sim "$network" || code=$?
fi
exit "$code"
