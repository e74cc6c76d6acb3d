# Windtunnel. `make demo` and `make test` are all that a fresh machine needs.
GO      ?= go
RELEASE ?= $(shell git describe --always --dirty 2>/dev/null || echo development)
LDFLAGS := -s -w -X main.release=$(RELEASE)
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)'

.PHONY: all build guest poll demo demo-pps check test unit e2e kills fuzz fuzz-traffic fuzz-vrouter peers promises soak kernels pci cgroup2 bonding nicqueues bench bench-traffic bench-vrouter bench-poll bench-sampling generate dist clean

all: build

build:
	@mkdir -p bin
	$(BUILD) -o bin/ ./cmd/windtunnel ./cmd/vrouter

# A kernel for virtual machines, beside windtunnel: unpacked from the distribution's package, not installed.
guest:
	@bash scripts/guest-kernel.sh bin/guest

# What runs on DPDK, beside them: the vRouter's poll mode, and the sender and counter of frames at its
# ports. Installs DPDK's development files where they are missing.
poll:
	@bash scripts/poll.sh --install

# What containers and an overlay vRouter cost TCP on this machine, in three minutes.
demo: build
	./bin/windtunnel run contrail-windows --budget 3m

# Packets per second of the vRouter: 64 and 1518 bytes through tc, XDP and poll mode, without an overlay
# and in MPLS over UDP, in five minutes. Wants two CPUs and root.
demo-pps: build poll
	./bin/windtunnel run nfv-pps --cells '64B-*-flat,64B-*-mplsoudp,1518B-*-flat,1518B-*-mplsoudp' --budget 5m

# Everything that needs no root and no traffic: format, vet, lint, imports, generated files.
check:
	@bash scripts/check.sh

# Every test; what needs a peer program that is missing installs it first. The inputs that are known to libFuzzer
# are tried once, by `fuzz`, which goes on from them.
# What kills runs waits most of the time, and goes on beside those of the vRouter's fuzzers, which give way to it.
test: SKIP = ^TestLibFuzzer$$|$(KILLS)
test: peers build unit e2e fuzz-traffic
	@$(MAKE) --no-print-directory -j2 -Otarget kills fuzz-vrouter

# The packages that take longest begin first, or they would run alone at the end.
unit:
	$(GO) test -timeout 1200s $(if $(SKIP),-skip '$(SKIP)') ./vrouter ./vrouter/core ./vrouter/poll ./...

# Side by side run only tests that wait more than they work.
e2e: build
	$(GO) test -timeout 1800s -count=1 -parallel 4 -tags e2e $(if $(SKIP),-skip '$(SKIP)') ./tests/...

# Those of them in which runs are killed or stopped at every moment.
KILLS = ^(TestNothingIsLeftAfterKills|TestNothingIsLeftAfterCtrlC|TestARunEndsThoughSomethingHangs)$$
kills: build
	$(GO) test -timeout 1200s -count=1 -tags e2e -run '$(KILLS)' ./tests/e2e

# Strangers' bytes, in minutes of one CPU: every decoder of the traffic engine and of other tools' files, for six in all; the
# vRouter's texts for nearly two, its core, compiled for the host, for two, and what the poll mode does with
# packets for one.
fuzz: fuzz-traffic fuzz-vrouter

fuzz-traffic: peers
	@bash scripts/fuzz.sh 'traffic foreign' 6m

fuzz-vrouter: peers
	@nice bash scripts/fuzz.sh vrouter 100s
	@nice bash scripts/corefuzz.sh 2m
	@nice bash scripts/pollfuzz.sh 1m

peers:
	@bash scripts/peers.sh
	@bash scripts/axe.sh

# What the statistics promise, measured: the figures of docs/statistics.md, on 1,000 seeded suites each, in minutes.
SUITES ?= 1000
promises:
	$(GO) test -count=1 -timeout 1h -v -run 'Famil|Methods|ChangePoints|SteadyState|Median|Needed' ./stats -suites $(SUITES)
	$(GO) test -count=1 -timeout 1h -v -run 'Difference' ./run/fake -suites $(SUITES)

# The slow, exhaustive parts: 1,000 seeded A/A runs through the pipeline, fuzzers.
soak: build
	@bash scripts/soak.sh

# The vRouter's tests under another kernel, in an emulated guest: KERNEL is a version that apt knows, or
# a kernel's package. Half an hour for one; `scripts/kernels.sh` takes more arguments.
KERNEL ?= 6.1
kernels:
	@bash scripts/kernels.sh $(KERNEL)

# The poll mode, the kernel mode and raw frames at NICs of two models, in an emulated guest.
pci:
	@bash scripts/pci.sh

# Containers' limits where control groups are of version 2 alone, in an emulated guest.
cgroup2:
	@bash scripts/cgroup2.sh

# Bonding devices, in an emulated guest whose kernel has them.
bonding:
	@bash scripts/bonding.sh

# What hosts' interfaces are set to, by the driver of virtio-net, in an emulated guest.
nicqueues:
	@bash scripts/nicqueues.sh

bench: bench-traffic bench-vrouter bench-poll bench-sampling

bench-traffic: build peers
	$(GO) run ./bench/traffic

bench-vrouter: build peers
	$(GO) run ./bench/vrouter

bench-poll: build peers poll
	@bash scripts/poll.sh load
	$(GO) run ./bench/poll

bench-sampling: build peers
	$(GO) run ./bench/sampling

# The BPF objects of the vRouter, of raw frames and of the sampler of stacks, and the Go types of their records, by the
# pinned compiler.
generate:
	$(GO) generate ./vrouter/... ./traffic/frame/... ./measure/profile

dist:
	@bash scripts/dist.sh '$(LDFLAGS)'

clean:
	rm -rf bin dist
