package session

import (
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/droid/stream"
)

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
