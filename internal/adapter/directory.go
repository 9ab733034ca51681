package adapter

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/files"
	"droid-acp/internal/paths"
	"droid-acp/internal/problem"
	"droid-acp/internal/wsl"
)

// A session works in the directory that the editor asked for last. load_session and
// fork_session have no such parameter (droid 0.99 to 0.225): droid goes on where the
// session's file says, or, if that directory is gone, where the process was started. So
// the file is changed, as droid does it when a user changes the directory, and the process
// is started there, since it reads the project of its own directory too.

// findDirectory is the name that this system has for a directory, where Windows and WSL work
// together. what names it in the params.
func (a *Agent) findDirectory(ctx context.Context, what, path string) (string, error) {
	here, err := bounded(ctx, a, "wsl.Here", path, func(path string) (string, error) { return wsl.Here(ctx, path) })
	if err != nil {
		return "", fmt.Errorf("%s %q %w", what, path, err)
	}
	return here, nil
}

// checkDirectory refuses what droid would take and fail on later (0.99 opens a
// session in a directory that does not exist).
func (a *Agent) checkDirectory(ctx context.Context, what, path string) error {
	if path == "" {
		return fmt.Errorf("%s is missing; it must be an absolute path", what)
	}
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s must be an absolute path, not %q", what, path)
	}
	info, err := bounded(ctx, a, "stat", path, a.stat)
	if err != nil {
		return fmt.Errorf("%s cannot be used: %w", what, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s %q is not a directory", what, path)
	}
	return nil
}

// elsewhere is why a stored session was not opened in the directory asked for; why is a
// sentence.
func elsewhere(cwd, was, why string) *acp.RequestError {
	return problem.Internal("cwd_refused", "the session belongs to "+was+" and was not opened in "+cwd+": "+why+" Or open it with the cwd "+was+".")
}

// openStoredIn has a process that was started in cwd load a session, which works there
// from then on. mine says that this agent has noted that the session is open.
func (a *Agent) openStoredIn(cwd string, mine bool, p droid.LoadParams) opener {
	load := openStored(p)
	return func(ctx context.Context, client *droid.Client, servers []stream.MCPServer) (*stream.SessionInfo, error) {
		if err := a.place(ctx, p.SessionID, cwd, mine); err != nil {
			return nil, err
		}
		info, err := load(ctx, client, servers)
		if err == nil && info.CWD != "" && !a.sameDirectory(ctx, info.CWD, cwd) {
			return nil, elsewhere(cwd, info.CWD, "droid does not go on there.")
		}
		return info, err
	}
}

// openStored has the session's process load one of droid's sessions.
func (s *Session) openStored(p droid.LoadParams) opener {
	return s.agent.openStoredIn(s.cwd, s.lock.Is(p.SessionID), p)
}

// place has droid go on with a stored session in cwd. It reads files, and writes the
// session's file if droid would go on elsewhere.
func (a *Agent) place(ctx context.Context, id, cwd string, mine bool) error {
	found, err := a.stored(ctx, id)
	switch {
	case errors.Is(err, files.ErrHangs):
		return err
	case err != nil || found.CWD == "" || a.sameDirectory(ctx, found.CWD, cwd):
		return nil // droid says what is wrong with it
	}
	held := false
	if !mine {
		held, err = a.heldElsewhere(ctx, id)
	}
	if err != nil {
		return err
	}
	if held {
		return elsewhere(cwd, found.CWD, "it is open in another window or program of yours. Close it there first.")
	}
	if _, err := bounded(ctx, a, "Store.SetCWD", "session "+id, done(func() error { return a.cfg.Store.SetCWD(id, cwd) })); err != nil {
		return elsewhere(cwd, found.CWD, err.Error()+".")
	}
	a.log.Info("a session goes on in another directory", zap.String("session", id), zap.String("from", found.CWD), zap.String("to", cwd))
	return nil
}

// storedIn is the directory for a process that only copies or names a stored session:
// the one that droid goes on in, or fallback if that is gone or not known.
func (a *Agent) storedIn(ctx context.Context, id, fallback string) string {
	found, err := a.stored(ctx, id)
	if err != nil || a.checkDirectory(ctx, "cwd", found.CWD) != nil || a.sameDirectory(ctx, found.CWD, fallback) {
		return fallback
	}
	return found.CWD
}

// useDirectory has the session work in the directory that a load asks for. If the
// process works elsewhere, it is ended; the next process loads the session. undo takes
// that back when the load fails.
func (s *Session) useDirectory(cwd, target string) (undo func()) {
	before := s.cwd
	if cwd == before || target == before {
		return func() {}
	}
	s.workIn(cwd)
	return func() { s.workIn(before) }
}

// workIn notes in which directory the session works. A process is there already, or it
// is ended.
func (s *Session) workIn(cwd string) {
	s.cwd = cwd
	s.show.SetCWD(cwd)
	if s.proc.Client() != nil {
		s.leave()
	}
}

// sameDirectory reports whether two absolute paths lead to one place. It reads the disk.
func (a *Agent) sameDirectory(ctx context.Context, one, other string) bool {
	return paths.Same(filepath.Clean(one), filepath.Clean(other)) || paths.Same(a.target(ctx, one), a.target(ctx, other))
}

// target is where the symbolic links of a path lead; what cannot be followed stays.
func (a *Agent) target(ctx context.Context, path string) string {
	if followed, err := bounded(ctx, a, "EvalSymlinks", path, filepath.EvalSymlinks); err == nil {
		return followed
	}
	return filepath.Clean(path)
}
