# colltune: `make run` and `make test` do all set-up on a fresh machine.

GO         ?= go
BIN        := bin/colltune
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOTESTSUM  := gotest.tools/gotestsum@v1.13.0
# cgo is never needed; without it one toolchain builds everywhere.
export CGO_ENABLED ?= 0
# The commit is stamped where this is a checkout that git may read, whatever GOFLAGS
# says: colltune version and exported files name it.
VCS := $(shell git status --porcelain >/dev/null 2>&1 && echo true || echo false)

.PHONY: run build setup tools test winners accuracy papers test-long test-hosts gpu-tests test-gpu bench lint fuzz clean

run: build ## the main job: search AllReduce on a DGX A100, then export the winners
	./$(BIN) search -t dgx-a100 -c allreduce -b 1K -e 1G --campaign out/campaign
	./$(BIN) export out/campaign --to msccl-xml --out out/export

build: setup
	@$(GO) build -trimpath -buildvcs=$(VCS) -o $(BIN) ./cmd/colltune

setup: ## say what is missing; install libz3 where that is allowed
	@sh ./setup.sh "$(GO)"

# A test that lacks one of these says so and is skipped.
tools: ## compilers that some tests need, where apt installs them without a password
	@for tool in clang-16 g++; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	test -z "$$missing" || { test "$$(id -u)" -eq 0 && apt-get -q update && apt-get -y -q install clang-16 g++; } >/dev/null 2>&1 || \
	echo "not here and could not be installed:$$missing" >&2

# Many tests wait for processes and clocks most of the time: four packages run at once, and
# four of a package's parallel tests.
# What make test draws at random is the same on every machine, so that a change is
# judged by what it changed; test-long draws anew, and prints the seed of what fails.
test: export RAPID_SEED ?= 1
# A tenth less processor time, for more memory. Children that judge by what lives set their own.
test: export GOGC ?= 400
# As build has it, so that what one of them compiles is there for the other.
test: export GOFLAGS ?= -trimpath
# go test vets by its own short list, which takes half of the time; make lint by the whole one.
# These take longest; they begin first, so that none runs on alone in the end.
SLOW := ./cmd/colltune ./search ./templates ./executor/cuda ./constraints/synth
test: setup ## every package, with the ten slowest tests; the solvers' own once more without libz3
	@mkdir -p bin
	$(GO) run $(GOTESTSUM) --format pkgname-and-test-fails --jsonfile bin/tests.json -- -p 4 -parallel 4 -timeout 60m $(SLOW) ./...
	@echo "the ten slowest tests:"; $(GO) run $(GOTESTSUM) tool slowest --num 10 --jsonfile bin/tests.json
	COLLTUNE_Z3=off $(GO) test -vet=off -timeout 60m ./constraints/solver
	COLLTUNE_Z3=off $(GO) test -vet=off -timeout 60m ./constraints/rings ./constraints/synth ./search ./search/program -run 'BruteForce|DGX1|Frontier|Hole|NoRing|Rings$$|Symmetry|Synthesised'
	COLLTUNE_Z3=off $(GO) test -vet=off -timeout 60m ./cmd/colltune -run 'TestScripts/(compile_hole|doctor_found|search_small|synth_)'

winners: setup ## golden winning tables of whole searches, all of them; UPDATE=1 writes them anew
	COLLTUNE_WINNERS=1 $(GO) test ./search -run '^TestWinners$$' -v -timeout 30m $(if $(UPDATE),-update-winners)

# MEASURED is a folder of whole data sets; without it, the rows in the repository. MANIFEST
# describes other data sets there, which are held to the shipped intervals.
MEASURED ?= $(wildcard ../shared/data/measured)
accuracy: setup ## simulated times against measured ones, by zone; fails where shipped intervals hold too few; UPDATE=1 writes rows, intervals and docs/reference/simulator-errors.md anew
	$(GO) run ./cmd/lab accuracy $(if $(MEASURED),--measured $(MEASURED)) $(if $(MANIFEST),--manifest $(MANIFEST) --shipped) $(if $(UPDATE),--update)

# It takes some 6 minutes of processor time, on two jobs, and 3 GB.
papers: setup ## what the papers claim, simulated; fails where a verdict is worse; UPDATE=1 writes cmd/lab/papers.md anew
	$(GO) run ./cmd/lab papers $(if $(UPDATE),--update)

test-long: setup tools ## slow suites: race detector, long property tests, fuzzing
	COLLTUNE_LONG=1 $(GO) test -timeout 60m ./...
	COLLTUNE_Z3=off $(GO) test -timeout 60m ./constraints/... ./search/... ./cmd/...
	CGO_ENABLED=1 $(GO) test -race -timeout 60m ./...
	$(MAKE) fuzz
	$(MAKE) dist-check

dist-check: setup ## build for every system, and twice with the same bytes; modules as published, their licences, known vulnerabilities
	@sh ./dist-check.sh "$(GO)"

test-hosts: setup ## as root, with Slurm and sshd installed: searches through real launchers, and what goes wrong there
	COLLTUNE_HOSTS=1 $(GO) test ./cmd/colltune -run '^TestHosts$$' -v -timeout 60m

# Left alone, go test makes each input that reaches new code smaller for up to a
# minute, and tries nothing else meanwhile.
FUZZTIME ?= 30s
fuzz: ## each fuzz target for FUZZTIME
	@$(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/{f[n++]=$$1} /^ok/{for(i=0;i<n;i++)print $$2, f[i]; n=0}' | \
	while read -r pkg target; do \
		echo "$$pkg $$target"; \
		$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "$$pkg" || exit 1; \
	done

gpu-tests: setup ## bin/gpu, and bin/gpu.tar.gz: what test-gpu needs, for a machine that has a GPU and no Go
	$(GO) build -trimpath -buildvcs=$(VCS) -ldflags '-s -w' -o bin/gpu/colltune ./cmd/colltune
	$(GO) test -c -trimpath -ldflags '-s -w' -o bin/gpu/cuda.test ./executor/cuda
	$(GO) test -c -trimpath -ldflags '-s -w' -o bin/gpu/nccl.test ./executor/nccl
	tar -czf bin/gpu.tar.gz bin/gpu

test-gpu: ## with an NVIDIA GPU: NCCL, every family, the figures, the sanitizer's tools, a search, a profile, into $$OUT (out/gpu)
	@sh executor/cuda/testdata/on-gpu.sh

bench: ## performance figures, side by side in one run
	$(GO) test -run '^$$' -bench . -benchmem ./...

lint: ## gofmt, vet, staticcheck; lines of product code by room
	@unformatted=$$(gofmt -l . | grep -v '\.pb\.go$$'); test -z "$$unformatted" || { echo "not gofmt'ed:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	@git ls-files '*.go' | grep -vE '_test\.go$$|\.pb\.go$$|^cmd/lab/|test/|testdata' | xargs awk \
	'{ split(FILENAME, path, "/"); lines[path[1]]++ } END { for (room in lines) if (room !~ /[.]go$$/) print lines[room], room; print NR, "product lines" }' | sort -n

clean: ## what was built; out/ stays, since campaigns lie there
	rm -rf bin
