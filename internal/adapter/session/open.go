package session

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// The beginning of a session that droid has just made: a new one, a copy, or one for which there is no droid yet.

// OpenNew creates the session that client has just made, as info describes it, and answers the call that asked for it.
func (d *Deps) OpenNew(c *wire.Call, client *droid.Client, info *stream.SessionInfo, w instructions.Wanted) (any, *jsonrpc.Error) {
	s := d.takeUp(c.Context, client, info, w, func(s *Session) {
		s.checkDefaults()
		s.checkWords()
	})
	return s.begin(c, s.sessionResult(), w.Notices)
}

// OpenCopy creates a session for the copy that client has just opened, and answers the call that asked for it. ids are those of the
// original thread.
func (d *Deps) OpenCopy(c *wire.Call, client *droid.Client, info *stream.SessionInfo, w instructions.Wanted, ids []string) (any, *jsonrpc.Error) {
	followUp := d.copyOptions(c.Context, ids, info.SessionID)
	s := d.takeUp(c.Context, client, info, w, func(s *Session) { s.useFollowUp(followUp) })
	return s.begin(c, s.sessionResult(), w.Notices)
}

// OpenWithout opens a session though there is no droid, so that its first prompt can say so: some
// clients show nothing of an error of session/new. A droid that is found later makes the session under
// the id that it gets here.
func (d *Deps) OpenWithout(c *wire.Call, w instructions.Wanted) (any, *jsonrpc.Error) {
	id := uuid.NewString()
	s := New(d, id, id, w.CWD, w.Servers)
	s.mu.Lock() // it is not shared yet
	s.useInstructions(w)
	s.proc.MarkNeedsCreate()
	s.log.Warn("there is no droid; the session waits for one")
	return s.begin(c, protocol.SessionResult{}, w.Notices)
}

// takeUp makes the session that a process has just opened. begin follows, and the caller has its lock until then. check is called before
// the options get their first values.
func (d *Deps) takeUp(ctx context.Context, client *droid.Client, info *stream.SessionInfo, w instructions.Wanted, check func(s *Session)) *Session {
	s := New(d, info.SessionID, info.SessionID, w.CWD, w.Servers)
	s.mu.Lock() // it is not shared yet
	s.useInstructions(w)
	s.mu.Guard(func() {
		s.adopt(client)
		s.opened(info)
		check(s)
		s.setFirst(ctx, w.First)
	})
	return s
}

// begin starts a session that was just made, and answers the call that made it. The result gets its id. It releases the session's lock.
func (s *Session) begin(c *wire.Call, result protocol.SessionResult, notices []string) (_ any, failure *jsonrpc.Error) {
	s.out.AddNotices(notices...)
	result.SessionID = s.out.Session()
	if err := s.deps.Sessions.Begin(s, s.out.Session()); err != nil {
		s.Stop()
		s.ForceStop()
		s.mu.Unlock()
		s.Run() // which ends what the session has begun
		if errors.Is(err, registry.ErrTaken) {
			return nil, acperr.Internal("session_taken", "droid calls the new session "+s.out.Session()+", which is open already; try again")
		}
		return nil, TicketError(err)
	}
	defer s.mu.Unlock()
	failure = acperr.Lost() // where it panics
	s.mu.Guard(func() {
		s.answerOpening(c, result)
		failure = nil
	})
	return result, failure
}

// A session works in the directory that the editor asked for last. load_session and fork_session have no such parameter (droid 0.99 to
// 0.225): droid uses the directory in the session's file or, if that is gone, the one in which the process was started. So the file is
// changed, as droid does when a user changes the directory, and the process is started there, since it also reads the project in its
// working directory.

// openStored returns how a process loads droid's session with up to so many messages, or creates it if no droid has yet. held is the result
// of markLoading.
func (s *Session) openStored(messages int, held error) launch.Open {
	if s.proc.NeedsCreate() {
		return s.deps.Launcher.Make(s.droidID, s.cwd, *s.systemPrompt.Load())
	}
	return launch.Open{ID: s.droidID, Messages: messages, CWD: s.cwd, Held: held}
}

// useDirectory makes the session work in the directory that a load asks for. A process that works elsewhere is ended; the next one loads
// the session.
func (s *Session) useDirectory(cwd, target string) {
	if cwd != s.cwd && target != s.cwd {
		s.workIn(cwd)
	}
}

// workIn notes in which directory the session works. A process is there already, or it
// is ended.
func (s *Session) workIn(cwd string) {
	s.cwd = cwd
	s.show.SetCWD(cwd)
	s.endDroid(replaced, "the session works in another directory")
}

// useInstructions sets the session's instructions. If the process has others,
// it is ended; the next process loads the session.
func (s *Session) useInstructions(w instructions.Wanted) {
	before := s.systemPrompt.Load()
	now := w.Following(*before).Instructions
	if now.Equal(*before) {
		return
	}
	s.systemPrompt.Store(&now)
	s.endDroid(replaced, "the session has other instructions")
}

// directories returns the working directory and the additional ones.
func (s *Session) directories() []string {
	return append([]string{s.cwd}, s.systemPrompt.Load().Roots...)
}

// checkWords ends a droid that has not taken the words of its new session (before 0.215).
// The next process gets them when it starts, see Launcher.Added.
func (s *Session) checkWords() {
	if s.systemPrompt.Load().Text != "" && s.proc.Client() != nil && !s.proc.Supports(stream.StoresSystemPrompt) {
		s.endDroid(replaced, "it did not take the words of its new session")
	}
}

// Instructions returns the additions to droid's system prompt, with the additional directories. It needs no lock.
func (s *Session) Instructions() instructions.Instructions { return *s.systemPrompt.Load() }

// sessionResult returns the state for the response that opens or loads the session. The editor relies on it from then on.
func (s *Session) sessionResult() protocol.SessionResult {
	s.out.MarkSent(s.options.Updates()...)
	return protocol.SessionResult{Modes: s.deps.Client.Modes(s.options.Modes()), Models: s.options.SessionModels(), ConfigOptions: s.options.ListUpdate().ConfigOptions}
}

// checkDefaults notes for the user which defaults droid did not take, and which models the project asks for. A droid that
// does not know the field in which it was first asked for the mode (before 0.99) is
// asked once more, in the field that it knows.
func (s *Session) checkDefaults() {
	if s.proc.Client() == nil {
		return
	}
	notices, again := s.options.Untaken(s.deps.Config.Defaults, !s.proc.Supports(stream.TakesAutonomyMode))
	s.out.AddNotices(append(notices, s.options.Wanted(s.proc.Client().ProjectModels())...)...)
	if again == "" {
		return
	}
	was := s.options.Mode()
	s.mu.Post(func() {
		change, err := s.beginChange(s.Context, turns.General)
		if err != nil {
			return
		}
		defer s.prompts.FinishChange(change, nil)
		if s.options.Mode() != was {
			return // the user has chosen one in the meantime
		}
		if err := s.setOption(s.Context, options.Mode, string(again)); err != nil {
			s.out.AddNotices(options.IgnoredDefault("mode", again.Title(), s.options.Mode().Title()))
		}
	})
}

// setFirst sets the options to the values that the request which opens the session has for them. A value that an option does not have is
// dropped, as ACP wants it.
func (s *Session) setFirst(ctx context.Context, values []options.Value) {
	for _, v := range values {
		if err := s.setOption(ctx, v.ID, v.Value); err != nil {
			s.log.Info("a first value was dropped", append(errorFields(err), zap.String("option", v.ID))...)
		}
	}
}
