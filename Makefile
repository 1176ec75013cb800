# Few verbs: `make up` runs the main job, `make test` passes the tests.
SHELL := /bin/bash

.PHONY: up test build lint fmt wasm clean

up:            ## set up, build, and run the vehicle live on this machine
	@scripts/up.sh

test:          ## everything that CI checks, with what this machine allows
	@scripts/test.sh

build:
	cargo build --release --bin tenuto

lint:
	cargo clippy --workspace --lib --bins -- -D warnings

fmt:
	cargo fmt --all

wasm:          ## the pure crates must build without any host
	cargo check --lib --target wasm32-unknown-unknown -p tenuto-world -p tenuto-planner -p tenuto-certify

clean:
	cargo clean
