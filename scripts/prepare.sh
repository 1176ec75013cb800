#!/usr/bin/env bash
# What building and running need: Rust (by rustup, into the user's home), a C linker, iproute2. With
# root what is missing is installed; without, nothing system-wide is touched and the one command for
# an administrator is named. Prints one line per step with its time.
set -euo pipefail

started=$SECONDS
step() { printf '%4ds  %s\n' "$((SECONDS - started))" "$*"; }

[ -d "$HOME/.cargo/bin" ] && export PATH="$HOME/.cargo/bin:$PATH"
export PATH="$PATH:/usr/sbin:/sbin"

missing=()
command -v cc >/dev/null || missing+=(gcc libc6-dev)
command -v ip >/dev/null || missing+=(iproute2)
command -v cargo >/dev/null || command -v curl >/dev/null || missing+=(curl ca-certificates)
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ]; then
    step "installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null
  else
    echo "missing: ${missing[*]}. An administrator can install them with:" >&2
    echo "    apt-get install -y ${missing[*]}" >&2
    exit 3
  fi
fi
if ! command -v cargo >/dev/null; then
  step "installing Rust with rustup into $HOME/.cargo: nothing outside of this home is changed"
  installer=$(mktemp)
  if ! curl --proto '=https' --tlsv1.2 -sSfL https://sh.rustup.rs -o "$installer" ||
    ! sh "$installer" -y -q --profile minimal --default-toolchain none --no-modify-path; then
    echo "Rust could not be fetched. Install it for your user with rustup (https://rustup.rs)," >&2
    echo "no root needed, and run this again." >&2
    exit 3
  fi
  rm -f "$installer"
  export PATH="$HOME/.cargo/bin:$PATH"
  rustup toolchain install # the one that this project pins
fi
step "tools: $(cc --version | head -n 1), $(ip -V), $(cargo --version)"
