package main

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/cli/flags"
	"droid-acp/internal/droid/diagnosis"
)

// A wrong call is reported on stderr, with how to get help.
func TestUsageErrors(t *testing.T) {
	for _, tc := range []struct{ env, args, want, help string }{
		{"", "dance", `unknown command "dance"`, "droid-acp"},
		{"", "smok --demo", "unknown command \"smok\" for \"droid-acp\"\n\nDid you mean this?\n\tsmoke\n", "droid-acp"},
		{"", "--dorid x", "unknown flag: --dorid", "droid-acp"},
		{"", "-x", "unknown shorthand flag: 'x' in -x\n", "droid-acp"},
		{"", "smoke what is -5", "unknown shorthand flag: '5' in -5", "droid-acp smoke"},
		{"", "--mode", "flag needs an argument: --mode", "droid-acp"},
		{"", "--demo", "unknown flag: --demo", "droid-acp"},
		{"", "login --demo", "unknown flag: --demo", "droid-acp login"},
		{"", "smoke --files disk", "unknown flag: --files", "droid-acp smoke"},
		{"", "--files disk smoke --demo", "unknown flag: --files", "droid-acp smoke"},
		{"", "--mode turbo", `invalid argument "turbo" for "--mode" flag: allowed is normal, spec,`, "droid-acp"},
		{"", "-mode=turbo", "unknown shorthand flag: 'm' in -mode=turbo", "droid-acp"},
		{"", "--shell=maybe", `invalid argument "maybe" for "--shell" flag: allowed is true or false`, "droid-acp"},
		{"", "--version=maybe", `invalid argument "maybe" for "--version" flag: allowed is true or false`, "droid-acp"},
		{"", "--login=maybe", `invalid argument "maybe" for "--login" flag: allowed is true or false`, "droid-acp"},
		{"", "--login=false --version=0 dance", `unknown command "dance"`, "droid-acp"},
		{"", "--login=false --mode turbo", `invalid argument "turbo" for "--mode"`, "droid-acp"},
		{"", "--log-level fatal", `invalid argument "fatal" for "--log-level" flag: allowed is debug, info, warn or error`, "droid-acp"},
		{"", "--log-file /no/such/dir/log", "the log file (--log-file) cannot be opened: open /no/such/dir/log", "droid-acp"},
		{"", "--park-after -1s", `invalid argument "-1s" for "--park-after" flag: `, "droid-acp"},
		{"", "--effort sideways", `invalid argument "sideways" for "--effort" flag: allowed is none,`, "droid-acp"},
		{"", "acp --mode sideways", `invalid argument "sideways" for "--mode" flag: allowed is normal, spec,`, "droid-acp acp"},
		{"", "acp --follow-up sideways", `invalid argument "sideways" for "--follow-up" flag: `, "droid-acp acp"},
		{"", "smoke --permissions maybe", `invalid argument "maybe" for "--permissions" flag: allowed is refuse or allow`, "droid-acp smoke"},
		{"", "smoke --timeout 0s", `invalid argument "0s" for "--timeout" flag: `, "droid-acp smoke"},
		{"", "smoke --demo --droid x", "if any flags in the group [demo droid] are set none of the others can be", "droid-acp smoke"},
		{"", "completion", "completion needs the name of a shell", "droid-acp completion"},
		{"", "completion tcsh", `unknown command "tcsh" for "droid-acp completion"`, "droid-acp completion"},
		{"", "man x", `unknown command "x" for "droid-acp man"`, "droid-acp man"},
		{"", "trust x y", "accepts at most 1 arg", "droid-acp trust"},
		{"", "help dance", `unknown command "dance"`, "droid-acp help"},
		{"MODE=turbo", "", `invalid value "turbo" for $DROID_ACP_MODE: allowed is normal, spec,`, "droid-acp"},
		{"EFFORT=much", "smoke --demo", `invalid value "much" for $DROID_ACP_EFFORT: allowed is none,`, "droid-acp smoke"},
		{"FILES=cloud", "acp", `invalid value "cloud" for $DROID_ACP_FILES: allowed is editor or disk`, "droid-acp acp"},
		{"LOG_FILE=/no/such/dir/log", "", "the log file ($DROID_ACP_LOG_FILE) cannot be opened: open /no/such/dir/log", "droid-acp"},
		{"MODLE=x", "smoke --demo", "there is no setting $DROID_ACP_MODLE\n", "droid-acp smoke"},
	} {
		t.Run(tc.env+" "+tc.args, func(t *testing.T) {
			if name, value, set := strings.Cut(tc.env, "="); set {
				t.Setenv("DROID_ACP_"+name, value)
			}
			got := command("", strings.Fields(tc.args)...)
			require.Equal(t, exitUsage, got.code)
			require.Empty(t, got.stdout)
			require.Contains(t, got.stderr, "droid-acp: "+tc.want)
			require.Contains(t, got.stderr, "\nRun "+diagnosis.Command(append(strings.Fields(tc.help)[1:], "--help")...)+" for the usage.\n")
		})
	}
}

// An editor keeps its agent when the environment has a variable that this version does not
// know, or one that an argument wins over.
func TestServingSurvivesStrangeVariables(t *testing.T) {
	t.Setenv("DROID_ACP_MODLE", "x")
	t.Setenv("DROID_ACP_MODE", "turbo")
	for _, args := range []string{"--mode spec", "acp --mode=spec", "--mode spec acp"} {
		got := command(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\n", strings.Fields(args)...)
		require.Equal(t, exitOK, got.code, got.stderr)
		require.Contains(t, got.stdout, `"protocolVersion":1`)
		require.Equal(t, 1, strings.Count(got.stdout, "\n"))
		require.Equal(t, "droid-acp warn: there is no setting $DROID_ACP_MODLE\n", got.stderr)
	}
}

// Flags may stand before the command and behind the prompt.
func TestFlagsBehindThePrompt(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"smoke hello --demo --permissions allow", "smoke --demo --permissions=allow -- hello", "--mode spec smoke --demo --permissions allow hello"} {
		got := command("", strings.Fields(args)...)
		require.Equal(t, exitOK, got.code, got.stderr)
		require.Contains(t, got.stdout, "you     | hello\n", args)
		require.Contains(t, got.stdout, "answer  | Yes, allow", args)
	}
}

// No command has two flags of a name, and what it names is there.
func TestCommandsAreComplete(t *testing.T) {
	for _, c := range append(commands(), serveCommand("acp")) {
		seen := map[string]bool{"help": true}
		for _, row := range append(flags.Common(), c.own...) {
			require.False(t, seen[row.Name], "%s has two flags --%s", c.Name(), row.Name)
			seen[row.Name] = true
			require.Equal(t, row.Kind == flags.Switch, row.Value == "", "%s --%s: what help calls its value", c.Name(), row.Name)
		}
		require.Subset(t, flags.CommonNames(), c.reads, c.Name())
		for _, pair := range c.exclude {
			require.True(t, seen[pair[0]] && seen[pair[1]], "%s: %v", c.Name(), pair)
		}
	}
}

// The words that the table allows are those that the others know.
func TestAllowedWords(t *testing.T) {
	for _, row := range flags.Common() {
		if row.Name == flags.Files {
			require.Equal(t, []string{string(session.FilesEditor), string(session.FilesDisk)}, row.Allowed)
		}
	}
}

// TestStderrIsSafeToShow: errors repeat what others wrote.
func TestStderrIsSafeToShow(t *testing.T) {
	for _, args := range [][]string{
		{"smoke", "--droid", "/no\x1b[2K\u202edroid\u009b1A"},
		{"no\x1b[2K\u202esuch command"},
		{"--no\x1b[2K\u202esuch flag"},
	} {
		got := command("", args...)
		require.Contains(t, got.stderr, `\x1b[2K`)
		require.Contains(t, got.stderr, `\u202e`)
		for _, r := range got.stderr {
			require.True(t, r == '\n' || unicode.IsPrint(r), "%q", r)
		}
	}
}
