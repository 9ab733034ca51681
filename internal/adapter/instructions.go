package adapter

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/instructions"
)

// useInstructions makes what is wanted the session's instructions. If the process has others,
// it is ended; the next process loads the session.
func (s *Session) useInstructions(w instructions.Wanted) {
	before := s.instructed.Load()
	now := w.Following(*before).Instructions
	if now.Equal(*before) {
		return
	}
	s.instructed.Store(&now)
	if s.proc.Client() != nil {
		s.leave()
	}
}

// rootsOf are the additional directories of a session that is open here, nil for others.
func (a *Agent) rootsOf(id string) []string {
	if s, open := a.sessions.Find(id); open {
		return s.instructed.Load().Roots
	}
	return nil
}

// openInstructed opens a new session with instructions. Where droid stores words with a
// session it gets them that way, so that they hold whoever loads the session. An older
// one gets them with its process.
func (a *Agent) openInstructed(ctx context.Context, w instructions.Wanted) (*droid.Client, *stream.SessionInfo, error) {
	params := droid.InitializeParams{CWD: w.CWD, Settings: a.cfg.Defaults.Settings(), SystemPrompt: w.Text}
	if w.Text != "" && a.spareMayStore(ctx) {
		client, info, err := a.launch(ctx, w.CWD, w.Servers, w.Added(w.Text), openStoring(openNew(params)))
		if !errors.Is(err, errDoesNotStore) {
			return client, info, err
		}
	}
	params.SystemPrompt = ""
	return a.launch(ctx, w.CWD, w.Servers, w.Added(""), openNew(params))
}

// spareTime bounds how long the spare is asked for its version.
const spareTime = 5 * time.Second

// spareMayStore reports false when words could not be given to the spare, which then is
// left for a session without any.
func (a *Agent) spareMayStore(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, spareTime)
	defer cancel()
	version := a.spare.AwaitVersion(ctx)
	return version.IsZero() || version.Has(stream.StoresSystemPrompt)
}

// errDoesNotStore is why a droid was not asked to open a session.
var errDoesNotStore = errors.New("this droid does not store additions to the system prompt")

// openStoring refuses a droid that would ignore the words of a new session.
func openStoring(open opener) opener {
	return func(ctx context.Context, client *droid.Client, servers []stream.MCPServer) (*stream.SessionInfo, error) {
		if !client.AwaitVersion(ctx).Has(stream.StoresSystemPrompt) && client.ExitError() == nil && ctx.Err() == nil {
			return nil, errDoesNotStore
		}
		return open(ctx, client, servers)
	}
}

// addedTo is what a process is to add to the system prompt when it loads a stored
// session. It blocks.
func (a *Agent) addedTo(ctx context.Context, id string, i instructions.Instructions) string {
	if i.Text == "" {
		return i.Added("")
	}
	stored, err := bounded(ctx, a, "Store.SystemPrompt", "session "+id, func(string) (string, error) { return a.cfg.Store.SystemPrompt(id) })
	if err != nil {
		a.log.Warn("it is not known what droid adds to the system prompt of a session by itself", zap.String("session", id), zap.Error(err))
	}
	return i.Added(stored)
}
