#!/usr/bin/env bash
# Builds the proofs and shows what of the shipped plans is proved; exit 4 where Coq is not there and
# cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

has_tools() { command -v coqc && command -v coqchk && ocamlfind query zarith; } >/dev/null 2>&1
if ! has_tools && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq coq ocaml-findlib libzarith-ocaml-dev; } >/dev/null 2>&1 || true
fi
has_tools || exit 4

make --silent -C proof prove
plans=$(mktemp -d)
trap 'rm -rf "$plans"' EXIT
plan() { cargo run --quiet -p tenuto -- plan "$1" "${@:3}" -o "$plans/$2.json" >/dev/null 2>&1; }
for net in line avionics a380-switch; do
  plan "networks/$net.yaml" "$net" --method tfa --curves buckets
  plan "networks/$net.yaml" "$net-auto"
done
# Rows of two and of three modes, and of raises to the next; returns are checked only.
plan networks/vehicle.yaml vehicle --method tfa --curves buckets
plan proof/ring.yaml ring --method tfa --curves buckets
isae="${TENUTO_DATA:-}/afdx-isae/AFDX.xml"
if [ -f "$isae" ]; then
  cargo run --quiet -p tenuto -- import wopanets "$isae" -o "$plans/isae.yaml" >/dev/null 2>&1
  plan "$plans/isae.yaml" isae --method tfa --curves buckets
fi
make --silent -C proof plans PLANS="$(echo "$plans"/*.json)"
# Coq runs the checker on these plans itself: extraction and OCaml's arithmetic are not trusted for them.
in_coq() { (cd "$plans" && nice -n 12 coqc -q -Q "$OLDPWD/proof/theories" Tenuto "$1.v"); }
for plan in "$plans"/*.json; do
  name=$(basename "$plan" .json | tr -- - _)
  case "$name" in *_auto) continue ;; esac
  proof/ocaml/tenuto-proved --coq "$plan" > "$plans/$name.v"
  [ "$(in_coq "$name" | grep -cx "Closed under the global context")" = "$(grep -c '^Theorem' "$plans/$name.v")" ] ||
    { echo "Coq refuses $name" >&2; exit 1; }
  echo "$name, accepted in Coq:$(grep '^([*][*]' "$plans/$name.v" | tr -d '(*)\n')"
done
sed -E '0,/Row 0 [0-9]+/s//Row 0 1/' "$plans/line.v" > "$plans/refused.v"
! in_coq refused >/dev/null 2>&1 || { echo "Coq accepted a delay of a picosecond" >&2; exit 1; }
# Where switches swap later, the windows of a raise are too short.
sed -E 's/^(Definition mc : Z := )/\11/' "$plans/vehicle.v" > "$plans/refused.v"
! in_coq refused >/dev/null 2>&1 || { echo "Coq accepted windows that end before the swap" >&2; exit 1; }
proof/ocaml/tenuto-proved "$plans/vehicle.json" > "$plans/vehicle.txt"
for row in "LO>HI, D_mc: " "LO>HI: sw1:3 > sw2, class 3: " "LO>HI: CAM to d1: " "LO>HI, drain: "; do
  grep -qF "proved   $row" "$plans/vehicle.txt" || { echo "no theorem of $row" >&2; exit 1; }
done
# Every claim less one unit has to be refused, or accepted for a reason that is known.
for plan in "$plans"/*.json; do
  case "$plan" in *a380-switch-auto*) continue ;; esac
  echo "$(basename "$plan" .json), every claim less one unit:"
  proof/ocaml/tenuto-proved --quiet --less-one "$plan" | tail -n +2
done
proof/ocaml/tenuto-proved --quiet --less-one "$plans/line.json" |
  grep -qx "port delays less 1 ps: 2 refused, 0 with slack" ||
  { echo "a claim of a picosecond less was accepted" >&2; exit 1; }
# Runs of the switches' own code, in virtual time, are traces of the model that the theorems speak of; a run in
# which one frame leaves a nanosecond later than it did, or is lost on the way, is none.
run_of() { # network, name, duration, and an event, if there is one
  printf 'tenuto_scenario: 1\nduration: %s\nseed: %s\ntraffic: {offsets: random, sizes: random}\nevents: [%s]\n' \
    "$3" "${#2}" "${4:-}" > "$plans/run.scenario.yaml"
  cargo run --quiet -p tenuto -- sim "$plans/$1.json" --scenario "$plans/run.scenario.yaml" \
    --frames "$plans/$2.frames" > "$plans/run.txt" || { cat "$plans/run.txt" >&2; exit 1; }
}
plan networks/avionics-live.yaml avionics_live --method tfa --curves buckets
for run in "line 200" "avionics 30" "avionics_live 200" "vehicle 45" "ring 60"; do
  read -r net ms <<< "$run"
  run_of "$net" "$net" "$ms ms"
  echo "$net, $ms ms in virtual time: $(proof/ocaml/tenuto-proved --frames="$plans/$net.frames" "$plans/$net.json")"
done
run_of avionics_live policed "200 ms" "{at: 1 ms, flow: fcc1-pitch, oversend: 900 %}"
proof/ocaml/tenuto-proved --frames="$plans/policed.frames" "$plans/avionics_live.json" | tee "$plans/policed.txt" | tail -n 1
grep -q '^babbles  fcc1-pitch' "$plans/policed.txt" || { echo "nobody sends too much" >&2; exit 1; }
tampered() { # what is changed, by sed
  sed -E "$2" "$plans/avionics_live.frames" > "$plans/tampered.frames"
  ! cmp -s "$plans/avionics_live.frames" "$plans/tampered.frames" &&
    ! proof/ocaml/tenuto-proved --frames="$plans/tampered.frames" "$plans/avionics_live.json" > "$plans/tampered.txt" 2>&1 &&
    grep -q "no trace of the network" "$plans/tampered.txt" || { echo "a run with $1 is taken for a trace" >&2; exit 1; }
}
tampered "a frame that leaves later" '0,/"departure_ns": ([0-9]+)/s//"departure_ns": 1\1/'
tampered "a frame that is not as long" '0,/"frame_bytes": [0-9]+/s//"frame_bytes": 72/'
tampered "a frame that was not released" '0,/"release_ns": ([0-9]+)/s//"release_ns": 1\1/'
# The Rust checker and the proved one on drawn networks, as planned and with one claim lowered.
cargo run --quiet -p tenuto-bench --bin agreement -- proof/ocaml/tenuto-proved 40
# The program and its front end agree on what is proved.
cargo run --quiet -p tenuto -- certify --proved=proof/ocaml/tenuto-proved "$plans/avionics.json" |
  grep -qx "proved: 326 of 326 rows" || { echo "certify --proved says something else" >&2; exit 1; }
