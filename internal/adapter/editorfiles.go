package adapter

import (
	"context"
	"encoding/json"
	"io/fs"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/filecalls"
	"droid-acp/internal/adapter/internal/telling"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/hooks"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/workspace/editorfs"
)

// Where the client has ACP's fs methods, droid reads and edits files through the
// editor. droid does not know: hooks of ours hold it before and after such a call, and
// in the meantime internal/workspace/editorfs sees to it that the disk has what the editor has. This
// file is the agent's part; filecalls.go is the session's, which internal/adapter/internal/filecalls leads.

// FilesWay is how droid's reads and edits reach the files.
type FilesWay string

// The ways. The zero value is FilesEditor for clients whose fs methods are known to be safe, and
// FilesDisk for all others (protocol.ClientProfile).
const (
	FilesEditor FilesWay = "editor" // through the client's fs methods, where it has them
	FilesDisk   FilesWay = "disk"   // droid alone reads and writes them
)

// editorFiles is the agent's way to the files as the editor has them. The zero value is
// the disk way.
type editorFiles struct {
	files *editorfs.Files
	hooks hookChannel
	left  *editorfs.Files // has what an earlier agent left and could not be mended; nil when it was not looked for

	listen  func(hooks.Handler, *zap.Logger) (hookChannel, error) // tests: in place of a socket; nil is hooks.Listen
	changed func(fs.FileInfo) time.Time                           // tests: see editorfs.Options
}

// hookChannel is how hooks reach the agent, a hooks.Listener.
type hookChannel interface {
	Command() string
	Close()
}

func listenForHooks(h hooks.Handler, log *zap.Logger) (hookChannel, error) {
	return hooks.Listen(h, log)
}

// on reports whether files go through the editor.
func (e *editorFiles) on() bool { return e.files != nil }

// startTime bounds what the disk may take before initialize is answered.
const startTime = 5 * time.Second

// openFiles begins to serve hooks where files go through the editor, and completes what an
// agent that was killed has begun. The log says why the disk way stays where hooks cannot be
// had. What comes too late is closed again.
func (a *Agent) openFiles(ctx context.Context, edits bool) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	o := editorfs.Options{Journal: a.cfg.Journal, Log: a.log, Changed: a.editorFiles.changed}
	before := a.editorFiles // what comes too late reads its own
	opened, err := files.CallBounded(ctx, a.calls, "editorfs.Open", o.Journal, func(string) (editorFiles, error) {
		opened, err := before.open(o, edits, a.runHook)
		if ctx.Err() != nil {
			opened.close()
			return before, context.Cause(ctx)
		}
		return opened, err
	})
	switch {
	case err != nil && edits:
		a.log.Warn("files are read and written on the disk alone", zap.Error(err))
	case err != nil:
		a.log.Warn("edits that were on their way when an earlier agent was killed could not be looked for", zap.Error(err))
	}
	if !a.serveFiles(opened) {
		a.closeFiles(opened)
	}
}

// serveFiles takes what initialize has opened. It reports false when the agent has ended in the meantime.
func (a *Agent) serveFiles(opened editorFiles) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx.Err() != nil {
		return false
	}
	a.editorFiles = opened
	return true
}

// servedFiles are the files that serveFiles took, for an agent that has ended: initialize may still run.
func (a *Agent) servedFiles() editorFiles {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.editorFiles
}

// closeFiles closes them within a bound.
func (a *Agent) closeFiles(e editorFiles) {
	a.atEnd("editorFiles.close", closeTime, e.close)
}

// open is openFiles without a bound.
func (e editorFiles) open(o editorfs.Options, edits bool, handle hooks.Handler) (opened editorFiles, err error) {
	if !edits {
		e.left, err = editorfs.Replay(o)
		return e, err
	}
	listen := e.listen
	if listen == nil {
		listen = listenForHooks
	}
	files, err := editorfs.Open(o)
	if err != nil {
		return e, err
	}
	channel, err := listen(handle, o.Log)
	if err != nil {
		files.Close()
		return e, err
	}
	e.files, e.left, e.hooks = files, files, channel
	return e, nil
}

// notifyReplayed notifies the user of edits that could not be completed.
func (s *Session) notifyReplayed(ctx context.Context) {
	left := s.deps.editorFiles.left
	if left == nil {
		return
	}
	var texts []string
	s.unlocked(ctx, func(ctx context.Context) {
		texts, _ = files.CallBounded(ctx, s.deps.calls, "editorfs.Untold", "the journal of edits", func(string) ([]string, error) { return left.ReplayWarnings(), nil })
	})
	for _, text := range texts {
		s.update(render.Notice(text))
	}
}

// close returns when no edit is on its way any more. What the editor does not take now
// is on the disk.
func (e *editorFiles) close() {
	if e.on() {
		e.hooks.Close()
		e.files.Close()
	}
}

// hookTime is how long droid lets a hook of ours run, which ends earlier by itself.
const hookTime = 20 * time.Second

// Hooks are those that droid runs for each call which reads or changes a file.
func (e *editorFiles) Hooks() []droid.Hook {
	if !e.on() {
		return nil
	}
	command := e.hooks.Command()
	return []droid.Hook{
		{Event: filecalls.BeforeTool, Matcher: "Read|Create|Edit|MultiEdit|ApplyPatch", Command: command, Timeout: hookTime},
		{Event: filecalls.AfterTool, Matcher: "Create|Edit|MultiEdit|ApplyPatch", Command: command, Timeout: hookTime},
	}
}

// overlay is where the calls of a session on this process go, nil where its files stay on the
// disk.
func (d *Deps) overlay(s *Session, client *droid.Client) *fileOverlay {
	if !d.editorFiles.on() || !client.HasHooks() {
		return nil
	}
	return &fileOverlay{d.editorFiles.files.Overlay(sessionEditor{s.out}, editorfs.OverlayOptions{KeepTimes: d.client.ChecksModTimes}), s}
}

// announceTime bounds how long a hook waits for droid's event that announces its call.
// The event is there before, but a slow editor may keep it from being read.
const announceTime = 3 * time.Second

// runHook answers a hook of a droid's. It does so only for a call that droid itself has
// announced and that waits for this hook: who else talks to us gains nothing. A
// subagent's calls are not announced, so its files stay on the disk.
func (a *Agent) runHook(ctx context.Context, r hooks.Request) (answer hooks.Answer) {
	s, known := a.sessions.Find(r.SessionID)
	if !known {
		return answer
	}
	var failed *jsonrpc.Error
	if s.enter(nil) != nil {
		return answer
	}
	defer s.exit(&failed)
	return s.runHook(ctx, &filecalls.Hook{Event: r.Event, Tool: r.Tool, Input: r.Input})
}

// runHook does what a hook of droid's is for, once droid has announced its call. With the answer droid goes on with the
// call, so what there is to tell is told before.
func (s *Session) runHook(ctx context.Context, h *filecalls.Hook) (answer hooks.Answer) {
	ctx, cancel := context.WithTimeout(ctx, announceTime)
	defer cancel()
	s.fileCalls.Hooked(h, s.cwd)
	if s.mu.WaitFor(ctx, "a hook", string(needAnnounced), func() bool { return !s.fileCalls.Waits(h) }) != nil {
		s.fileCalls.Forget(h)
	}
	if h.Job != nil {
		answer = s.doJobs(s.Context, *h.Job)
		s.notifyReplayed(s.Context)
	}
	return answer
}

// sessionEditor is the client's fs methods for one session (ACP, "File System").
type sessionEditor struct{ *telling.Updates }

// ReadTextFile implements editorfs.ACPClient.
func (e sessionEditor) ReadTextFile(ctx context.Context, path string) (string, error) {
	r := telling.AskBeside[acp.ReadTextFileResponse](e.Updates, acp.ClientMethodFsReadTextFile, acp.ReadTextFileRequest{SessionId: acp.SessionId(e.Session()), Path: path})
	select {
	case err := <-r.Answered:
		return r.Result.Content, err
	case <-ctx.Done():
		r.Withdraw()
		return "", context.Cause(ctx)
	}
}

// WriteTextFile implements editorfs.ACPClient.
func (e sessionEditor) WriteTextFile(path, text string) <-chan error {
	return telling.AskBeside[json.RawMessage](e.Updates, acp.ClientMethodFsWriteTextFile, acp.WriteTextFileRequest{SessionId: acp.SessionId(e.Session()), Path: path, Content: text}).Answered
}
