package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter"
	"droid-acp/internal/settings"
)

// What is wrong with a call is said in one line on stderr, with the place of the help.
func TestUsageErrors(t *testing.T) {
	for _, tc := range []struct{ env, args, want, help string }{
		{"", "dance", `unknown command "dance"`, "droid-acp"},
		{"", "smok --demo", `unknown command "smok"; is "smoke" meant?`, "droid-acp"},
		{"", "--dorid x", "unknown flag --dorid; is --droid meant?", "droid-acp"},
		{"", "-dorid x", "unknown flag --dorid; is --droid meant?", "droid-acp"},
		{"", "-x", "unknown flag -x\n", "droid-acp"},
		{"", "smoke what is -5", "unknown flag -5; text that begins with a dash goes behind --", "droid-acp smoke"},
		{"", "--mode", "--mode needs a value", "droid-acp"},
		{"", "--demo", "--demo is a flag of smoke, and stands behind that word", "droid-acp"},
		{"", "login --demo", "--demo is a flag of smoke, not of login", "droid-acp login"},
		{"", "smoke --files disk", "--files is a flag of serving or login, not of smoke", "droid-acp smoke"},
		{"", "--files disk smoke --demo", "--files means nothing to smoke", "droid-acp smoke"},
		{"", "--mode turbo", `invalid value "turbo" for --mode: allowed is normal, spec,`, "droid-acp"},
		{"", "-mode=turbo", `invalid value "turbo" for --mode: allowed is normal, spec,`, "droid-acp"},
		{"", "--shell=maybe", `invalid value "maybe" for --shell: allowed is true or false`, "droid-acp"},
		{"", "--version=maybe", `invalid value "maybe" for --version: allowed is true or false`, "droid-acp"},
		{"", "--login=maybe", `invalid value "maybe" for --login: allowed is true or false`, "droid-acp"},
		{"", "--login=false --version=0 dance", `unknown command "dance"`, "droid-acp"},
		{"", "--login=false --mode turbo", `invalid value "turbo" for --mode`, "droid-acp"},
		{"", "--log-level fatal", `invalid value "fatal" for --log-level: allowed is debug, info, warn or error`, "droid-acp"},
		{"", "smoke --demo --droid x", "--demo and --droid exclude each other", "droid-acp smoke"},
		{"", "completion", "completion takes one of bash, zsh or fish", "droid-acp completion"},
		{"", "help dance", `unknown command "dance"`, "droid-acp help"},
		{"MODE=turbo", "", `invalid value "turbo" for $DROID_ACP_MODE: allowed is normal, spec,`, "droid-acp"},
		{"EFFORT=much", "smoke --demo", `invalid value "much" for $DROID_ACP_EFFORT: allowed is none,`, "droid-acp smoke"},
		{"FILES=cloud", "acp", `invalid value "cloud" for $DROID_ACP_FILES: allowed is editor or disk`, "droid-acp acp"},
		{"LOG_FILE=/no/such/dir/log", "", "the log file ($DROID_ACP_LOG_FILE) cannot be opened: open /no/such/dir/log", "droid-acp"},
		{"MODLE=x", "smoke --demo", "there is no setting $DROID_ACP_MODLE; is $DROID_ACP_MODEL meant?", "droid-acp smoke"},
	} {
		t.Run(tc.env+" "+tc.args, func(t *testing.T) {
			if name, value, set := strings.Cut(tc.env, "="); set {
				t.Setenv("DROID_ACP_"+name, value)
			}
			got := command("", strings.Fields(tc.args)...)
			require.Equal(t, exitUsage, got.code)
			require.Empty(t, got.stdout)
			require.Contains(t, got.stderr, "droid-acp: "+tc.want)
			require.Contains(t, got.stderr, "\nRun `"+tc.help+" --help` for the usage.\n")
			require.Equal(t, 2, strings.Count(got.stderr, "\n"))
		})
	}
}

// An editor keeps its agent when the environment has a variable that this version does not
// know, or one that an argument wins over.
func TestServingSurvivesStrangeVariables(t *testing.T) {
	t.Setenv("DROID_ACP_MODLE", "x")
	t.Setenv("DROID_ACP_MODE", "turbo")
	for _, args := range []string{"-mode spec", "acp --mode=spec", "--mode spec acp"} {
		got := command(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\n", strings.Fields(args)...)
		require.Equal(t, exitOK, got.code, got.stderr)
		require.Contains(t, got.stdout, `"protocolVersion":1`)
		require.Equal(t, 1, strings.Count(got.stdout, "\n"))
		require.Equal(t, "droid-acp warn: there is no setting $DROID_ACP_MODLE; is $DROID_ACP_MODEL meant?\n", got.stderr)
	}
}

// Flags may stand behind the prompt, and with one dash.
func TestFlagsBehindThePrompt(t *testing.T) {
	for _, args := range []string{"smoke hello --demo -permissions allow", "smoke -demo --permissions=allow -- hello", "--mode spec smoke --demo -permissions allow hello"} {
		got := command("", strings.Fields(args)...)
		require.Equal(t, exitOK, got.code, got.stderr)
		require.Contains(t, got.stdout, "you     | hello\n", args)
		require.Contains(t, got.stdout, "answer  | Yes, allow", args)
	}
}

func TestDoubleDashes(t *testing.T) {
	for given, want := range map[string]string{
		"-droid x":                "--droid x",
		"-droid=x -shell":         "--droid=x --shell",
		"--model -droid -mode y":  "--model -droid --mode y",
		"-shell -droid x":         "--shell --droid x",
		"smoke -json -- -json":    "smoke --json -- -json",
		"-h -help -version":       "-h --help --version",
		"-nonsense - --droid=-mo": "-nonsense - --droid=-mo",
		"__complete -mo":          "__complete -mo",
	} {
		require.Equal(t, strings.Fields(want), doubleDashes(strings.Fields(given)), given)
	}
	require.NotNil(t, doubleDashes(nil))
}

// A flag takes a value in all commands or in none, or one could not tell where a command
// begins. No command has two of a name.
func TestOneMeaningOfEachFlag(t *testing.T) {
	takesValue := make(map[string]bool)
	for _, c := range rows() {
		seen := map[string]bool{"version": true, "help": true}
		for _, row := range append(settings.Common(), c.Own...) {
			require.False(t, seen[row.Name], "%s has two flags --%s", c.Word(), row.Name)
			seen[row.Name] = true
			value, known := takesValue[row.Name]
			require.True(t, !known || value == (row.Kind != settings.Switch), row.Name)
			takesValue[row.Name] = row.Kind != settings.Switch
			require.Equal(t, row.Kind == settings.Switch, row.Value == "", "%s --%s: what help calls its value", c.Word(), row.Name)
		}
		for _, name := range c.Reads {
			require.Contains(t, settings.CommonNames(), name, c.Word())
		}
		for _, pair := range c.Exclude {
			require.True(t, seen[pair[0]] && seen[pair[1]], "%s: %v", c.Word(), pair)
		}
		require.NotEmpty(t, c.Summary)
		require.NotEmpty(t, c.Exits)
	}
}

// The words that the table allows are those that the others know.
func TestAllowedWords(t *testing.T) {
	for _, row := range settings.Common() {
		if row.Name == settings.Files {
			require.Equal(t, []string{string(adapter.FilesEditor), string(adapter.FilesDisk)}, row.Allowed)
		}
	}
}

// The manual page is made for the programs that show one.
func TestManualPage(t *testing.T) {
	got := command("", "man")
	require.Equal(t, exitOK, got.code, got.stderr)
	for _, c := range rows() {
		for _, row := range c.Own {
			flag := `"\-\-` + strings.ReplaceAll(row.Name, "-", `\-`)
			require.Equal(t, !row.Hidden, strings.Contains(got.stdout, flag), row.Name)
		}
	}
	for program, args := range map[string][]string{"mandoc": {"-T", "lint"}, "groff": {"-man", "-ww", "-z"}} {
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skip("no " + program + " here: the manual page is not checked by it")
			}
			cmd := exec.Command(program, args...)
			cmd.Stdin = strings.NewReader(settings.Man(rows(), "1.2.3", "2026-01-31"))
			out, _ := cmd.CombinedOutput()
			require.Empty(t, string(out), "what it complains of")
		})
	}
}
