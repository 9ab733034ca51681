#!/usr/bin/env bash
# The weekly look at new versions of droid (.github/workflows/droid.yml):
#
#   newest-droid.sh find           prints npm's newest version, and "known" if CI tests it already
#   newest-droid.sh test VERSION   runs the end-to-end tests with it; the log is newest-droid.log
#   newest-droid.sh report VERSION opens an issue with the end of that log, unless one is open
set -euo pipefail
cd "$(dirname "$0")/../.."
log=newest-droid.log

version_in() { sed -n "s/^\t$1 *= \"\(.*\)\"\$/\1/p" e2e/setup_prepare_test.go; }

find_newest() {
	local version known=
	version=$(npm view @factory/cli-linux-x64 version)
	case $version in '' | *[!0-9A-Za-z.+-]*) echo "npm named no version: $version" >&2 && exit 1 ;; esac
	[ "$version" != "$(version_in latestDroid)" ] || known=true
	printf 'version=%s\nknown=%s\n' "$version" "${known:-false}" | tee -a "${GITHUB_OUTPUT:-/dev/null}"
}

run_tests() {
	# What is new in it stands in the log above the tests, whatever these say.
	{ make vocabulary record VERSION="$1" && make compare A="$(version_in latestDroid)" B="$1" && git diff testdata/droids/vocabulary/changes.txt || echo "droid $1 could not be recorded"; } 2>&1 | tee "$log"
	DROID_ACP_E2E_DROIDS="$(version_in oldestDroid) $1" make e2e 2>&1 | tee -a "$log"
}

report() {
	local title="droid $1 does not pass the end-to-end tests" body
	if gh issue list --state open --limit 1000 --json title --jq '.[].title' | grep -qxF "$title"; then
		echo "There is an issue for droid $1 already."
		return
	fi
	body=$(mktemp)
	{
		# shellcheck disable=SC2016 # Markdown's backquotes
		printf 'The weekly look at new versions of droid: `DROID_ACP_E2E_DROIDS="%s %s" make e2e` fails.\n' "$(version_in oldestDroid)" "$1"
		printf 'How to go about it: CONTRIBUTING.md, "A droid version".\n\n'
		[ -z "${GITHUB_RUN_ID-}" ] || printf 'The run: %s/%s/actions/runs/%s\n\n' "$GITHUB_SERVER_URL" "$GITHUB_REPOSITORY" "$GITHUB_RUN_ID"
		printf 'Tests that fail:\n\n'
		{ grep -E '^ *--- FAIL' "$log" || echo "(none is named)"; } | head -n 50 | sed 's/^/    /'
		printf '\nThe end of the log:\n\n'
		tail -n 150 "$log" | cut -c1-300 | sed 's/^/    /'
	} >"$body"
	gh issue create --title "$title" --body-file "$body"
	rm -f "$body"
}

case ${1-} in
find) find_newest ;;
test) run_tests "${2:?}" ;;
report) report "${2:?}" ;;
*)
	echo "usage: newest-droid.sh find|test VERSION|report VERSION" >&2
	exit 2
	;;
esac
