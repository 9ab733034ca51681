#!/bin/sh
# Runs every fuzz target of the module for the given time each.
set -eu
time=${1:-20s}
for pkg in $(go list ./internal/...); do
	for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		echo "fuzz $pkg $target $time"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg"
	done
done
