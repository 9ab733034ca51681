package session

import (
	"context"

	"droid-acp/internal/adapter/internal/monitor"
	"droid-acp/internal/adapter/internal/process"
	"droid-acp/internal/adapter/internal/updates"
	"droid-acp/internal/adapter/mcp"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// Bounds and texts.
const (
	ActivityPause = activityPause
	AnnounceTime  = announceTime
	FileTime      = fileTime
	LeavingTime   = leavingTime
	LoadAgainTime = loadAgainTime
	LookTime      = lookTime
	MovedOn       = movedOn
	NotTrusted    = notTrusted
	ParkRetry     = parkRetry
	RulesSettle   = rulesSettle
	TrustTime     = trustTime
)

// The internals that tests in package session_test use, with the lock unless the comment says otherwise. These tests run a session in an
// agent, which package session cannot import.

// Lock is the session's lock.
func (s *Session) Lock() *monitor.Monitor { return s.mu }

// Process is the droid that works for the session.
func (s *Session) Process() *process.Process { return &s.proc }

// Prompts is the session's queue.
func (s *Session) Prompts() *turns.Queue[*userPrompt] { return &s.prompts }

// OptionState are the session's options.
func (s *Session) OptionState() *options.State { return &s.options }

// Updates is the session's way to its editor.
func (s *Session) Updates() *updates.Sender { return s.out }

// Questions are those that the user is asked.
func (s *Session) Questions() *updates.Questions { return &s.questions }

// ReplaceDroid ends the session's droid, of which nothing is wanted any more.
func (s *Session) ReplaceDroid() { s.endDroid(replaced, "test") }

// BeginChange waits in the session's queue for the turn of a request.
func (s *Session) BeginChange(ctx context.Context, of turns.Scope) (*turns.Change, *jsonrpc.Error) {
	return s.beginChange(ctx, of)
}

// LockRPC takes the lock of calls to droid.
func (s *Session) LockRPC(ctx context.Context) (release func(), err *jsonrpc.Error) {
	return s.lockRPC(ctx)
}

// Unlocked gives the lock up while f runs.
func (s *Session) Unlocked(f func(context.Context)) { s.unlocked(s.Context, f) }

// Show shows an event.
func (s *Session) Show(ev quirks.Event) { s.translate(ev, nil) }

// ApplyEvent applies an event of droid.
func (s *Session) ApplyEvent(ev quirks.Event) { s.applyEvent(ev, nil) }

// ShowText shows a text of droid's.
func (s *Session) ShowText(id, text string) { s.update(s.show.Text(id, text, false)...) }

// View returns what the editor has been shown.
func (s *Session) View() *render.View { return s.show }

// PanicsShowing has everything panic that is to be shown, until restore is called.
func (s *Session) PanicsShowing() (restore func()) {
	view := s.show
	s.show = nil
	return func() { s.show = view }
}

// Servers returns the session's MCP servers.
func (s *Session) Servers() *mcp.Servers { return &s.servers }

// MCPStatus takes the states of MCP servers.
func (s *Session) MCPStatus(ev stream.MCPStatusChanged) { s.mcpStatus(ev) }

// HideFromEditor has the editor not know the session.
func (s *Session) HideFromEditor() { s.out = updates.New(s.deps.Conn, s.mu, s.log) }

// KillDroid kills the session's droid.
func (s *Session) KillDroid() { s.endDroid(killed, "test") }

// RenewIdle ends a droid from before the last login, if the session rests.
func (s *Session) RenewIdle() { s.renewIdle() }

// EndFileCalls ends what goes through the editor's files.
func (s *Session) EndFileCalls() { s.fileCalls.End() }

// Async runs f in another goroutine, without the lock.
func (s *Session) Async(f func(context.Context)) { s.async(f) }

// AwaitQuiet waits until no prompt runs.
func (s *Session) AwaitQuiet(ctx context.Context) *jsonrpc.Error {
	return s.waitFor(ctx, "a test", needQuiet)
}

// LeaveStore has the session held in no store.
func (s *Session) LeaveStore() { s.storeLock.Begin("") }

// ShowsHistory reports whether the history of a load is being shown.
func (s *Session) ShowsHistory() bool { return s.showsHistory() }

// FollowTo continues the thread in another session.
func (s *Session) FollowTo(id string) { s.followTo(id) }

// WhenEnded has f called if ctx ends before forget is called.
func (s *Session) WhenEnded(ctx context.Context, f func()) (forget func()) {
	return s.whenEnded(ctx, f)
}

// Uncancellable makes an act survive a cancel.
func (s *Session) Uncancellable(ctx context.Context) context.Context { return s.uncancellable(ctx) }

// Refuse has the session take nothing any more. It needs no lock.
func (s *Session) Refuse(err *jsonrpc.Error) { s.unfit.Store(err) }

// ResolveBy has paths resolved by another function, and returns the one before.
func (f *FileReader) ResolveBy(by func(string) (string, error)) (before func(string) (string, error)) {
	before, f.resolve = f.resolve, by
	return before
}

// NewFileReaderOf makes a FileReader that reads each file by readText.
func NewFileReaderOf(readText func(path string) render.File) *FileReader {
	return newFileReader(readText)
}
