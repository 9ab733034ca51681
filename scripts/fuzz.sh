#!/bin/sh
# Runs every fuzz target of the module, each for a number of runs ("20000x"). It is not
# a time: if that ends while the fuzzer processes an input, go test reports a failure
# ("context deadline exceeded") although there is none. Inputs are not minimized, which
# may take longer than everything else.
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
