#!/usr/bin/env bash
# The steps of the composite action (action.yml), by their names:
#
#   action.sh droid   installs the wanted version of droid
#   action.sh build   builds droid-acp from the clone that this script is in
#   action.sh smoke   runs the prompts and tells the forge what came of it
#
# What is wanted comes in variables SMOKE_… and never in the text of a command, so that
# no input is taken for one. It also runs in the bash of macOS (3.2) and of Git for Windows.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
bin=${RUNNER_TEMP:?}/droid-acp-action

fail() { # fail TEXT: ends the step with an annotation
	printf '::error title=droid-acp::%s\n' "$1"
	exit 2
}

# The files by which a step speaks to the forge: the variables and the PATH of later
# steps, this one's outputs, the page of the run. Each step has files of its own, which
# are empty as it begins.
files="GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_STATE GITHUB_STEP_SUMMARY"

# apart COMMAND… runs a command that does not know those files, the forge's own tokens
# and the inputs of this action (what is expected of an answer is not for the model).
# Smoke takes the same from droid once more (internal/cli/smoke/environment.go).
apart() (
	# shellcheck disable=SC2086 # they are words
	unset $files ${files//GITHUB/GITEA} ${files//GITHUB/FORGEJO} "${!ACTIONS_@}" "${!SMOKE_@}"
	exec "$@"
)

# clear_files makes those files empty again: a command of the model's that found them
# has said nothing by them. What stands there in the place of a file goes, too.
clear_files() {
	local name
	for name in $files; do
		[ -n "${!name-}" ] || continue
		rm -rf -- "${!name}" && (set -C && : >"${!name}") || return 1
	done
}

# outcome_of CODE FILE is the outcome of smoke with this exit code (docs/ci.md), which said
# what is in the file. The file of the results also says it, but a command of the model's may
# have written there. Go programs that crash exit with 2, too.
outcome_of() {
	case $1 in
	0) echo passed ;;
	1) echo turn_failed ;;
	2) grep -q '^Run .droid-acp.* for the usage[.]$' "$2" && echo usage || echo unknown ;;
	3) echo droid_not_installed ;;
	4) echo not_logged_in ;;
	5) echo model_failed ;;
	6) echo expectation_not_met ;;
	7) echo timeout ;;
	12[89] | 1[3-9]? | 2??) echo killed ;;
	*) echo unknown ;;
	esac
}

# reason_of OUTCOME CODE FILE is why, in one line, as a value of a command of the workflow.
reason_of() {
	local said
	said=$(sed -nE '/^(droid-acp( smoke)?|panic|fatal error): /{s///p;q;}' "$3")
	said=${said#"$1: "}
	[ "$1" != killed ] || said="signal $(($2 - 128)) ended it"
	said=${said:0:1000}
	said=${said//[%]/%25}
	printf '%s\n' "${said//$'\r'/%0D}"
}

# inside DIR OTHER: DIR, or what there is of its path, is OTHER or below it.
inside() {
	local dir=$1 other
	while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
	dir=$(cd "$dir" && pwd -P) && other=$(cd "$2" 2>/dev/null && pwd -P) || return 1
	case ${dir%/}/ in "${other%/}"/*) return 0 ;; esac
	return 1
}

install_droid() {
	case $SMOKE_DROID in
	none) echo "droid is not installed by this action." ;;
	'' | [!0-9A-Za-z]* | *[!0-9A-Za-z.+-]* | *.tgz | *.tar | *.tar.gz) fail "the input droid-version is neither a version, nor latest, nor none" ;;
	*)
		command -v npm >/dev/null || fail "npm is needed to install droid; add actions/setup-node before this step"
		apart npm install --global --no-audit --no-fund "droid@$SMOKE_DROID"
		;;
	esac
}

build() {
	mkdir -p "$bin"
	(cd "$root" && go build -trimpath -o "$bin/droid-acp$(go env GOEXE)" ./cmd/droid-acp)
}

# Arguments of smoke. An empty input adds none.
add() { [ -z "$2" ] || args+=("$1=$2"); }

add_lines() { # one flag for each line that is not empty
	while IFS= read -r line; do add "$1" "${line%$'\r'}"; done <<<"$2"
}

smoke() {
	local results=$SMOKE_RESULTS code=0 outcome reason
	case $results in # a line of its own would be an output
	'' | -* | *[$'\r\n']*) fail "the input results is empty, begins with - or has more than one line" ;;
	esac
	case $results in
	/* | [A-Za-z]:[\\/]*) ;;
	*) results=$RUNNER_TEMP/$results ;;
	esac
	! inside "$results" "$SMOKE_CWD" || # droid could read and change them there
		fail "the input results names a directory within that where droid works (the input cwd)"
	mkdir -p "$results" || fail "the input results names no directory that can be made"
	(cd "$results" && rm -f conversation.txt junit.xml result.json droid-acp.log) || # of a use before this one
		fail "the input results names a directory whose old results cannot be removed"
	args=(smoke "--junit=$results/junit.xml" "--result=$results/result.json" "--log-file=$results/droid-acp.log")
	add --demo "${SMOKE_DEMO#false}"
	# shellcheck disable=SC2153 # there is SMOKE_PROMPT as well
	add --prompts "$SMOKE_PROMPTS"
	add_lines --expect "$SMOKE_EXPECT"
	add_lines --expect-file "$SMOKE_EXPECT_FILE"
	add --permissions "$SMOKE_PERMISSIONS"
	add --trust "$SMOKE_TRUST"
	add --model "$SMOKE_MODEL"
	add --effort "$SMOKE_EFFORT"
	add --mode "$SMOKE_MODE"
	add --cwd "$SMOKE_CWD"
	add --timeout "$SMOKE_TIMEOUT"
	[ -z "$SMOKE_PROMPT" ] || args+=(-- "$SMOKE_PROMPT")
	run_quoted "$results/conversation.txt" apart "$bin/droid-acp" "${args[@]}" || code=$?
	outcome=$(outcome_of "$code" "$results/conversation.txt")
	reason=$(reason_of "$outcome" "$code" "$results/conversation.txt")
	clear_files || fail "what a command of the model's did to the files of the step cannot be undone"
	{
		echo "outcome=$outcome"
		echo "exit-code=$code"
		echo "results=$results"
	} >>"${GITHUB_OUTPUT:-/dev/null}"
	{
		printf '### droid-acp smoke: %s\n\n' "$outcome"
		sed -n '/^summary |/,$s/^/    /p' "$results/conversation.txt"
	} >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
	[ "$code" = 0 ] || printf '::error title=droid-acp smoke::%s (exit code %s)%s\n' "$outcome" "$code" "${reason:+: $reason}"
	return "$code"
}

# run_quoted FILE COMMAND… shows what a command says and keeps it. The forge takes no line
# of it for a command of the workflow, whatever a model wrote.
run_quoted() {
	local file=$1 token code
	shift
	token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	echo "::stop-commands::$token"
	set +e
	"$@" 2>&1 | tee "$file"
	code=${PIPESTATUS[0]}
	set -e
	echo "::$token::"
	return "$code"
}

case ${1-} in
droid) install_droid ;;
build) build ;;
smoke) smoke ;;
*)
	echo "usage: action.sh droid|build|smoke" >&2
	exit 2
	;;
esac
