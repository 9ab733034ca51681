package adapter

import (
	"time"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/paths"
	"droid-acp/internal/transcript"
)

// exportTo writes a session to file, droid-SESSION.html in cwd when it is "", and
// returns its path. A file that exists is not overwritten. turns are those
// that this agent has seen, by the id of the user's message.
func exportTo(info *stream.SessionInfo, session, cwd, file string, turns map[string]transcript.Turn) (string, error) {
	if file == "" {
		file = "droid-" + session + ".html"
	}
	path := paths.Absolute(cwd, file)
	return path, transcript.Page(info, transcript.Options{CWD: cwd, Zone: time.Local, Turns: turns}).WriteFile(path)
}
