package session

import (
	"context"
	"encoding/json"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/internal/filecalls"
	"droid-acp/internal/adapter/internal/updates"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/hooks"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/workspace/editorfs"
)

// Where the client has ACP's fs methods, droid reads and edits files through the
// editor. droid does not know: hooks of ours hold it before and after such a call, and
// in the meantime internal/workspace/editorfs sees to it that the disk has what the editor has. The agent
// receives the hooks; this file answers them, and filecalls.go has what internal/adapter/internal/filecalls leads.

// FilesWay is how droid's reads and edits reach the files.
type FilesWay string

// The ways. The zero value is FilesEditor for clients whose fs methods are known to be safe, and
// FilesDisk for all others (protocol.ClientProfile).
const (
	FilesEditor FilesWay = "editor" // through the client's fs methods, where it has them
	FilesDisk   FilesWay = "disk"   // droid alone reads and writes them
)

// notifyReplayed notifies the user of edits that could not be completed.
func (s *Session) notifyReplayed(ctx context.Context) {
	left := s.deps.LeftEdits
	if left == nil {
		return
	}
	var texts []string
	s.unlocked(ctx, func(ctx context.Context) {
		texts, _ = files.CallBounded(ctx, s.deps.Calls, "editorfs.Untold", "the journal of edits", func(string) ([]string, error) { return left.ReplayWarnings(), nil })
	})
	for _, text := range texts {
		s.update(render.Notice(text))
	}
}

// overlay returns where the calls of a session on this process go, nil where its files stay on the
// disk.
func (d *Deps) overlay(s *Session, client *droid.Client) *fileOverlay {
	if d.EditorFiles == nil || !client.HasHooks() {
		return nil
	}
	return &fileOverlay{d.EditorFiles.Overlay(sessionEditor{s.out}, editorfs.OverlayOptions{KeepTimes: d.Client.ChecksModTimes}), s}
}

// announceTime bounds how long a hook waits for droid's event that announces its call.
// The event is there before, but a slow editor may keep it from being read.
const announceTime = 3 * time.Second

// AnswerHook answers a hook of droid's, when droid has announced the call that it is for. The answer is empty if the session has ended, or
// droid announces no such call in time.
func (s *Session) AnswerHook(ctx context.Context, h *filecalls.Hook) (answer hooks.Answer) {
	var failed *jsonrpc.Error
	if s.Enter(nil) != nil {
		return answer
	}
	defer s.Exit(&failed)
	return s.runHook(ctx, h)
}

// runHook runs a hook of droid once droid has announced its call. droid continues the call when it has the answer, so anything to be shown
// is shown before.
func (s *Session) runHook(ctx context.Context, h *filecalls.Hook) (answer hooks.Answer) {
	ctx, cancel := context.WithTimeout(ctx, announceTime)
	defer cancel()
	s.fileCalls.Hooked(h, s.cwd)
	if s.mu.WaitFor(ctx, "a hook", untilAnnounced, func() bool { return !s.fileCalls.Waits(h) }) != nil {
		s.fileCalls.Forget(h)
	}
	if h.Job != nil {
		answer = s.doJobs(s.Context, *h.Job)
		s.notifyReplayed(s.Context)
	}
	return answer
}

// sessionEditor is the client's fs methods for one session (ACP, "File System").
type sessionEditor struct{ *updates.Sender }

// ReadTextFile implements editorfs.ACPClient.
func (e sessionEditor) ReadTextFile(ctx context.Context, path string) (string, error) {
	r := updates.SendAsync[acp.ReadTextFileResponse](e.Sender, acp.ClientMethodFsReadTextFile, acp.ReadTextFileRequest{SessionId: acp.SessionId(e.Session()), Path: path})
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
	return updates.SendAsync[json.RawMessage](e.Sender, acp.ClientMethodFsWriteTextFile, acp.WriteTextFileRequest{SessionId: acp.SessionId(e.Session()), Path: path, Content: text}).Answered
}

// UsesEditor reports whether files are to go through the client's fs methods.
func (w FilesWay) UsesEditor(client protocol.ClientCapabilities) bool {
	switch w {
	case FilesDisk:
		return false
	case FilesEditor:
		return client.Files
	}
	return client.Files && client.SafeFiles
}
