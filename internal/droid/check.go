package droid

import (
	"fmt"
	"slices"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/stream"
)

// A droid that leaves something out tells what it runs all the same: each MCP server, by whose
// file names it, each hook, by its command line, and the mode in which a session starts. What
// it was not to run has begun by then; the process ends at once, and the session says why.

// processChecks are what a process may run.
type processChecks struct {
	home  string
	hooks []string // command lines of this program's hooks
	own   bool     // the user has given the process settings, of which nothing is known
}

// forbidden is what an event tells that the process was not to run, "" for nothing.
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

// isUnknownHook reports whether a hook is none of the user's, as their files are now. It is not
// known where they may have others, of plugins or of their organisation, in settings of this process, or in a file that only droid
// reads.
func (k *processChecks) isUnknownHook(command string) bool {
	user, err := projectconfig.ReadUser(k.home)
	return err == nil && !k.own && !user.Others && !user.Unread && !slices.Contains(user.Lines, command)
}

// tooPermissive is why a new session is not to go on: it starts in a mode that asks less than was
// asked for, or, where nothing was, than the user's own. "" for none, and where that is not known: their organisation, or
// settings of this process, may say so.
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

// levels are the values of autonomyLevel, the one that asks most first (0.99 to 0.225).
var levels = []string{"off", "low", "medium", "high"}

// check kills a process that runs what it was not to run.
func (c *Client) check(ev stream.Event) {
	if k := c.checks.Load(); k != nil {
		if what := k.forbidden(ev); what != "" {
			c.KillFor(what)
		}
	}
}
