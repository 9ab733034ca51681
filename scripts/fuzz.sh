#!/bin/sh
# Runs every fuzz target of the module for the given time each. Inputs are not
# made minimal: that may outlast the time, which go test then calls a failure
# ("context deadline exceeded").
set -eu
time=${1:-20s}
for pkg in $(go list ./internal/...); do
	for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		echo "fuzz $pkg $target $time"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x "$pkg"
	done
done
