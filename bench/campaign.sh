#!/bin/sh
# All that an examiner from outside would ask of the command line, one program at a time: see README.md.
#
# TENUTO: the program; SAIHU: folder src of Saihu; PANCO: folder of panco; SEED; REACHED: the example of tenuto-bounds (may be
# left out); PYTHON: one that has what Saihu needs; OUT: folder for files and reports.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${TENUTO:?the program to examine}" "${SAIHU:?folder src of Saihu}" "${PANCO:?folder of panco}"
seed=${SEED:-1}
python=${PYTHON:-python3}
out=$(mkdir -p "${OUT:-campaign}" && cd "${OUT:-campaign}" && pwd)
case $TENUTO in */*) TENUTO=$(cd "$(dirname "$TENUTO")" && pwd)/$(basename "$TENUTO") ;; esac
failed=0

part() {
    name=$1
    shift
    echo "== $name"
    nice "$python" "$here/$@" --tenuto "$TENUTO" >"$out/$name.txt" 2>&1 || failed=1
    tail -n 3 "$out/$name.txt"
}

part graphs calculus_peers.py --saihu "$SAIHU" --panco "$PANCO" ${REACHED:+--reached "$REACHED"} \
    --methods auto --networks 1 --seed "$seed" --seconds 10 --steps 60 --keep "$out/graphs" --record "$out/graphs.jsonl"
part frames frame_campaign.py --saihu "$SAIHU" --panco "$PANCO" --networks 2 --seed "$seed" --seconds 10 --keep "$out/frames"
part published published_figures.py
part tampered tampered_plans.py --changes 200 --seed "$seed" --keep "$out/tampered" \
    "$out"/graphs/tight-*.json.yaml "$out"/graphs/cyclic-*.json.yaml "$out"/graphs/anygrid-*.json.yaml \
    "$out"/graphs/packets-*.json.yaml "$out"/graphs/multicast-*.json.yaml "$out"/graphs/xml-*.xml.yaml \
    "$out"/frames/threehot-"$seed".yaml "$out"/frames/framesringhot-"$seed".yaml "$out"/frames/framesmulticastmixed-"$seed".yaml \
    "$here"/../networks/vehicle.yaml "$here"/../networks/cell.yaml
exit $failed
