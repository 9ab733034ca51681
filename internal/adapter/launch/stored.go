package launch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/workspace/trust"
	"droid-acp/internal/workspace/wsl"
)

// ofSession has the store do something with a session, within a bound.
func ofSession[T any](ctx context.Context, l *Launcher, call files.CallName, id string, f func(id string) (T, error)) (T, error) {
	return files.CallBounded(ctx, l.calls, call, "session "+id, func(string) (T, error) { return f(id) })
}

// sure makes a call that cannot fail one for files.CallBounded.
func sure[T any](f func(string) T) func(string) (T, error) {
	return func(s string) (T, error) { return f(s), nil }
}

// Find finds a session in the store.
func (l *Launcher) Find(ctx context.Context, id string) (store.Session, error) {
	return ofSession(ctx, l, "Store.Find", id, l.cfg.Store.Find)
}

// IsOpen reports whether another agent has a session open.
func (l *Launcher) IsOpen(ctx context.Context, id string) (bool, error) {
	return ofSession(ctx, l, "Store.IsOpen", id, l.cfg.Store.IsOpen)
}

// Free returns an error when an agent has a session open or loads it (store.ErrOpenElsewhere), or may do so.
func (l *Launcher) Free(ctx context.Context, id string) error {
	_, err := ofSession(ctx, l, "Store.Free", id, func(id string) (struct{}, error) { return struct{}{}, l.cfg.Store.Free(id) })
	return err
}

// FreeToMove is Free for a session that is to work in cwd. Where it works elsewhere until now, an agent that leaves it has so long for that.
func (l *Launcher) FreeToMove(ctx context.Context, id, cwd string, patience time.Duration) error {
	held := l.Free(ctx, id)
	if !errors.Is(held, store.ErrOpenElsewhere) {
		return held
	}
	if found, err := l.Find(ctx, id); err != nil || found.CWD == "" || l.sameDirectory(ctx, found.CWD, cwd) {
		return held
	}
	for end := time.Now().Add(patience); errors.Is(held, store.ErrOpenElsewhere) && time.Now().Before(end) && ctx.Err() == nil; held = l.Free(ctx, id) {
		select {
		case <-time.After(freeLook):
		case <-ctx.Done():
		}
	}
	return held
}

// freeLook is how often FreeToMove looks.
const freeLook = 100 * time.Millisecond

// Marked returns the time when an agent noted last that it has a session open.
func (l *Launcher) Marked(ctx context.Context, id string) (time.Time, error) {
	return ofSession(ctx, l, "Store.Marked", id, sure(l.cfg.Store.Marked))
}

// Project reads what a project would run, as far as client uses it; nil stands for any droid.
func (l *Launcher) Project(ctx context.Context, cwd string, client *droid.Client) (trust.Project, error) {
	return files.CallBounded(ctx, l.calls, "Trust.Look", cwd, sure(func(cwd string) trust.Project {
		if client == nil {
			return l.cfg.Trust.Check(cwd)
		}
		return l.cfg.Trust.CheckFor(cwd, client.Relevant)
	}))
}

// ServerPrograms returns the programs of the MCP servers that the files of a project and of the user name, by the servers'
// names. What cannot be read is not among them.
func (l *Launcher) ServerPrograms(ctx context.Context, cwd string) map[string]string {
	programs, _ := files.CallBounded(ctx, l.calls, "Trust.ServerPrograms", cwd, sure(l.cfg.Trust.ServerPrograms))
	return programs
}

// NotOwn says why an MCP server is not the user's alone, "" where it is; see layer.NotOwn.
func (l *Launcher) NotOwn(ctx context.Context, cwd, server string) (why string, err error) {
	return files.CallBounded(ctx, l.calls, "Trust.NotOwn", cwd, func(cwd string) (string, error) { return l.cfg.Trust.NotOwn(cwd, server) })
}

// MarkOpen notes in the store that this agent has a session open.
func (l *Launcher) MarkOpen(ctx context.Context, id string) (release func(), _ error) {
	return l.mark(ctx, "Store.MarkOpen", id, l.cfg.Store.MarkOpen)
}

// MarkLoading notes in the store that this agent is about to have droid load a session.
func (l *Launcher) MarkLoading(ctx context.Context, id string) (release func(), _ error) {
	return l.mark(ctx, "Store.MarkLoading", id, l.cfg.Store.MarkLoading)
}

// mark makes a note in the store, within a bound. When ctx ends in the meantime, it is still waited for a moment: who deletes
// the session next would find it. A note that comes later yet is taken back.
func (l *Launcher) mark(ctx context.Context, call files.CallName, id string, make func(id string) (func(), error)) (release func(), _ error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	waiting, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(files.ReleaseTime, leave) })()
	left, takeBack := context.WithCancel(context.Background())
	defer takeBack() // where it is not kept
	type note struct {
		release func()
		keep    func() bool
	}
	made, err := files.CallBoundedDetached(waiting, l.calls, call, "session "+id, func(string) (n note, err error) {
		if n.release, err = make(id); err == nil {
			n.keep = context.AfterFunc(left, n.release)
		}
		return n, err
	})
	if err != nil {
		return nil, err
	}
	made.keep()
	return made.release, nil
}

// FindDirectory returns the name that this system has for a directory, where Windows and WSL work
// together. what names it in the params.
func (l *Launcher) FindDirectory(ctx context.Context, what, path string) (string, error) {
	here, err := files.CallBounded(ctx, l.calls, "wsl.Here", path, func(path string) (string, error) { return wsl.LocalPath(ctx, path) })
	if err != nil {
		return "", fmt.Errorf("%s %q %w", what, path, err)
	}
	return here, nil
}

// Directory is FindDirectory for one in which a session is to work.
func (l *Launcher) Directory(ctx context.Context, what, path string) (string, error) {
	here, err := l.FindDirectory(ctx, what, path)
	if err == nil {
		err = l.checkDirectory(ctx, what, here)
	}
	return here, err
}

// checkDirectory refuses what droid would take and fail on later (0.99 opens a
// session in a directory that does not exist).
func (l *Launcher) checkDirectory(ctx context.Context, what, path string) error {
	if path == "" {
		return fmt.Errorf("%s is missing; it must be an absolute path", what)
	}
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s must be an absolute path, not %q", what, path)
	}
	info, err := files.CallBounded(ctx, l.calls, "stat", path, l.Stat)
	if err != nil {
		return fmt.Errorf("%s cannot be used: %w", what, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s %q is not a directory", what, path)
	}
	return nil
}

// elsewhere says why a stored session was not opened in the directory asked for; why is a
// sentence.
func elsewhere(cwd, was, why string) *jsonrpc.Error {
	return acperr.Internal("cwd_refused", "The session belongs to "+was+" and was not opened in "+cwd+": "+why+" Or open it with the cwd "+was+".")
}

// Open describes what a process opens: a new session, a stored one, or a copy of that.
type Open struct {
	New      *droid.InitializeParams // for a new session, see Make; nil for a stored one
	ID       string                  // of the stored session
	Messages int                     // how many of its messages droid is asked for, see droid.LoadParams
	CWD      string                  // where the session works from then on; "" for where it did
	Held     error                   // why another agent has it open, or may have; nil where this one alone has it
	Copy     *Copied                 // makes droid copy it, and continue with the copy if there is a CWD; nil for no copy
}

// Copied is a copy of a stored session.
type Copied struct {
	Begun bool   // droid was asked for it
	ID    string // "" until droid has made it
}

// Make returns a new session with this id, "" for one that droid chooses.
func (l *Launcher) Make(id, cwd string, i instructions.Instructions) Open {
	return Open{New: &droid.InitializeParams{SessionID: id, CWD: cwd, Settings: l.cfg.Defaults.Settings(), SystemPrompt: i.Text}}
}

// OpenIn makes a process open a session; a stored one that is to work in a directory needs a process that was started there. servers are
// the MCP servers to pass with it: those that the process was not given before.
func (l *Launcher) OpenIn(ctx context.Context, client *droid.Client, servers []stream.MCPServer, open Open) (*stream.SessionInfo, error) {
	if open.New != nil {
		p := *open.New
		p.MCPServers = servers
		return client.Initialize(ctx, p)
	}
	p := droid.LoadParams{SessionID: open.ID, MessageLimit: open.Messages}
	if made := open.Copy; made != nil {
		info, err := l.load(ctx, client, p)
		if err != nil {
			return nil, err
		}
		made.Begun = true
		if made.ID, err = client.Fork(ctx); err != nil || open.CWD == "" {
			return info, err
		}
		p.SessionID = made.ID
	}
	p.MCPServers = servers
	if open.CWD == "" {
		return l.load(ctx, client, p)
	}
	if err := l.place(ctx, p.SessionID, open.CWD, open.Held); err != nil {
		return nil, err
	}
	info, err := l.load(ctx, client, p)
	if err == nil && info.CWD != "" && !l.sameDirectory(ctx, info.CWD, open.CWD) {
		return nil, elsewhere(open.CWD, info.CWD, "droid does not go on there.")
	}
	return info, err
}

// load makes a process load a session. If droid cannot read the session's file, the error says so.
func (l *Launcher) load(ctx context.Context, client *droid.Client, p droid.LoadParams) (*stream.SessionInfo, error) {
	info, err := client.Load(ctx, p)
	if refused, ok := errors.AsType[*stream.RPCError](err); ok && strings.HasPrefix(refused.Message, "Invalid session file") { // 0.99 to 0.225
		if path, err := ofSession(ctx, l, "Store.Find", p.SessionID, l.cfg.Store.File); err == nil {
			refused.Message += ". Restore the file " + path + " from a backup, or move it away"
		}
	}
	return info, err
}

// place makes droid work with a stored session in cwd. It reads files, and writes the session's file if droid would work elsewhere.
func (l *Launcher) place(ctx context.Context, id, cwd string, held error) error {
	found, err := l.Find(ctx, id)
	switch {
	case errors.Is(err, files.ErrHangs):
		return err
	case err != nil || found.CWD == "" || l.sameDirectory(ctx, found.CWD, cwd):
		return nil // droid says what is wrong with it
	case held != nil && !errors.Is(held, store.ErrOpenElsewhere):
		return held
	case held != nil:
		return elsewhere(cwd, found.CWD, "it is open in another window or program of yours. Close it there first.")
	}
	if _, err := files.CallBounded(ctx, l.calls, "Store.SetCWD", "session "+id, files.NoResult(func() error { return l.cfg.Store.SetCWD(id, cwd) })); err != nil {
		return elsewhere(cwd, found.CWD, err.Error()+".")
	}
	l.log.Info("a session goes on in another directory", zap.String("session", id), zap.String("from", found.CWD), zap.String("to", cwd))
	return nil
}

// DirectoryOf returns the directory for a process that only copies or names a stored session: the one in which droid would work, or
// fallback if that is gone or not known.
func (l *Launcher) DirectoryOf(ctx context.Context, id, fallback string) string {
	found, err := l.Find(ctx, id)
	if err != nil || l.checkDirectory(ctx, "cwd", found.CWD) != nil || l.sameDirectory(ctx, found.CWD, fallback) {
		return fallback
	}
	return found.CWD
}

// sameDirectory reports whether two absolute paths lead to one place. It reads the disk.
func (l *Launcher) sameDirectory(ctx context.Context, one, other string) bool {
	return paths.Equal(filepath.Clean(one), filepath.Clean(other)) || paths.Equal(l.Target(ctx, one), l.Target(ctx, other))
}

// Target returns where the symbolic links of a path lead; what cannot be followed stays.
func (l *Launcher) Target(ctx context.Context, path string) string {
	if followed, err := files.CallBounded(ctx, l.calls, "EvalSymlinks", path, filepath.EvalSymlinks); err == nil {
		return followed
	}
	return filepath.Clean(path)
}

// Copy starts a droid to copy a stored session. It blocks.
func (l *Launcher) Copy(ctx context.Context, cwd, id string, made *Copied) error {
	client, _, err := l.LaunchAlone(ctx, cwd, Open{ID: id, Messages: 1, Copy: made})
	if err == nil {
		client.Kill()
		<-client.Exited()
	}
	return err
}
