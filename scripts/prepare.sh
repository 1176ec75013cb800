#!/usr/bin/env bash
# What building and running need: Rust (by rustup), a C linker, iproute2. With root what is missing
# is installed; without, nothing system-wide is touched and the one command for an administrator is
# named. Prints one line per step with its time.
set -euo pipefail

started=$SECONDS
step() { printf '%4ds  %s\n' "$((SECONDS - started))" "$*"; }

[ -d "$HOME/.cargo/bin" ] && export PATH="$HOME/.cargo/bin:$PATH"
export PATH="$PATH:/usr/sbin:/sbin"

missing=()
command -v cc >/dev/null || missing+=(gcc libc6-dev)
command -v ip >/dev/null || missing+=(iproute2)
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
  echo "missing: Rust. Install it for your user with rustup (https://rustup.rs), no root needed;" >&2
  echo "the toolchain that this project pins is then fetched by itself. Then run this again." >&2
  exit 3
fi
step "tools: $(cc --version | head -n 1), $(ip -V), $(cargo --version)"
