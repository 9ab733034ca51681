#!/bin/sh
# Renames the module in a copy of the commit, and checks that no package of the old name
# remains, that all imports exist, and that the program builds and runs.
set -eu
path=example.com/someone/droid-acp
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q --no-local "$source" "$work/copy"
cd "$work/copy"
old=$(go list -m)

make -s rename MODULE="$path"
[ "$(go list -m)" = "$path" ]
if git grep -nE "(^|[^[:alnum:]_./-])$old/internal/"; then
	echo "the old name is left"
	exit 1
fi
go list -deps -test -tags e2e ./... >"$work/packages"
if grep -E "^$old(/|\$)" "$work/packages"; then
	echo "packages of the old name are left"
	exit 1
fi
go build -o "$work/droid-acp" ./cmd/droid-acp
"$work/droid-acp" --version
