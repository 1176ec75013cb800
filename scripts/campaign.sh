#!/usr/bin/env bash
# Drawn runs of every shipped network in virtual time, within the fault model and beyond it: `campaign.sh TENUTO CASES SEED`.
# A case that breaks an invariant is printed with the command that repeats it; exit code 1 then.
set -uo pipefail
tenuto=${1:?the program} cases=${2:-2000} seed=${3:-1}
networks=$(cd "$(dirname "$0")/../networks" && pwd)
failed=0
for network in line vehicle avionics-live avionics cell; do
  for reach in "" --beyond; do
    # shellcheck disable=SC2086 # no word where there is none
    "$tenuto" sim "$networks/$network.yaml" --campaign "$cases" --seed "$seed" $reach
    code=$?
    # 3: a network on typical times, whose invariants held.
    [ $code = 0 ] || [ $code = 3 ] || failed=1
  done
done
exit $failed
