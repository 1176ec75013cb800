#!/usr/bin/env bash
# A short live run as the present user, and, if that is root, as an unprivileged one too. A run that
# this machine stalls is not a failure of the program: exit 3 (undecided) is reported, not hidden.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet --bin tenuto
binary=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/tenuto

run() { # title, command...
  local title=$1 code=0; shift
  "$@" >/dev/null 2>"$scratch/err" || code=$?
  case $code in
    0) echo "      $title: kept" ;;
    3) echo "      $title: undecided or not allowed here: $(tail -n 1 "$scratch/err")" ;;
    *) echo "      $title: exit $code"; cat "$scratch/err"; return 1 ;;
  esac
}

scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
cp -r networks "$scratch/networks"
cp "$binary" "$scratch/tenuto"; chmod 755 "$scratch/tenuto"; chmod -R a+rX "$scratch"
mkdir "$scratch/own"
mkdir -m 777 "$scratch/other"
cd "$scratch/own"
run "live, as $(id -un)" "$scratch/tenuto" up "$scratch/networks/line.yaml" --for 3s --json
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  cd "$scratch/other"
  run "live, unprivileged" setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$scratch/other" \
    "$scratch/tenuto" up "$scratch/networks/line.yaml" --for 3s --json
fi
