package adapter

import (
	"context"
	"time"

	"droid-acp/internal/bounded"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/paths"
	"droid-acp/internal/transcript"
)

// exportTo writes a session to file, droid-SESSION.html in cwd when it is "", and
// returns its path. A file that exists is not overwritten. turns are those
// that this agent has seen, by the id of the user's message.
func (a *Agent) exportTo(ctx context.Context, info *stream.SessionInfo, session, cwd, file string, turns map[string]transcript.Turn) (string, error) {
	if file == "" {
		file = "droid-" + session + ".html"
	}
	path := paths.Absolute(cwd, file)
	page := transcript.Page(info, transcript.Options{CWD: cwd, Zone: time.Local, Turns: turns})
	_, err := bounded.Do(ctx, a.calls, "WriteFile", path, func(path string) (struct{}, error) { return struct{}{}, page.WriteFile(path) })
	return path, err
}
