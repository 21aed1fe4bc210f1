# observer-patch for upstream Kafka. Two targets do all the set-up: kafka and test.

VERSION ?= 4.1.0
SET     ?=
ARGS    ?=

# Resolved when first used: installs what is missing and prints the Go command.
GO = $(or $(GO_COMMAND),$(eval GO_COMMAND := $(shell ci/prerequisites))$(GO_COMMAND),$(error ci/prerequisites failed, see above))
STAMP = -ldflags "-X main.stamp=$(shell git rev-parse --short=12 HEAD 2>/dev/null)$(shell git diff --quiet HEAD 2>/dev/null || echo -dirty)"
TOOL  = bin/observer-patch

.PHONY: kafka test build lint vuln unit cluster-test operate-test auto-cycles matrix check lab soak bench upstream-tests mutation metrics-test jmh throughput arm64 release clean

## kafka: patched, proven jars of one release in dist/ (make kafka VERSION=4.1.0)
kafka: build
	$(TOOL) build --version $(VERSION) $(if $(SET),--set $(SET)) $(ARGS)

## test: everything that CI runs
test: build lint check unit cluster-test

build:
	$(GO) build $(STAMP) -o $(TOOL) ./cmd/observer-patch

lint:
	$(GO) vet -tags cluster,upstream,mutation,emulated,metrics,throughput ./...
	$(GO) tool staticcheck -tags cluster,upstream,mutation,emulated,metrics,throughput ./...
	$(GO) tool actionlint

## vuln: known vulnerabilities of the libraries used (needs Go's vulnerability database)
vuln:
	$(GO) tool govulncheck ./...

## check: every anchor of every release and mode, exactly once
check: build
	$(TOOL) check --version all --set base
	$(TOOL) check --version all --set full
	$(TOOL) lock --check

unit:
	$(GO) test -timeout 40m ./...

## cluster-test: a few scenarios on real brokers, with jars built here
cluster-test: build
	$(GO) test -tags cluster -timeout 20m -count 1 ./internal/lab/smoke/...

## operate-test: the operators' commands against real clusters of jars built here; writes evidence/operate.md
operate-test: build
	$(GO) test -tags cluster -timeout 60m -count 1 ./internal/cluster/... ./internal/lab/cluster
	$(GO) test -tags cluster -timeout 60m -count 1 -v ./internal/lab/operate -evidence "$(CURDIR)/evidence"

## auto-cycles: automatic promotion through random cycles on a live cluster, judged from outside; writes evidence/auto-cycles.md (make auto-cycles CYCLES=200 SEED=8 MINUTES=60)
auto-cycles: CYCLES ?= 200
auto-cycles: SEED ?= 8
auto-cycles: MINUTES ?= 60
auto-cycles: build
	$(GO) test -tags cluster -timeout 150m -count 1 -v -run RandomCycles ./internal/lab/operate -cycles $(CYCLES) -cycle-seed $(SEED) -cycle-minutes $(MINUTES) -cycle-evidence "$(CURDIR)/evidence"

## matrix: build and prove every release, mode and Scala version
matrix: build
	ci/matrix $(TOOL)

## lab: the fault matrix on every leg; writes evidence/
lab: build
	ci/lab $(TOOL)

## soak: random faults for half an hour (make soak VERSION=4.1.0 ARGS="--mode kraft --seconds 1800 --seed 7")
soak: build
	$(TOOL) lab run S16 --version $(VERSION) --seconds 1800 $(ARGS) --out dist/soak

## upstream-tests: upstream's own tests on patched and own jars, without a file: the same results, counted in evidence/upstream-tests.md
upstream-tests:
	$(GO) test -tags upstream -timeout 3h -count 1 -v -run Upstreams ./internal/kerneltest -args -table $(CURDIR)/evidence

## metrics-test: gauges of live nodes over JMX, and the files in ops/ on real scrapes (Debian's prometheus, the JMX exporter through mvn); writes evidence/metrics.md
metrics-test:
	rm -rf bin/metrics
	OBSERVER_PATCH_TEST_PROMETHEUS="$$(ci/prometheus bin/prometheus)" $(GO) test -tags metrics -timeout 60m -count 1 -v ./internal/lab/metrics -pages "$(CURDIR)/bin/metrics"
	{ printf '# Gauges, dashboard and alerts on live clusters\n\nMade by `make metrics-test`: three brokers, the third an observer; KRaft with an isolated controller.\n\n'; cat bin/metrics/*.part; } >evidence/metrics.md

## jmh: what 'is this broker an observer?' costs; writes evidence/jmh.md. On a quiet machine
jmh: build
	mkdir -p bin
	ci/jmh $(TOOL) >bin/jmh.md && mv bin/jmh.md evidence/jmh.md

## throughput: what a producer pays, beside upstream in the same run; writes evidence/throughput.md. An hour, on a quiet machine with 16 GB
throughput: build
	$(TOOL) build --version $(VERSION) --mode kraft --out bin/throughput
	TMPDIR=$${TMPDIR:-/dev/shm} $(GO) test -tags throughput -timeout 2h -count 1 -v ./internal/lab/throughput -dist "$(CURDIR)/bin/throughput" -release $(VERSION) -page "$(CURDIR)/evidence/throughput.md"

## mutation: every hook of set full left out in turn; some test has to fail for each
mutation:
	rm -rf bin/mutations
	$(GO) test -tags mutation -timeout 3h -count 1 -v -run LeftOut ./internal/kerneltest -mutations "$(CURDIR)/bin/mutations"
	{ printf '# Every hook left out in turn\n\nMade by `make mutation`. A row is a hook of set full that was left out, and the tests that failed then; with every hook they pass. What is not here are files of our own and `is-observer`, the question that they all ask: without them nothing compiles.\n\n| hook | release | failed without it | when (UTC) |\n| --- | --- | --- | --- |\n'; cat bin/mutations/*.row; } >evidence/mutation.md

## arm64: the same bundle from an emulated arm64 JDK; the patched broker on it, also from an image; writes evidence/
arm64: build
	ci/arm64-build $(TOOL) evidence/arm64-build.md $(VERSION)
	$(GO) test -tags emulated -timeout 60m -count 1 -v ./internal/lab/arm64 -release $(VERSION) -evidence $(CURDIR)/evidence

## bench: how long check, build and verify take, measured in one run
bench: build
	ci/bench $(TOOL) $(GO)

## release: static binaries, parts lists, manual pages, completions and Debian packages of the last commit, built twice and compared
release:
	ci/release-build "$(GO)" dist/release

clean:
	rm -rf bin dist
