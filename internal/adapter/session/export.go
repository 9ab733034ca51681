package session

import (
	"context"
	"time"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render/export"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/paths"
)

// Export writes the conversation to a file, "" for one in the session's directory, and returns its path. named makes the page contain that
// directory.
func (s *Session) Export(ctx context.Context, info *stream.SessionInfo, file string, named bool) (path string, err error) {
	what := exported{s.droidID, s.cwd, file, named, s.usage.past()}
	err = s.callBounded(ctx, func(ctx context.Context) (err error) {
		path, err = s.deps.exportTo(ctx, info, what)
		return err
	})
	return path, err
}

// exported says which parts of a session are written, and where.
type exported struct {
	session, cwd string
	file         string                 // "" for droid-SESSION.html in cwd
	named        bool                   // the page names cwd
	seen         map[string]export.Turn // that this agent has seen, by the id of the user's message
}

// exportTo writes a session to a file and returns its path. A file that exists is not overwritten.
func (d *Deps) exportTo(ctx context.Context, info *stream.SessionInfo, e exported) (string, error) {
	if e.file == "" {
		e.file = "droid-" + e.session + ".html"
	}
	path := paths.Absolute(e.cwd, e.file)
	page := export.Page(info, export.Options{CWD: e.cwd, ShowDirectory: e.named, Zone: time.Local, Turns: e.seen, Summary: d.Threads.Summary(ctx, e.session)})
	_, err := files.CallBounded(ctx, d.Calls, "WriteFile", path, func(path string) (struct{}, error) { return struct{}{}, page.WriteFile(path) })
	return path, err
}
