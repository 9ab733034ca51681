package adapter

import (
	"context"
	"time"

	"droid-acp/internal/bounded"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/opening"
	"droid-acp/internal/paths"
	"droid-acp/internal/transcript"
)

// exportCommand writes the conversation to one HTML file.
func exportCommand(r *slashRun, file string) {
	const failed = "The conversation was not exported"
	r.history(failed, func(info *stream.SessionInfo) {
		session, cwd, seen := r.s.droidID, r.s.cwd, r.s.usage.Past()
		var path string
		r.beside(opening.Time, opening.ErrTime, func(ctx context.Context) (err error) {
			path, err = r.s.agent.exportTo(ctx, info, session, cwd, file, seen)
			return err
		}, func(err error) {
			if err != nil {
				r.fail(failed, err)
				return
			}
			r.reply("The conversation is in `" + path + "`.")
		})
	})
}

// exportTo writes a session to file, droid-SESSION.html in cwd when it is "", and
// returns its path. A file that exists is not overwritten. seen are the turns
// that this agent has seen, by the id of the user's message.
func (a *Agent) exportTo(ctx context.Context, info *stream.SessionInfo, session, cwd, file string, seen map[string]transcript.Turn) (string, error) {
	if file == "" {
		file = "droid-" + session + ".html"
	}
	path := paths.Absolute(cwd, file)
	page := transcript.Page(info, transcript.Options{CWD: cwd, Zone: time.Local, Turns: seen})
	_, err := bounded.Do(ctx, a.calls, "WriteFile", path, func(path string) (struct{}, error) { return struct{}{}, page.WriteFile(path) })
	return path, err
}
