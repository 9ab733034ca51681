package opening

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/problem"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/workspace/trust"
	"droid-acp/internal/workspace/wsl"
)

// Find finds a session in the store.
func (o *Opener) Find(ctx context.Context, id string) (store.Session, error) {
	return files.Within(ctx, o.calls, "Store.Find", "session "+id, func(string) (store.Session, error) { return o.cfg.Store.Find(id) })
}

// IsOpen reports whether another agent has a session open.
func (o *Opener) IsOpen(ctx context.Context, id string) (bool, error) {
	return files.Within(ctx, o.calls, "Store.IsOpen", "session "+id, func(string) (bool, error) { return o.cfg.Store.IsOpen(id), nil })
}

// Project looks at what a project brings to run.
func (o *Opener) Project(ctx context.Context, cwd string) (trust.Project, error) {
	return files.Within(ctx, o.calls, "Trust.Look", cwd, func(cwd string) (trust.Project, error) { return o.cfg.Trust.Look(cwd), nil })
}

// ServerPrograms are the programs of the MCP servers that the files of a project and of the user name, by the servers'
// names. What cannot be read is not among them.
func (o *Opener) ServerPrograms(ctx context.Context, cwd string) map[string]string {
	programs, _ := files.Within(ctx, o.calls, "Trust.ServerPrograms", cwd, func(cwd string) (map[string]string, error) { return o.cfg.Trust.ServerPrograms(cwd), nil })
	return programs
}

// NotOwn says why an MCP server is not the user's alone, "" where it is; see layer.NotOwn.
func (o *Opener) NotOwn(ctx context.Context, cwd, server string) (why string, err error) {
	return files.Within(ctx, o.calls, "Trust.NotOwn", cwd, func(cwd string) (string, error) { return o.cfg.Trust.NotOwn(cwd, server) })
}

// MarkOpen notes in the store that this agent has a session open. When ctx ends while the note is being made, it is
// still waited for a moment: who deletes the session next would find it. A note that comes later yet is taken back.
func (o *Opener) MarkOpen(ctx context.Context, id string) (release func(), _ error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	waiting, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(files.ReleaseTime, leave) })()
	var mu sync.Mutex
	var note func()
	left := false
	_, err := files.WithinAtEnd(waiting, o.calls, "Store.MarkOpen", "session "+id, files.Done(func() error {
		release, err := o.cfg.Store.MarkOpen(id)
		mu.Lock()
		defer mu.Unlock()
		if note = release; err == nil && left {
			release()
		}
		return err
	}))
	mu.Lock()
	defer mu.Unlock()
	if err == nil {
		return note, nil
	}
	if left = true; note != nil { // it came in this moment
		note()
	}
	return nil, err
}

// Marked is when an agent noted last that it has a session open.
func (o *Opener) Marked(ctx context.Context, id string) (time.Time, error) {
	return files.Within(ctx, o.calls, "Store.Marked", "session "+id, func(string) (time.Time, error) { return o.cfg.Store.Marked(id), nil })
}

// FindDirectory is the name that this system has for a directory, where Windows and WSL work
// together. what names it in the params.
func (o *Opener) FindDirectory(ctx context.Context, what, path string) (string, error) {
	here, err := files.Within(ctx, o.calls, "wsl.Here", path, func(path string) (string, error) { return wsl.Here(ctx, path) })
	if err != nil {
		return "", fmt.Errorf("%s %q %w", what, path, err)
	}
	return here, nil
}

// CheckDirectory refuses what droid would take and fail on later (0.99 opens a
// session in a directory that does not exist).
func (o *Opener) CheckDirectory(ctx context.Context, what, path string) error {
	if path == "" {
		return fmt.Errorf("%s is missing; it must be an absolute path", what)
	}
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s must be an absolute path, not %q", what, path)
	}
	info, err := files.Within(ctx, o.calls, "stat", path, o.Stat)
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
	return problem.Internal("cwd_refused", "The session belongs to "+was+" and was not opened in "+cwd+": "+why+" Or open it with the cwd "+was+".")
}

// Stored has a process that was started in cwd load a session, which works there
// from then on. mine says that this agent has noted that the session is open.
func (o *Opener) Stored(cwd string, mine bool, p droid.LoadParams) Open {
	open := Load(p)
	return func(ctx context.Context, client *droid.Client, servers []stream.MCPServer) (*stream.SessionInfo, error) {
		if err := o.place(ctx, p.SessionID, cwd, mine); err != nil {
			return nil, err
		}
		info, err := open(ctx, client, servers)
		if err == nil && info.CWD != "" && !o.sameDirectory(ctx, info.CWD, cwd) {
			return nil, elsewhere(cwd, info.CWD, "droid does not go on there.")
		}
		return info, err
	}
}

// place has droid go on with a stored session in cwd. It reads files, and writes the
// session's file if droid would go on elsewhere.
func (o *Opener) place(ctx context.Context, id, cwd string, mine bool) error {
	found, err := o.Find(ctx, id)
	switch {
	case errors.Is(err, files.ErrHangs):
		return err
	case err != nil || found.CWD == "" || o.sameDirectory(ctx, found.CWD, cwd):
		return nil // droid says what is wrong with it
	}
	held := false
	if !mine {
		held, err = o.IsOpen(ctx, id)
	}
	if err != nil {
		return err
	}
	if held {
		return elsewhere(cwd, found.CWD, "it is open in another window or program of yours. Close it there first.")
	}
	if _, err := files.Within(ctx, o.calls, "Store.SetCWD", "session "+id, files.Done(func() error { return o.cfg.Store.SetCWD(id, cwd) })); err != nil {
		return elsewhere(cwd, found.CWD, err.Error()+".")
	}
	o.log.Info("a session goes on in another directory", zap.String("session", id), zap.String("from", found.CWD), zap.String("to", cwd))
	return nil
}

// DirectoryOf is the directory for a process that only copies or names a stored session:
// the one that droid goes on in, or fallback if that is gone or not known.
func (o *Opener) DirectoryOf(ctx context.Context, id, fallback string) string {
	found, err := o.Find(ctx, id)
	if err != nil || o.CheckDirectory(ctx, "cwd", found.CWD) != nil || o.sameDirectory(ctx, found.CWD, fallback) {
		return fallback
	}
	return found.CWD
}

// sameDirectory reports whether two absolute paths lead to one place. It reads the disk.
func (o *Opener) sameDirectory(ctx context.Context, one, other string) bool {
	return paths.Same(filepath.Clean(one), filepath.Clean(other)) || paths.Same(o.Target(ctx, one), o.Target(ctx, other))
}

// Target is where the symbolic links of a path lead; what cannot be followed stays.
func (o *Opener) Target(ctx context.Context, path string) string {
	if followed, err := files.Within(ctx, o.calls, "EvalSymlinks", path, filepath.EvalSymlinks); err == nil {
		return followed
	}
	return filepath.Clean(path)
}

// Copied is a copy of a stored session.
type Copied struct {
	Begun bool   // droid was asked for it
	ID    string // "" until droid has made it
}

// From loads a session and has droid copy it.
func (made *Copied) From(id string) Open {
	return func(ctx context.Context, client *droid.Client, servers []stream.MCPServer) (*stream.SessionInfo, error) {
		info, err := Load(droid.LoadParams{SessionID: id, MessageLimit: 1})(ctx, client, servers)
		if err == nil {
			made.Begun = true
			made.ID, err = client.Fork(ctx)
		}
		return info, err
	}
}

// Copy has a droid of its own copy a stored session. It blocks.
func (o *Opener) Copy(ctx context.Context, cwd, id string, made *Copied) error {
	client, _, err := o.LaunchAlone(ctx, cwd, made.From(id))
	if err == nil {
		client.Kill()
		<-client.Exited()
	}
	return err
}
