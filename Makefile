# Few verbs: `make up` runs the main job, `make test` passes the tests.
SHELL := /bin/bash

.PHONY: up test prove build lint fmt wasm campaign clean

up:            ## set up, build, and run the vehicle live on this machine
	@scripts/up.sh

test:          ## everything that CI checks, with what this machine allows
	@scripts/test.sh

prove:         ## the machine-checked theory: builds it, checks it again, and says what rests on nothing
	@$(MAKE) --silent -C proof prove

build:
	cargo build --release --bin tenuto

lint:
	cargo clippy --workspace --lib --bins -- -D warnings

fmt:
	cargo fmt --all

wasm:          ## the pure crates must build without any host
	cargo check --lib --target wasm32-unknown-unknown -p tenuto-world -p tenuto-planner -p tenuto-certify

campaign:      ## attack certified bounds of 1,000 random networks, then drawn runs of the shipped ones; SEED=K, KEEP=DIR, CASES=N
	cargo build --release -p tenuto --bin tenuto
	@scripts/campaign.sh target/release/tenuto $${CASES:-2000} $${SEED:-1}
	cargo run --release -p tenuto-bench --bin campaign -- --networks 1000 --seed $${SEED:-1} $${KEEP:+--keep $$KEEP}
	TENUTO_SEED=$${SEED:-1} cargo test --release -p tenuto-service --lib -- crashes cluster::two --ignored --nocapture

clean:
	cargo clean
