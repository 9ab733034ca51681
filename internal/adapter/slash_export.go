package adapter

import (
	"context"
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render/export"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/paths"
)

// withDirectory has the page name the session's directory, which says something of the machine.
const withDirectory = "with-directory"

// exportCommand writes the conversation to one HTML file.
func exportCommand(r *commandRun, file string) {
	rest, named := strings.CutPrefix(file, withDirectory)
	if named = named && (rest == "" || rest[0] == ' '); named {
		file = strings.TrimSpace(rest)
	}
	const failed = "The conversation was not exported"
	info := r.history(failed)
	if info == nil {
		return
	}
	what := exported{r.s.droidID, r.s.cwd, file, named, r.s.usage.Past()}
	var path string
	err := r.unlocked(func(ctx context.Context) (err error) {
		path, err = r.s.agent.exportTo(ctx, info, what)
		return err
	})
	if err != nil {
		r.fail(failed, err)
		return
	}
	r.reply("The conversation is in `" + path + "`.")
}

// exported is what is written of a session, and where.
type exported struct {
	session, cwd string
	file         string                 // "" for droid-SESSION.html in cwd
	named        bool                   // the page names cwd
	seen         map[string]export.Turn // that this agent has seen, by the id of the user's message
}

// exportTo writes a session to a file and returns its path. A file that exists is not overwritten.
func (a *Agent) exportTo(ctx context.Context, info *stream.SessionInfo, e exported) (string, error) {
	if e.file == "" {
		e.file = "droid-" + e.session + ".html"
	}
	path := paths.Absolute(e.cwd, e.file)
	page := export.Page(info, export.Options{CWD: e.cwd, ShowDirectory: e.named, Zone: time.Local, Turns: e.seen, Summary: a.threads.Summary(ctx, e.session)})
	_, err := files.CallBounded(ctx, a.calls, "WriteFile", path, func(path string) (struct{}, error) { return struct{}{}, page.WriteFile(path) })
	return path, err
}
