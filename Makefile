# Each target works on a fresh clone with Go; e2e also needs npm (Node 20 or newer).

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0
ACTIONLINT  = github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
EDITORCONFIG = github.com/editorconfig-checker/editorconfig-checker/v3/cmd/editorconfig-checker@v3.7.0
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.8.0
VERSION     ?=
PKG         ?= ./internal/quirks
# Of a release: docs/releasing.md
REPOSITORY  ?=
BASE_URL    ?=
SCOPE       ?=
MAINTAINER  ?=

.PHONY: demo build test e2e lint fuzz mutate bench cross release release-check picture clean

demo: build ## run the built-in demo conversation
	bin/droid-acp smoke --demo --permissions allow "Add a greeting"

build: ## build bin/droid-acp
	go build -trimpath $(if $(VERSION),-ldflags "-X main.Version=$(VERSION)") -o bin/droid-acp ./cmd/droid-acp

test: ## unit and integration tests with the race detector
	go test -race ./...
	GOWORK=off go test -C scripts/release ./...

e2e: ## tests with the real droid, in a network namespace without network
	go test -tags e2e -count=1 -timeout 25m ./e2e

lint: ## formatting, vet, staticcheck, cross compilation, workflows, scripts, known vulnerabilities
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not gofmt-clean: $$unformatted"; exit 1; fi
	go vet ./... && go vet -tags e2e ./e2e
	go run $(STATICCHECK) ./...
	cd scripts/release && export GOWORK=off && go vet ./... && go run $(STATICCHECK) ./...
	GOOS=windows go vet ./... && GOOS=darwin go vet ./...
	go run $(ACTIONLINT)
	go run $(EDITORCONFIG) -disable-indentation
	@if command -v shellcheck >/dev/null; then shellcheck -S warning .ci/run $$(git ls-files '*.sh'); else echo "shellcheck: SKIPPED, it is not installed"; fi
	GOVULNCHECK=$(GOVULNCHECK) sh scripts/govulncheck.sh

fuzz: ## each fuzz target 100,000 times
	sh scripts/fuzz.sh 100000x

# Not a part of .ci/run. On two cores, 150 mutants of quirks take about four minutes.
# The raw recordings are left out: they are not in the repository.
mutate: ## small changes of PKG (./internal/quirks) that its tests must notice
	DROID_ACP_TRANSCRIPTS=none go run ./scripts/mutate $(MUTATE) $(PKG)

bench: ## benchmarks
	go test -run '^$$' -bench . -benchmem ./internal/...

cross: ## build for all supported systems
	for os in linux darwin windows; do for arch in amd64 arm64; do GOOS=$$os GOARCH=$$arch go build -o /dev/null ./cmd/droid-acp || exit 1; done; done

release: ## everything that a release offers, in dist/; VERSION=1.2.3 unless the commit has a tag v1.2.3
	GOWORK=off go run -C scripts/release . $(if $(VERSION),-version $(VERSION)) $(if $(REPOSITORY),-repository $(REPOSITORY)) $(if $(BASE_URL),-base-url $(BASE_URL)) $(if $(SCOPE),-scope $(SCOPE)) $(if $(MAINTAINER),-maintainer "$(MAINTAINER)")

release-check: ## what is in dist/: installed, run, removed, and looked at as ACP's registry does
	GOWORK=off go test -C scripts/release -count=1 . -dist ../../dist

picture: build ## draw the pictures of the documents anew
	go run ./scripts/picture docs/conversation.svg bin/droid-acp smoke --demo --mode normal --permissions allow "Add a greeting"
	go run ./scripts/picture docs/demo.svg bin/droid-acp smoke --demo --permissions allow "Add a greeting"

clean:
	rm -rf bin dist
