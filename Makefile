# `make` prints the common targets. Each works on a fresh clone with Go; e2e also needs npm (Node 20 or newer).

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0
ACTIONLINT  = github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
EDITORCONFIG = github.com/editorconfig-checker/editorconfig-checker/v3/cmd/editorconfig-checker@v3.7.0
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.8.0
GREMLINS    = github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
VERSION     ?=
PKG         ?= ./internal/quirks
BIN         ?= bin/droid-acp
# For make install; DESTDIR is prepended to all paths.
PREFIX      ?= /usr/local
DESTDIR     ?=
SHARE       = $(DESTDIR)$(PREFIX)/share
# -short skips long random runs and tests with an older droid. SHORT= runs everything.
SHORT       ?= -short
# For a release: docs/dev/releasing.md
REPOSITORY  ?=
BASE_URL    ?=
SCOPE       ?=
MAINTAINER  ?=

.PHONY: help demo check test race e2e lint build install fuzz bench \
	uninstall e2e-via e2e-keep kubernetes check-all mutate profile cross release release-check vocabulary record compare acp-check rename clean

help:
	@sed -n 's/^\([a-z0-9]*\):[a-z ]*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

demo: build ## run the built-in demo conversation
	bin/droid-acp smoke --demo --permissions allow "Add a greeting"

check: ## run this while you work: formatting, vet, and the tests of everything that has changed
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w:" $$unformatted; exit 1; fi
	go vet ./... && go vet -tags e2e ./e2e
	@! git status --porcelain | grep -qE '_(windows|darwin|linux|unix|other)(_test)?\.go$$' || { GOOS=windows go vet ./... && GOOS=darwin go vet ./...; }
	go test $(SHORT) -timeout 20m ./...

# With the flags of check, since Go's cache depends on them.
test: ## all tests that need no droid
	go test $(SHORT) -timeout 20m ./...
	GOWORK=off go test -C scripts/release $(SHORT) -timeout 20m ./...

race: ## the same with the race detector
	go test $(SHORT) -timeout 60m -race ./...

e2e: ## tests with the real droid, in a network namespace without network
	go test -tags e2e $(SHORT) -count=1 -timeout 60m ./e2e

lint: ## the checks of check, and staticcheck, other systems, workflows, scripts, vulnerabilities, commits
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w:" $$unformatted; exit 1; fi
	go vet ./... && go vet -tags e2e ./e2e
	go run $(STATICCHECK) ./...
	cd scripts/release && export GOWORK=off && go vet ./... && go run $(STATICCHECK) ./...
	GOOS=windows go vet ./... && GOOS=darwin go vet ./...
	@git log -20 --no-merges --format=%s | awk 'length > 72 || !/^[A-Za-z0-9_.\/, -]+: [^ ]/ { print "not \"area: what changed\" in 72 characters: " $$0; bad = 1 } END { exit bad }'
	go run $(ACTIONLINT)
	go run $(EDITORCONFIG) -disable-indentation
	@if command -v shellcheck >/dev/null; then shellcheck -S warning .ci/run $$(git ls-files '*.sh'); else echo "shellcheck: SKIPPED, it is not installed"; fi
	GOVULNCHECK=$(GOVULNCHECK) sh scripts/govulncheck.sh

build: ## build bin/droid-acp, without libraries of the system (so "via --copy" can copy it)
	CGO_ENABLED=0 go build -trimpath $(if $(VERSION),-ldflags "-X main.Version=$(VERSION)") -o $(BIN) ./cmd/droid-acp

install: build ## put the program, its manual page and completions of shells below PREFIX
	umask 022 && mkdir -p "$(DESTDIR)$(PREFIX)/bin" "$(SHARE)/man/man1" "$(SHARE)/bash-completion/completions" "$(SHARE)/zsh/site-functions" "$(SHARE)/fish/vendor_completions.d" && \
		install -m 755 $(BIN) "$(DESTDIR)$(PREFIX)/bin/droid-acp" && \
		$(BIN) man > "$(SHARE)/man/man1/droid-acp.1" && \
		$(BIN) completion bash > "$(SHARE)/bash-completion/completions/droid-acp" && \
		$(BIN) completion zsh > "$(SHARE)/zsh/site-functions/_droid-acp" && \
		$(BIN) completion fish > "$(SHARE)/fish/vendor_completions.d/droid-acp.fish"

fuzz: ## each fuzz target 100,000 times
	sh scripts/fuzz.sh 100000x

bench: ## the table of docs/dev/performance.md: a turn, and droid-acp beside droid alone (30 minutes)
	go test -run '^$$' -bench Turn -benchmem ./internal/adapter/session
	DROID_ACP_E2E_PERFORMANCE=$(CURDIR)/docs/dev/performance.md go test -tags e2e -run '^$$' -bench Performance -benchtime 9x -timeout 1h ./e2e

# Of releases, of droid's versions, and what CI runs by the week.

uninstall: # remove what make install put there, with the same PREFIX and DESTDIR
	rm -f "$(DESTDIR)$(PREFIX)/bin/droid-acp" "$(SHARE)/man/man1/droid-acp.1" "$(SHARE)/bash-completion/completions/droid-acp" \
		"$(SHARE)/zsh/site-functions/_droid-acp" "$(SHARE)/fish/vendor_completions.d/droid-acp.fish"

e2e-via: # the tests about files with the agent at the far side of droid-acp via: behind a mount namespace, and behind SSH
	DROID_ACP_E2E_VIA=mount go test -tags e2e -count=1 -timeout 30m ./e2e
	DROID_ACP_E2E_VIA=ssh go test -tags e2e -count=1 -timeout 30m ./e2e

e2e-keep: # the same with agents that outlive their editor; what is left out says why (notKept)
	DROID_ACP_E2E_KEEP=1 go test -tags e2e $(SHORT) -count=1 -timeout 60m ./e2e

kubernetes: # the examples for Kubernetes, read with Kubernetes' own types
	GOWORK=off go test -C scripts/kubernetes ./...

check-all: # everything that CI runs, once a week what is below in .ci/run
	.ci/run all

mutate: # small changes of PKG (./internal/quirks) that its tests do not notice
	go run $(GREMLINS) unleash --timeout-coefficient 60 --output-statuses lt $(PKG)

profile: # where a turn of 20,000 deltas takes time and memory, in profile/
	mkdir -p profile
	go test -run '^$$' -bench Turn -benchtime 50x -o profile/adapter.test -cpuprofile profile/cpu -memprofile profile/heap ./internal/adapter/session
	go tool pprof -top profile/adapter.test profile/cpu 2>/dev/null | head -20
	go tool pprof -top -sample_index=alloc_space profile/adapter.test profile/heap 2>/dev/null | head -20

cross: # build for all supported systems
	for os in linux darwin windows; do for arch in amd64 arm64; do GOOS=$$os GOARCH=$$arch go build -o /dev/null ./cmd/droid-acp || exit 1; done; done

release: # everything that a release offers, in dist/; VERSION=1.2.3 unless the commit has a tag v1.2.3
	GOWORK=off go run -C scripts/release . $(if $(VERSION),-version $(VERSION)) $(if $(REPOSITORY),-repository $(REPOSITORY)) $(if $(BASE_URL),-base-url $(BASE_URL)) $(if $(SCOPE),-scope $(SCOPE)) $(if $(MAINTAINER),-maintainer "$(MAINTAINER)")

release-check: # what is in dist/: installed, run, removed, and looked at as ACP's registry does
	GOWORK=off go test -C scripts/release -count=1 . -dist ../../dist

vocabulary: # the names that stand in the droid VERSION of npm, into testdata/droids/vocabulary
	DROID_ACP_E2E_WIRE=$(VERSION) go test -tags e2e -count=1 -run '^TestVocabulary$$' ./e2e
	go test ./internal/testing/droids -run TestGenerated -update

record: # conversations with the droid VERSION of npm, offline, into testdata/droids/recordings
	DROID_ACP_E2E_WIRE=$(VERSION) go test -tags e2e -count=1 -parallel 3 -timeout 30m -run '^TestRecordWire$$' ./e2e
	go test ./internal/testing/droids -run TestGenerated -update

compare: # what the droid B was recorded to do otherwise than A
	go run ./scripts/droids $(A) $(B)

acp-check: # the newest schema of ACP on npm: what it has otherwise than ours, and our lines held against it
	sh scripts/acp-check.sh

rename: # give the module the path MODULE, in go.mod and in all imports: `go install` fetches a module from its path
	old=$$(go list -m) && go mod edit -module $(MODULE) && \
		git grep -lz "\"$$old/internal/" -- '*.go' | xargs -0 perl -pi -e "s{\"\Q$$old\E/internal/}{\"$(MODULE)/internal/}g"
	gofmt -w .

clean:
	rm -rf bin dist
