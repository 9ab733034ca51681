package adapter

import (
	"context"

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
	if s.proc.client() != nil {
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

// openInstructed opens a new session with instructions. droid gets the words with the
// session and stores them there, so that they hold whoever loads it.
func (a *Agent) openInstructed(ctx context.Context, w instructions.Wanted) (*droid.Client, *stream.SessionInfo, error) {
	params := droid.InitializeParams{CWD: w.CWD, Settings: a.cfg.Defaults.Settings(), SystemPrompt: w.Text}
	return a.launch(ctx, w.CWD, w.Servers, w.Added(w.Text), openNew(params))
}

// checkWords ends a droid that has not taken the words of its new session (before 0.215).
// The next process gets them when it starts, see addedTo.
func (s *Session) checkWords() {
	if s.instructed.Load().Text != "" && s.proc.client() != nil && !s.proc.has(stream.StoresSystemPrompt) {
		s.leave()
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
