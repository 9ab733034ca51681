#!/bin/sh
# Renames the module in a copy of the commit, and sees that it is whole: everything
# builds, vets and is formatted, the tests that know packages by name pass, the
# program runs, and no package of the old name is left.
set -eu
path=example.com/someone/droid-acp
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q --no-local "$source" "$work/copy"
cd "$work/copy"

go run ./scripts/rename-module "$path"
# shellcheck disable=SC2046 # names without spaces, one word each
unformatted=$(gofmt -l $(git ls-files '*.go'))
[ -z "$unformatted" ] || {
	echo "not gofmt-clean: $unformatted"
	exit 1
}
if git grep -nE '(^|[^[:alnum:]_./-])droid-acp/internal/' -- . ':!scripts/rename-module'; then
	echo "the old name is left"
	exit 1
fi
go vet ./...
go vet -tags e2e ./e2e
GOWORK=off go vet -C scripts/release ./...
go test -count=1 ./internal/walls ./scripts/rename-module
go test -count=1 -run 'TestWhatIsNamedExists|TestEveryRoomIsInTheTable|TestEveryErrorIsTold' ./internal/docs
if go list -deps -test ./... | grep -E '^droid-acp(/|$)'; then
	echo "packages of the old name are left"
	exit 1
fi
[ "$(go list -m)" = "$path" ]
go build -o "$work/droid-acp" ./cmd/droid-acp
"$work/droid-acp" --version
