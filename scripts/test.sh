#!/usr/bin/env bash
# Format, lints (purity included), tests, documentation, the wasm check, fuzz targets, the proofs, and a short live run.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/prepare.sh

step "format";  cargo fmt --all --check
step "lints";   cargo clippy --quiet --workspace --lib --bins -- -D warnings
                cargo clippy --quiet --workspace --all-targets -- -D warnings \
                  -A clippy::disallowed_types -A clippy::disallowed_methods -A clippy::unwrap_used \
                  -A missing_docs
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}"   # the same cases in every run; other seeds by hand
step "tests";   cargo test --quiet --workspace
step "docs";    RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps
if rustup target add wasm32-unknown-unknown >/dev/null 2>&1; then
  step "wasm";  cargo check --quiet --lib --target wasm32-unknown-unknown \
                  -p tenuto-world -p tenuto-planner -p tenuto-certify
else
  step "wasm: SKIPPED, the target cannot be installed here"
fi
if command -v c++ >/dev/null; then
  step "fuzz targets (built only; fuzz/README.md runs them)"
                cargo check --quiet --all-targets --manifest-path fuzz/Cargo.toml --target-dir target
else
  step "fuzz targets: SKIPPED, they need a C++ compiler"
fi
if command -v cargo-deny >/dev/null; then
  step "licences"; cargo deny --log-level error check licenses bans sources
else
  step "licences (cargo-deny is not installed: names only)"
  odd=$(cargo metadata --format-version 1 --locked --filter-platform x86_64-unknown-linux-gnu | grep -o '"license":"[^"]*"' | sort -u |
    grep -vE 'MIT|Apache-2\.0|BSD-|ISC|Unicode-3\.0|Zlib|Unlicense|CC0-1\.0' || true)
  [ -z "$odd" ] || { echo "not permissive, or not known: $odd" >&2; exit 1; }
fi
step "proof";   proved=0; scripts/prove.sh || proved=$?
if [ "$proved" = 4 ]; then
  step "proof: SKIPPED, it needs Coq 8.16, ocamlfind and zarith, which cannot be installed here"
elif [ "$proved" != 0 ]; then
  exit 1
fi
step "live";    scripts/live-check.sh
step "all passed"
