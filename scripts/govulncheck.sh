#!/bin/sh
# Checks for known vulnerabilities. The database is on the network; if that cannot
# be reached, the check is skipped with a message.
set -eu
if out=$(go run "$GOVULNCHECK" ./... 2>&1); then
	echo "$out"
	exit 0
fi
case "$out" in
*"fetching vulnerabilities"* | *"dial tcp"* | *"no such host"* | *"vuln.go.dev"*)
	echo "govulncheck: SKIPPED, the vulnerability database cannot be reached from here"
	echo "$out" | tail -n 2
	;;
*)
	echo "$out"
	exit 1
	;;
esac
