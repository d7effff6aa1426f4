# Few verbs; `make` alone explains them.

BIN := bin/sojourn
GO  := go
PART := Stock

# Every verb compiles alike, and what is compiled depends on no folder: they share the build cache, as do clones.
export GOFLAGS ?= -trimpath

.PHONY: help build run test test-module test-others test-long test-race test-hadoop soak lint bench fuzz release clean validate-model schedules-by-size goals-on-hadoop
.DEFAULT_GOAL := help

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

build: ## build bin/sojourn
	$(GO) build -o $(BIN) ./cmd/sojourn

run: build ## run a mix of real MapReduce jobs under three policies and compare them (two minutes at most)
	./examples/mix/run.sh $(BIN)

# Stock Hadoop is fetched once, and kept beside other caches.
STOCK = SOJOURN_HADOOP=$$(SOJOURN_FETCH_TIME=240 ./internal/yarn/fetch-stock.sh hadoop)

# Browsers, JVMs and real jobs wait for much of their time: with two packages more than there are processors, other tests
# run meanwhile.
PACKAGES = $$(( $$(getconf _NPROCESSORS_ONLN) + 2 ))

# What takes longest begins first, so that nothing runs alone at the end.
ALL = ./internal/yarn ./internal/web ./mr/jobs ./policy ./...

# Modules of their own.
OTHERS = cd examples/own && $(GO) vet ./... && $(GO) test ./... && cd ../../release && $(GO) vet ./...

# What properties are tried on is drawn from one seed, so that equal sources give equal results. test-long draws anew.
test: ## vet, lint and test everything, a few jobs of stock Hadoop too where a JDK and Maven are (5 minutes)
	@$(MAKE) --no-print-directory -j 2 test-module test-others

test-module: export RAPID_SEED ?= 1
test-module:
	$(STOCK) $(GO) test -p $(PACKAGES) -timeout 30m $(ALL)

test-others:
	$(OTHERS)

test-long: ## the same with more seeds, the tests that take long, and the long commands of README.md
	$(STOCK) SOJOURN_LONG=1 $(GO) test -count=1 -timeout 60m ./...
	$(OTHERS)

test-race: ## every test under the race detector (an hour; needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -timeout 90m ./...

test-hadoop: ## stock Hadoop 3.4.2, Spark 3.5.5, Tez 0.10.4 and Flink 2.0.0, fetched by Maven and pip, under the ResourceManager (half an hour; PART=StockCapacity/Spark for less)
	./internal/yarn/test-stock.sh '$(PART)'

soak: ## half an hour of churn, crashes, rogue callers and a restart each minute under the ResourceManager (SOAK=5m for less)
	SOJOURN_SOAK=$(or $(SOAK),30m) $(GO) test -count=1 -timeout 90m -run '^TestSoak$$' -v ./internal/yarn

validate-model: ## measure cells of real jobs on stock Hadoop that are missing, on an idle machine, and write the model's page (half an hour for all 54)
	./internal/yarn/validate-model.sh

schedules-by-size: ## mean sojourn times of ten jobs on stock Hadoop under four policies, on an idle machine (an hour)
	./internal/yarn/schedules-by-size.sh

goals-on-hadoop: ## deadlines met of 30 jobs on stock Hadoop under three policies, five times, on an idle machine (two hours)
	./internal/yarn/goals-on-hadoop.sh

lint: ## formatting, vet, staticcheck, dead code, import arrows and the other rules of the tree
	SOJOURN_LONG=1 $(GO) test -count=1 -run 'TestTidy' .

bench: build ## the figures of docs/performance.md, beside peers where they are installed (25 minutes; BENCH='-only sim' for less)
	$(GO) run ./bench -sojourn $(BIN) $(BENCH)

fuzz: ## a minute of fuzzing for each parser of foreign bytes
	./bench/fuzz.sh

release: ## write programs, archives and Debian packages for Linux on amd64 and arm64 to dist (a minute)
	./release/release.sh

clean: ## remove what was built and made here
	rm -rf bin dist out
