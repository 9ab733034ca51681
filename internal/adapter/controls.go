package adapter

import (
	"droid-acp/internal/protocol"
)

// controls are what the user can steer in a session beside droid's own settings.
// Only the session's owner touches them.
type controls struct {
	retries      retries
	compaction   string                      // id of the one that runs
	custom       []protocol.AvailableCommand // droid's commands and skills
	listed       bool                        // custom is known
	toldCommands []byte                      // what the editor believes, encoded
	fileCommands map[string]commandFile      // that droid does not expand itself
	shellNotes   []string                    // what droid is told of the user's shell commands with the next prompt
}

// untold says that the editor has forgotten what it was told of commands.
func (c *controls) untold() { c.toldCommands = nil }
