package flags

import (
	"slices"
	"strings"

	"droid-acp/internal/droid/stream"
)

// Names of the settings in Common.
const (
	Droid       = "droid"
	Model       = "model"
	Mode        = "mode"
	Effort      = "effort"
	FollowUp    = "follow-up"
	Files       = "files"
	ClientShows = "client-shows"
	Trust       = "trust"
	ParkAfter   = "park-after"
	Spare       = "spare"
	Shell       = "shell"
	LogFile     = "log-file"
	LogLevel    = "log-level"
	Trace       = "trace"
	Keep        = "keep"
)

// EnvKeep is the variable of Keep, which must not be passed to kept agents.
const EnvKeep = "DROID_ACP_KEEP"

// Common returns the settings that several commands read.
func Common() []Setting {
	return []Setting{
		{
			Name: Droid, Env: "DROID_ACP_DROID", Kind: File, Value: "PATH", FoundElsewhere: true,
			Unset: "droid in $PATH, then ~/.local/bin/droid",
			Does:  "the droid executable",
		},
		{
			Name: Model, Env: "DROID_ACP_MODEL", Kind: Text, Value: "ID", Unset: "droid's own",
			Does: "the model that new sessions start with",
		},
		{
			Name: Mode, Env: "DROID_ACP_MODE", Kind: Choice, Value: "MODE", Allowed: modes(), Unset: "droid's own",
			Does: "the mode that new sessions start in",
		},
		{
			Name: Effort, Env: "DROID_ACP_EFFORT", Kind: Choice, Value: "EFFORT", Allowed: stream.Efforts(), Unset: "droid's own",
			Does: "the reasoning effort that new sessions start with; a model has some of them",
		},
		{
			Name: FollowUp, Env: "DROID_ACP_FOLLOW_UP", Kind: Choice, Value: "WHAT", Allowed: []string{"queue", "steer"}, Unset: "queue",
			Does: "let a prompt that is sent while one runs wait for its turn, or give it to droid at once",
		},
		{
			Name: Files, Env: "DROID_ACP_FILES", Kind: Choice, Value: "WAY", Allowed: []string{"editor", "disk"},
			Unset: "editor where that is known to damage nothing (Zed, agent-shell)",
			Does:  "have droid read and edit files through the editor's own buffers, or on the disk",
		},
		{
			Name: ClientShows, Env: "DROID_ACP_CLIENT_SHOWS", Kind: Choice, Value: "WHAT", Allowed: []string{"title", "content", "names"},
			Unset: "what is known of the client by its name",
			Does:  "say what the editor shows of a request: its title, its content too, or the names of the choices as well",
		},
		{
			Name: Trust, Env: "DROID_ACP_TRUST", Kind: Choice, Value: "WHEN", Allowed: []string{"ask", "always", "never"}, Default: "ask",
			Does: "run what a project brings (MCP servers, hooks, programs, settings that ask less): when you have said yes, always, or never",
		},
		{
			Name: ParkAfter, Env: "DROID_ACP_PARK_AFTER", Kind: Duration, Value: "TIME", Default: "15m",
			Form: "a time such as 90s, 30m or 2h, or 0 for never",
			Does: "end the droid of a session that rests this long (0: never); the next prompt starts it again",
		},
		{
			Name: Spare, Env: "DROID_ACP_SPARE", Kind: Choice, Value: "WHICH", Allowed: []string{"none", "first", "each"},
			Unset: "each while 4 GiB of memory are free, else first",
			Does:  "which sessions find a droid that was started ahead of them; while one waits, for 5 minutes at most, it takes 200 to 430 MB",
		},
		{
			Name: Shell, Env: "DROID_ACP_SHELL", Kind: Switch, Unset: "off: such prompts go to droid",
			Does: "let prompts run shell commands as you, without asking: !COMMAND and /shell COMMAND; droid is told with the next prompt",
		},
		{
			Name: LogFile, Env: "DROID_ACP_LOG_FILE", Kind: File, Value: "FILE", Unset: "none",
			Does: "write a structured log (JSON lines) to the file; it holds no prompts and no answers",
		},
		{
			Name: LogLevel, Env: "DROID_ACP_LOG_LEVEL", Kind: Choice, Value: "LEVEL", Allowed: []string{"debug", "info", "warn", "error"},
			Unset: "warn on stderr, info in the file",
			Does:  "from which level on log lines are written",
		},
		{
			Name: Trace, Env: "DROID_ACP_TRACE", Kind: File, Value: "FILE", Unset: "none",
			Does: "record all messages of the editor and of droid in the file: prompts and texts of files are in it, known secrets are not",
		},
		{
			Name: Keep, Env: EnvKeep, Kind: Switch, Unset: "off: what runs ends with the editor",
			Does: "let turns outlive the editor: the agent runs in a droid-acp serve of yours, which is started where there is none",
		},
	}
}

// CommonNames returns the names of all rows of Common, for a command that reads them all.
func CommonNames() (names []string) {
	for _, row := range Common() {
		names = append(names, row.Name)
	}
	return names
}

func modes() (names []string) {
	for _, m := range stream.Modes() {
		names = append(names, string(m.Mode))
	}
	return names
}

// prefix is the prefix of this program's variables.
const prefix = "DROID_ACP_"

// others are variables, without the prefix, that are not user settings: "…_" stands for all with that prefix. The first three are for
// tests; the completion scripts read the others.
var others = []string{
	"E2E_", "TEST_", "TRANSCRIPTS", "COMPLETION_DESCRIPTIONS", "ACTIVE_HELP",
}

// UnknownVariables returns a sentence for each variable of an environment (lines NAME=VALUE) that begins with DROID_ACP_ and is not read. A
// variable with an empty value counts as unset.
func UnknownVariables(environ []string) (sentences []string) {
	for _, line := range environ {
		variable, value, _ := strings.Cut(line, "=")
		if name, ours := strings.CutPrefix(variable, prefix); ours && value != "" && !isKnown(name) {
			sentences = append(sentences, "there is no setting $"+variable)
		}
	}
	return sentences
}

func isKnown(name string) bool {
	return slices.ContainsFunc(Common(), func(s Setting) bool { return s.Env == prefix+name }) ||
		slices.ContainsFunc(others, func(o string) bool {
			return name == o || strings.HasSuffix(o, "_") && strings.HasPrefix(name, o)
		})
}
