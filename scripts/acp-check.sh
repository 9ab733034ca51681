#!/bin/sh
# make acp-check: takes the newest schema of ACP from npm, lists what it has otherwise than the copy in
# testdata/acp-schema and what becomes of that (known.json), and runs the tests that hold all our lines
# against a schema with the newest one. It fails when something is new or gone, when a line of ours no
# longer passes, and when nobody has looked at ACP's announcements, or at its registry, for 30 days.
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
DROID_ACP_NEWEST_SCHEMA="$dir" go test -short -count=1 ./internal/adapter || failed=1
exit $failed
