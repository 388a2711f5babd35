# The commands of this repository. `make` alone lists them.

GO ?= go

# One build cache for all: SIMD, and no asynchronous preemption, which makes
# math.Exp of a SIMD build 50 to 100 times slower. Of the C library's allocator see
# pkg/launch/settings.go, which has programs start with the same.
export GOEXPERIMENT := simd
export GODEBUG := asyncpreemptoff=1
export GLIBC_TUNABLES := glibc.malloc.mmap_threshold=268435456:glibc.malloc.trim_threshold=536870912:glibc.malloc.hugetlb=1
export GOMLX_NO_AUTO_INSTALL := 1
export GOFLAGS := $(strip -buildvcs=false $(filter-out -buildvcs=%,$(GOFLAGS)))

check := $(filter-out 0 no false,$(CHECK))
with_peers := $(filter-out 0 no false,$(PEERS))
packages ?= ./...
sources := find . -path './.*' -prune -o -name '*.go' -print

.DEFAULT_GOAL := help
.PHONY: help build lab test notebooks bench fmt lint clean

help: ## this list
	@echo "make COMMAND, where COMMAND is one of"
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 14

# No Go, or one that does not know the experiment, says nothing that helps. Go ≥ 1.26
# does know it, and gets by itself what go.mod asks for beyond that.
.PHONY: has-go
has-go:
	@found=$$(cd / && env -u GOEXPERIMENT GOTOOLCHAIN=local $(GO) env GOVERSION 2>/dev/null | sed 's/^devel //; s/[ -].*//'); \
	printf 'go1.26\n%s\n' "$$found" | sort -V -C || { \
		echo "make: found $${found:-no Go (there is no '$(GO)' in PATH)}; install Go $$(sed -n 's/^go //p' go.mod) or newer from https://go.dev/dl" >&2; exit 1; }

# The first build takes a minute and says nothing.
building := test -d .molehill || echo "Building molehill (a minute or two on an empty build cache) ..."

build: has-go ## compile all packages
	@$(GO) build ./...

lab: has-go ## set up what is missing, then JupyterLab (PORT=8888; CHECK=1: start, ask, stop)
	@$(building)
	@$(GO) run . lab $(if $(check),--check) $(if $(PORT),--port $(PORT))

# Two packages at a time, the longest from the start: first the lessons, which
# leave most of one core to others, then what XLA compiles on one core.
first := molehill/pkg/kernel|molehill/transport/graph
test: has-go ## set up what is missing, then all tests (MOLEHILL_THOROUGH=1: the slow ones too)
	@$(building)
	@$(GO) run . lab --check
	@all=$$($(GO) list $(packages)) || exit; export all; \
	$(GO) tool gotestsum --format pkgname --raw-command -- sh -c '\
		{ echo "$$all" | grep -xE "$(first)"; echo "$$all" | grep -vxE "$(first)"; } | \
		xargs -r $(GO) test -json -timeout 40m -p 2 "$$@"' sh $(TESTFLAGS)

notebooks: has-go ## execute the notebooks in place and export them to exports/*.html
	@$(GO) run . notebooks --html

# Other programs that benchmarks run beside ours. They are no part of the product.
pinned := privacy/accountant/testdata/peers.txt transport/transporttest/testdata/peers.txt
set_up_peers := cat $(pinned) | cmp -s - .molehill/peers/pinned.txt || { \
	echo "Installing $(pinned) into .molehill/peers ..."; rm -rf .molehill/peers; \
	python3 -m venv .molehill/peers && .molehill/peers/bin/pip install --quiet $(pinned:%=-r %) && \
	cat $(pinned) > .molehill/peers/pinned.txt; }

bench: has-go ## all benchmarks (PEERS=1: beside other libraries, installed from PyPI)
	@$(if $(with_peers),$(set_up_peers))
	@$(GO) test -p 1 -run '^$$' -bench . -benchmem $(packages)

fmt: ## format the sources
	@gofmt -l -w $$($(sources))

lint: has-go ## formatting, go vet, staticcheck
	@unformatted=$$(gofmt -l $$($(sources))); \
		test -z "$$unformatted" || { echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; }
	@$(GO) vet ./...
	@$(GO) tool staticcheck ./...

clean: ## remove the set-up, built programs and exports; runs and data stay
	@rm -rf .molehill/venv .molehill/venv.old .molehill/venv.gone .molehill/bin .molehill/jupyter .molehill/setup.json .molehill/setup.log .molehill/tests .molehill/tests.lock exports molehill
