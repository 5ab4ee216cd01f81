# The one front door. `make` alone says what there is.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := bin
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)

# Packages of Go whose simulations have no threads.
SIMULATED := controller/(place|reconcile)$$

# Debian packages, installed only where missing.
BUILD_PACKAGES := build-essential protobuf-compiler
TEST_PACKAGES  := chromium nginx-light libnginx-mod-stream haproxy openssl curl nghttp2-client bind9-dnsutils dnsmasq-base python3-venv frr bird2 openssh-server $(GEN_PACKAGES)
DEMO_PACKAGES  := nginx-light $(if $(filter 0,$(LAB)),,$(if $(filter 0,$(shell id -u)),frr))
GEN_PACKAGES   := clang-14 llvm-14 libbpf-dev
LAB_PACKAGES   := nginx-light frr bird2 curl
ICOUNT_PACKAGES := valgrind
ROBUSTNESS_PACKAGES := bind9 slapd freeradius postfix dovecot-imapd dovecot-pop3d vsftpd
BENCH_PACKAGES := nginx-light libnginx-mod-stream libnginx-mod-http-brotli-filter haproxy nghttp2-client python3-venv strace

.PHONY: help
help: ## this list
	@printf 'Weir. Try: make demo\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\nSet ONCE=1 (stop after the load), JSON=1 (one JSON object last), PICTURE=file.svg, LAB=0 (at loopback, as root too) for demo; SEED=n COUNT=n for sim; TARGET=name SECONDS=n for fuzz.\n'

.PHONY: demo
demo: packages-demo build ## build, then serve the HTTPS virtual service of the 1M-TPS report in small, and load it; as root in a network of its own, with engines that come and go
	@exec $(BIN)/weir demo $(if $(filter 0,$(LAB)),--loopback) $(if $(ONCE),--once) $(if $(JSON),--json) $(if $(PICTURE),--picture $(PICTURE))

.PHONY: test
test: packages-test build ## set up and run every test
	go test -race -timeout 40m $$(go list ./agent/... ./backoff ./bench/... ./fastpath/... ./controller/... ./client/... ./cmd/... ./durable/... ./lab/... ./tools/... \
	  ./logs/journal/... ./logs/query/... ./logs/store/... ./logs/text/... ./logs/wire/... | grep -vE '$(SIMULATED)')
	@# Few seeds with the race detector, which makes simulations ten times as long, and all without.
	go test -race -short ./controller/place ./controller/reconcile
	go test -timeout 10m ./api/... ./controller/place ./controller/reconcile ./demo/... ./web ./tests/accept ./tests/alone ./tests/built ./tests/laws
	@# These start whole Weirs, and mostly wait: so what comes behind them is compiled meanwhile. The race detector would make those of ./logs ten times as long: they wait for processes, too.
	nice -n 19 cargo test --workspace --quiet --no-run & compiling=$$!; trap 'kill $$compiling 2>/dev/null || true' EXIT; \
	  go run ./tools/abreast -timeout 20m -alone "PageOfA.*Tells|StreamAndTopTell|InABrowser" ./tests/e2e ./tests/pages ./tests/interop ./logs; \
	  wait $$compiling
	cargo test --workspace --quiet --lib --bins --tests # comments have no tests: rustdoc need not look for them

.PHONY: check
check: packages-build ## what must hold before the tests: format, vet, lints, instruction counts
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' | grep -v '^api/gen/')); \
	  if [ -n "$$unformatted" ]; then printf 'gofmt: run make fix\n%s\n' "$$unformatted"; exit 1; fi
	go vet ./...
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	@# A core links one program. Together, these are there sooner than one after the other, and the tests need them, too.
	cargo build --release --quiet -p weir-dataplane -p weir-load -p weir-icount
	@$(MAKE) web-check bench-icount

.PHONY: fix
fix: ## repair what check finds, where a tool can
	go run ./tools/wrap $$(git ls-files '*.go' | grep -Ev '^api/gen/|_bpfel.go$$')
	gofmt -w $$(git ls-files '*.go' | grep -v '^api/gen/')
	cargo fmt --all
	cargo clippy --workspace --all-targets --quiet --fix --allow-dirty --allow-staged

.PHONY: gen
gen: packages-build packages-gen ## generate code from the contracts in api/, compile the programs in fastpath/
	api/gen.sh
	fastpath/gen.sh
	WEIR_GEN=write cargo test --quiet -p weir-api

.PHONY: build
build: packages-build web/dist/app/index.html ## release binaries into bin/
	@[ -e target/release/weir-dataplane ] || echo 'The first build takes about four minutes on two cores.'
	cargo build --release --quiet -p weir-dataplane -p weir-load
	go build -tags release -o $(BIN)/weir ./cmd/weir # release: refuses to build without the pages
	@install -m 755 target/release/weir-dataplane target/release/weir-load target/release/weir-origin $(BIN)/

# The pages of the web UI. vite.config.ts holds them to limits of size.
WEB_SOURCES := $(shell find web -path web/node_modules -prune -o -path web/dist -prune -o -type f ! -name '*.go' -print)
web/dist/app/index.html: web/node_modules/.installed $(WEB_SOURCES)
	@cd web && npm run --silent build -- --logLevel warn
web/node_modules/.installed: web/package-lock.json
	@command -v npm >/dev/null || { echo 'node is missing: install Node 20.19 or newer, see https://nodejs.org' >&2; exit 1; }
	@cd web && npm ci --silent --no-audit --no-fund
	@touch $@

.PHONY: web-check
web-check: web/dist/app/index.html # types and unit tests of the pages; the build before them checks the sizes
	@cd web && npm run --silent types && npm run --silent test -- --silent --reporter=dot

.PHONY: pictures
pictures: packages-test build ## take the pictures of docs/ui.md again, while `make demo` runs (URL=https://127.0.0.1:9443 PASSWORD=...)
	@tools/debian-packages pngquant
	@cd web && WEIR_CHROMIUM=$$(command -v chromium) WEIR_URL="$(URL)" WEIR_PASSWORD="$(PASSWORD)" WEIR_PICTURES=../docs WEIR_ONLY="$(ONLY)" node tests/pictures.mjs
	@pngquant --force --ext .png --speed 1 64 docs/ui-*.png

.PHONY: lab
lab: packages-lab build ## build a whole network on this machine: router, engines, servers, clients; needs root (ARGS="up --engines 8", ARGS=down)
	@exec $(AS_ROOT) $(BIN)/weir lab $(or $(ARGS),up)

.PHONY: bench
bench: packages-bench build ## measure CPU per transaction beside nginx, HAProxy and Envoy (ARGS="--workload A1 --quick")
	@cargo build --release --quiet -p weir-icount && install -m 755 target/release/weir-icount $(BIN)/
	@exec $(BIN)/weir bench run $(ARGS)

.PHONY: bench-elastic
bench-elastic: packages-lab build ## measure in labs what clients notice while engines come, go and fail; needs root (ARGS="--row kill --quick")
	@exec $(BIN)/weir bench elastic $(ARGS)

.PHONY: bench-abuse
bench-abuse: packages-bench build ## measure what other clients see while a service is abused, beside nginx and HAProxy (ARGS="--row idle,heads --quick")
	@exec $(BIN)/weir bench abuse $(ARGS)

.PHONY: bench-control
bench-control: packages-bench build ## measure how the controller scales, up to 5,000 virtual services (ARGS="--row change --services 1000")
	@exec $(BIN)/weir bench control $(ARGS)

.PHONY: bench-telemetry
bench-telemetry: packages-bench packages-test build ## measure whether figures are true, how soon they are visible, what they cost (ARGS="--rows percentiles,segments --quick")
	@cargo build --release --quiet -p weir-icount && install -m 755 target/release/weir-icount $(BIN)/
	@exec $(BIN)/weir bench telemetry $(ARGS)

.PHONY: bench-rules
bench-rules: packages-bench build ## measure what rules of HTTP policies cost, beside those of peers (ARGS="--row host-path --quick")
	@cargo build --release --quiet -p weir-icount && install -m 755 target/release/weir-icount $(BIN)/
	@exec $(BIN)/weir bench rules $(ARGS)

.PHONY: bench-icount
bench-icount: packages-icount ## count the data plane's instructions (WRITE=1: record them; ROW=name: list the dearest functions)
	@cargo build --release --quiet -p weir-icount
	@target/release/weir-icount --counts bench/icount/counts.txt --profiles target/icount $(if $(WRITE),--write) $(if $(ROW),--row $(ROW))

.PHONY: sim
sim: packages-build ## simulate the data plane from SEED (default 1), COUNT seeds on
	@cargo test --workspace --quiet --no-run --test seeds # the simulator as `make test` built it
	@$(or $(CARGO_TARGET_DIR),target)/debug/weir-sim --seed $(or $(SEED),1) --count $(or $(COUNT),1) $(if $(COUNT),,--verbose)

.PHONY: robustness
robustness: packages-test packages-robustness build ## run the long forms of tests, about two hours on two cores: other seeds, more random cases, e2e three times
	cargo test --workspace --quiet --no-run --test seeds
	$(or $(CARGO_TARGET_DIR),target)/debug/weir-sim --seed 10001 --count 200000
	go test ./controller/reconcile -run EverySeed -timeout 60m -sim.seeds 20000
	PROPTEST_CASES=100000 cargo test --quiet -p weir-balance -p weir-snapshot
	WEIR_RULES_CASES=200000 cargo test --quiet -p weir-rules --test plain # a million requests
	go test ./agent/monitor -run 'IsUp$$' -monitor.real
	go test ./logs/store -run Hostile -count 50 -timeout 30m
	go test ./logs/store -run Million -rows 1000000 -v -timeout 60m
	go test -count 3 -timeout 90m ./tests/e2e
	go test ./tests/e2e -run EachRequestIsInARecord -records.requests 10000000 -timeout 90m

.PHONY: fuzz
fuzz: packages-build ## fuzz TARGET (default http1_request) for SECONDS (default 60); needs a nightly Rust
	@cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz@0.13.2
	cd dataplane && cargo +nightly fuzz run --fuzz-dir fuzz $(or $(TARGET),http1_request) -- -max_total_time=$(or $(SECONDS),60)

.PHONY: packages-build packages-gen packages-test packages-demo packages-lab packages-bench packages-icount packages-robustness
packages-build:
	@command -v cargo >/dev/null || { echo 'cargo is missing: install Rust 1.95, see https://rustup.rs' >&2; exit 1; }
	@command -v go >/dev/null || { echo 'go is missing: install Go 1.26, see https://go.dev/dl' >&2; exit 1; }
	@tools/debian-packages $(BUILD_PACKAGES)
packages-gen:
	@tools/debian-packages $(GEN_PACKAGES)
packages-test: packages-build
	@tools/debian-packages $(TEST_PACKAGES)
packages-demo: packages-build
	@tools/debian-packages $(DEMO_PACKAGES)
packages-lab: packages-build
	@tools/debian-packages $(LAB_PACKAGES)
packages-bench: packages-build
	@tools/debian-packages $(BENCH_PACKAGES)
packages-icount: packages-build
	@tools/debian-packages $(ICOUNT_PACKAGES)
packages-robustness: packages-build
	@tools/debian-packages $(ROBUSTNESS_PACKAGES)
