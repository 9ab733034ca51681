package adapter

import (
	"droid-acp/internal/droid"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
)

// controls are what the user can steer in a session beside droid's own settings.
// Only the session's owner touches them.
type controls struct {
	toldUsage    droid.ContextStats
	retries      retries
	compaction   string                      // id of the one that runs
	custom       []protocol.AvailableCommand // droid's commands and skills
	listed       bool                        // custom is known
	toldCommands []byte                      // what the editor believes, encoded
	fileCommands map[string]commandFile      // that droid does not expand itself
	usage        quirks.UsageChanged         // as last told
	title        string
	shellNotes   []string // what droid is told of the user's shell commands with the next prompt
	steered      []*turn  // prompts that droid has beside the running one, oldest first
}
