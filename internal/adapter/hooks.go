// Where the client has ACP's fs methods, droid reads and edits files through the editor, see session/editorfiles.go.
// This file is the agent's part: the hooks, and what an earlier agent has left.

package adapter

import (
	"context"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/filecalls"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/hooks"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/workspace/editorfs"
)

// editorFiles is the agent's way to the files as the editor has them. The zero value is
// the disk way.
type editorFiles struct {
	files *editorfs.Files
	hooks HookChannel
	left  *editorfs.Files // edits that an earlier agent could not complete; nil if none were looked for
}

// HookChannel is how hooks reach the agent, a hooks.Listener.
type HookChannel interface {
	Command() string
	Close()
}

func listenForHooks(h hooks.Handler, log *zap.Logger) (HookChannel, error) {
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
	o := editorfs.Options{Journal: a.cfg.Journal, Log: a.Log, Changed: a.Config.Modified}
	opened, err := files.CallBounded(ctx, a.Calls, "editorfs.Open", o.Journal, func(string) (editorFiles, error) {
		opened, err := a.openEditorFiles(o, edits)
		if ctx.Err() != nil {
			opened.close()
			return editorFiles{}, context.Cause(ctx)
		}
		return opened, err
	})
	switch {
	case err != nil && edits:
		a.Log.Warn("files are read and written on the disk alone", zap.Error(err))
	case err != nil:
		a.Log.Warn("edits that were on their way when an earlier agent was killed could not be looked for", zap.Error(err))
	}
	if !a.serveFiles(opened) {
		a.closeFiles(opened)
	}
}

// serveFiles takes what initialize has opened. It reports false when the agent has ended in the meantime.
func (a *Agent) serveFiles(opened editorFiles) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Context.Err() != nil {
		return false
	}
	a.served, a.EditorFiles, a.LeftEdits = opened, opened.files, opened.left
	return true
}

// servedFiles returns the files that serveFiles took, for an agent that has ended: initialize may still run.
func (a *Agent) servedFiles() editorFiles {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.served
}

// closeFiles closes them within a bound.
func (a *Agent) closeFiles(e editorFiles) {
	a.AtEnd("editorFiles.close", CloseTime, e.close)
}

// openEditorFiles is openFiles without a bound.
func (a *Agent) openEditorFiles(o editorfs.Options, edits bool) (e editorFiles, err error) {
	if !edits {
		e.left, err = editorfs.Replay(o)
		return e, err
	}
	listen := a.cfg.Listen
	if listen == nil {
		listen = listenForHooks
	}
	files, err := editorfs.Open(o)
	if err != nil {
		return e, err
	}
	channel, err := listen(a.runHook, o.Log)
	if err != nil {
		files.Close()
		return e, err
	}
	return editorFiles{files: files, left: files, hooks: channel}, nil
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

// Hooks returns those that droid runs for each call which reads or changes a file.
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

// runHook answers a hook of a droid's. It does so only for a call that droid itself has
// announced and that waits for this hook: who else talks to us gains nothing. A
// subagent's calls are not announced, so its files stay on the disk.
func (a *Agent) runHook(ctx context.Context, r hooks.Request) (answer hooks.Answer) {
	s, known := a.Sessions.Find(r.SessionID)
	if !known {
		return answer
	}
	return s.AnswerHook(ctx, &filecalls.Hook{Event: r.Event, Tool: r.Tool, Input: r.Input})
}
