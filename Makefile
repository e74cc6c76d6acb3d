# Windtunnel. `make demo` and `make test` are all that a fresh machine needs.
GO      ?= go
RELEASE ?= $(shell git describe --always --dirty 2>/dev/null || echo development)
LDFLAGS := -s -w -X main.release=$(RELEASE)
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)'

.PHONY: all build demo check test unit e2e fuzz peers soak bench bench-traffic bench-vrouter generate dist clean

all: build

build:
	@mkdir -p bin
	$(BUILD) -o bin/ ./cmd/windtunnel ./cmd/vrouter

# What containers and an overlay vRouter cost TCP on this machine, in three minutes.
demo: build
	./bin/windtunnel run contrail-windows --budget 3m

# Everything that needs no root and no traffic: format, vet, lint, imports, generated files.
check:
	@bash scripts/check.sh

# Every test; what needs a peer program that is missing installs it first.
test: peers build unit e2e fuzz

unit:
	$(GO) test -timeout 300s ./...

e2e: build
	$(GO) test -timeout 1800s -count=1 -tags e2e ./tests/...

# Strangers' bytes: every decoder of the traffic engine, for five minutes in all; the vRouter's
# texts for one, and its core, compiled for the host, for three.
fuzz: peers
	@bash scripts/fuzz.sh traffic 5m
	@bash scripts/fuzz.sh vrouter 1m
	@bash scripts/corefuzz.sh 3m

peers:
	@bash scripts/peers.sh

# The slow, exhaustive parts: 1,000 seeded A/A runs through the pipeline, fuzzers.
soak: build
	@bash scripts/soak.sh

bench: bench-traffic bench-vrouter

bench-traffic: build peers
	$(GO) run ./bench/traffic

bench-vrouter: build
	$(GO) run ./bench/vrouter

# The BPF objects of the vRouter and of raw frames, and the Go types of their records, by the
# pinned compiler.
generate:
	$(GO) generate ./vrouter/... ./traffic/frame/...

dist:
	@bash scripts/dist.sh '$(LDFLAGS)'

clean:
	rm -rf bin dist
