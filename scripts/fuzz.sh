#!/bin/sh
# Runs every fuzz target of the module so many times each ("20000x"). A number of
# runs, not a time: a time may end while the fuzzer is at work on an input, which
# go test then calls a failure ("context deadline exceeded"), though there is none.
# Inputs are not made minimal, which may outlast all else.
set -eu
runs=${1:-20000x}
case $runs in
*[!0-9x]* | x* | *[!x]) echo "usage: fuzz.sh NUMBERx" >&2; exit 2 ;;
esac
for pkg in $(go list ./internal/...); do
	listed=$(go test -list '^Fuzz' "$pkg")
	for target in $(printf '%s\n' "$listed" | grep '^Fuzz' || true); do
		echo "fuzz $pkg $target $runs"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$runs" -fuzzminimizetime 1x "$pkg"
	done
done
