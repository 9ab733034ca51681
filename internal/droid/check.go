package droid

import (
	"fmt"
	"slices"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/stream"
)

// A droid that must exclude something still reports what it runs: each MCP server with the file that names it, each hook with its command
// line, and the mode in which a session starts. If it runs something excluded, that has started by then; the process is killed at once, and
// the session reports why.

// processChecks is what a process may run.
type processChecks struct {
	home  string
	hooks []string // command lines of this program's hooks
	own   bool     // the user has given the process settings of unknown content
}

// forbidden describes what an event shows that the process must not run, "" if nothing.
func (k *processChecks) forbidden(ev stream.Event) string {
	switch e := ev.(type) {
	case stream.MCPStatusChanged:
		for _, s := range e.Servers {
			if (s.Source == "project" || s.Source == "folder") && (s.Status == "connected" || s.Status == "failed") {
				return fmt.Sprintf("it runs the MCP server %q of this project, which nobody allowed", s.Name)
			}
		}
	case stream.HookStarted:
		for _, c := range e.Commands {
			if !slices.Contains(k.hooks, c.Command) && k.isUnknownHook(c.Command) {
				return fmt.Sprintf("it runs the hook %q, which is not yours, and nobody allowed those of this project", c.Command)
			}
		}
	}
	return ""
}

// isUnknownHook reports whether a hook is not the user's, according to their current files. It reports false if the user may have hooks
// elsewhere: from plugins or their organisation, in settings of this process, or in a file that only droid reads.
func (k *processChecks) isUnknownHook(command string) bool {
	user, err := projectconfig.ReadUser(k.home)
	return err == nil && !k.own && !user.Others && !user.Unread && !slices.Contains(user.Lines, command)
}

// tooPermissive says why a new session must not be used: it starts in a mode that asks less than the requested one, or than the user's own
// if none was requested. It returns "" otherwise, and if that cannot be known: their organisation, or settings of this process, may set the
// mode.
func (k *processChecks) tooPermissive(asked stream.SettingsPatch, got stream.Settings) string {
	if got.AutonomyLevel == nil || asked.AutonomyLevel != nil || asked.AutonomyMode != nil {
		return ""
	}
	user, err := projectconfig.ReadUser(k.home)
	if err != nil || k.own || user.Managed || slices.Index(levels, *got.AutonomyLevel) <= slices.Index(levels, user.Autonomy["autonomyLevel"]) {
		return ""
	}
	return fmt.Sprintf("a session of this project starts with the autonomy %q, which nobody asked for", *got.AutonomyLevel)
}

// levels are the values of autonomyLevel, the strictest first (0.99 to 0.225).
var levels = []string{"off", "low", "medium", "high"}

// check kills a process that runs something it must not run.
func (c *Client) check(ev stream.Event) {
	if k := c.checks.Load(); k != nil {
		if what := k.forbidden(ev); what != "" {
			c.KillFor(what)
		}
	}
}
