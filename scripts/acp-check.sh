#!/bin/sh
# make acp-check: fetches the newest schema of ACP from npm, lists its differences from the copy in
# testdata/acp-schema with our decisions (known.json), and runs the tests that check all our messages
# with the newest schema. It fails if something was added or removed, if a message is invalid, and if
# ACP's announcements, or its registry, were not read for 30 days.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd "$dir" && npm pack --silent @agentclientprotocol/sdk@latest >/dev/null && tar xzf ./*.tgz)
mv "$dir"/package/schema/v1/*.json "$dir"
cp testdata/acp-schema/outside.json "$dir"
echo "npm's @agentclientprotocol/sdk $(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$dir/package/package.json"):"
failed=0
DROID_ACP_NEWEST_SCHEMA="$dir" go test -count=1 -run TestNewestSchema ./internal/testing/acptest || failed=1
DROID_ACP_NEWEST_SCHEMA="$dir" go test -short -count=1 ./internal/adapter/session || failed=1
exit $failed
