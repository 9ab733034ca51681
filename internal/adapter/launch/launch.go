// Package launch starts droids and opens sessions in them: new ones, stored ones in the directory that is asked for, copies. It leaves out
// what an untrusted project would run. It knows droid's processes and files, and no session of the agent's.
package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/memory"
	"droid-acp/internal/workspace/trust"
)

// Config configures a Launcher.
type Config struct {
	// Start starts a droid process. It finds the program by itself: the command's Path,
	// Args and Env are empty.
	Start func(droid.Command) (*droid.Client, error)
	// Store is droid's session store, nil where droid keeps no sessions.
	Store *store.Store
	// Defaults are the settings that new sessions start with.
	Defaults options.Defaults
	// Trust knows which projects may run what they bring; nil trusts all.
	Trust *trust.Store
	// Dir is where the first spare process is started: the agent's own directory. It serves
	// a session of that directory alone.
	Dir string
	// Spare says which sessions find a droid that was started before them; "" is SpareFirst.
	Spare Spare
}

// Spare says which sessions find a droid that was started before them, which holds 200 MB
// (0.225) to 430 MB until one comes, for five minutes at most.
type Spare string

// Values of Spare.
const (
	SpareNone  Spare = "none"
	SpareFirst Spare = "first"
	SpareEach  Spare = "each" // the next one always finds one, unless it comes within seconds
	SpareAuto  Spare = "auto" // SpareEach while 4 GiB of memory are free, else SpareFirst
)

// again reports whether another droid may be started ahead now.
func (s Spare) again() bool {
	return s == SpareEach || s == SpareAuto && memory.Available() >= spareMemory
}

// spareMemory is how many bytes of memory must be free to start a droid in advance.
const spareMemory = 4 << 30

// Launcher starts droids and opens sessions in them.
type Launcher struct {
	Spare *droid.Prewarmed
	Stat  func(path string) (os.FileInfo, error) // tests use directories that do not exist

	cfg   *Config
	calls *files.CallLimiter
	hooks Hooks
	life  context.Context // of the agent
	log   *zap.Logger

	previews previews
}

// Hooks has those that each process gets; none where files stay on the disk.
type Hooks interface{ Hooks() []droid.Hook }

// New returns a Launcher for an agent that lives until life ends.
func New(life context.Context, cfg *Config, calls *files.CallLimiter, hooks Hooks, log *zap.Logger) *Launcher {
	l := &Launcher{Stat: os.Stat, cfg: cfg, calls: calls, hooks: hooks, life: life, log: log, previews: previews{turn: make(chan struct{}, 1)}}
	l.Spare = droid.NewPrewarmed(cfg.Dir, l.startAhead, cfg.Spare.again, log)
	if cfg.Spare == SpareNone {
		l.Spare.Discard()
	}
	return l
}

// startAhead starts a droid in dir for a session that may come.
func (l *Launcher) startAhead(dir string) (*droid.Client, error) {
	command, err := l.commandIn(l.life, dir)
	if err != nil {
		return nil, err
	}
	command.Runtime = true
	return l.cfg.Start(command)
}

// Time bounds how long droid may take to open a session. 0.3 to 2.6 s were
// seen; what takes longer than this hangs.
const Time = time.Minute

// hangTime is after how long a process is taken for one that hangs, and another one
// opens the session in the time that is left: 0.99 was seen, rarely, to answer nothing
// for 30 s right after its start (quirk 34).
const hangTime = 20 * time.Second

// errHung is the reason for starting another process.
var errHung = errors.New("droid did not answer within 20 s")

// ErrTime is the error if droid does not open a session in time.
var ErrTime = errors.New("droid did not answer within a minute")

// OutOfTime returns err, or the cause of ctx's end if err says that time ran out.
func OutOfTime(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

// Launch starts droid in cwd, or takes the spare if that fits, and opens a session in it. It blocks. added is the process's addition to
// droid's system prompt, which the spare does not have. What an untrusted project would run is left out. On an error the process is gone.
// If droid does not start because it is to take MCP servers, or hangs, it is started once more; in the first case it gets the servers with
// the session.
func (l *Launcher) Launch(ctx context.Context, cwd string, servers []stream.MCPServer, added string, open Open) (*droid.Client, *stream.SessionInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Time, ErrTime)
	defer cancel()
	command, err := l.commandFor(ctx, cwd, servers, added)
	if err != nil {
		return nil, nil, err
	}
	client, patience := l.takeSpare(command), hangTime
	for starts := 0; ; {
		if client == nil {
			if client, err = l.cfg.Start(command); err != nil {
				return nil, nil, refusal(command.Excluded, err, acperr.NotStarted(err))
			}
		}
		attempt, cancel := context.WithTimeoutCause(ctx, patience, errHung)
		now, err := l.lookAgain(attempt, client, command, func() (droid.Command, error) {
			return l.commandFor(ctx, cwd, servers, added) // ctx: files that are slow do not mean that droid hangs
		})
		var info *stream.SessionInfo
		if err == nil {
			info, err = l.openIn(attempt, client, &droid.Runtime{MCPServers: servers, CWD: cwd, Project: command.Project, Excluded: command.Excluded}, open)
		}
		cancel()
		switch {
		case err == nil:
			l.Spare.Next(cwd)
			return client, info, nil
		case errors.Is(err, errChanged) && starts < mostStarts:
			client, command = nil, now
			starts++
			continue
		case errors.Is(err, errHung):
			l.log.Warn("droid hangs; another one opens the session")
		case !command.RequiresSettings() && client.TakesRuntime() && cannotTake(err):
			l.log.Warn("droid does not start when it is to take MCP servers; they are passed with the session", zap.Error(err))
			command.Runtime, command.Excluded, command.Project = false, nil, nil
		default:
			return nil, nil, refusal(command.Excluded, err, err)
		}
		client, patience = nil, Time // all of the time that is left
	}
}

// mostStarts bounds how often droid is started again while the project keeps changing.
const mostStarts = 4

// errChanged reports that the project changed between two looks, and that droid was ended.
var errChanged = acperr.Internal("project_not_trusted", "What this project brings to run changes all the time, so no droid was started. Try again when its files rest.")

// lookAgain looks at the project once more when droid has started, as it reads the project's files only then. A droid
// whose command would be another one now is ended, and the error is errChanged. On an error the process is gone.
func (l *Launcher) lookAgain(ctx context.Context, client *droid.Client, command droid.Command, look func() (droid.Command, error)) (now droid.Command, err error) {
	if command.Project == nil {
		return command, nil
	}
	wait, cancel := context.WithTimeout(ctx, versionTime)
	client.AwaitStart(wait)
	cancel()
	now, err = look()
	if err == nil && (!projectconfig.Same(now.Project, command.Project) || !projectconfig.Same(now.Excluded, command.Excluded)) {
		err = errChanged
	}
	if err != nil {
		err = notOpened(ctx, client, err)
	}
	return now, err
}

// commandFor is commandIn for a droid that gets these servers, and adds a text to its system prompt.
func (l *Launcher) commandFor(ctx context.Context, cwd string, servers []stream.MCPServer, added string) (droid.Command, error) {
	command, err := l.commandIn(ctx, cwd)
	command.Runtime, command.SystemPrompt = len(servers) > 0 || len(l.hooks.Hooks()) > 0, added
	return command, err
}

// refusal returns the error for a session that is not opened because droid cannot exclude a layer, if err says so, otherwise other.
func refusal(without *projectconfig.Layer, err, other error) error {
	if cannot, ok := errors.AsType[*droid.ExcludeError](err); ok && without != nil {
		return acperr.Internal("project_not_trusted", trust.Project{Layer: *without}.Refusal(cannot.Why))
	}
	return other
}

// takeSpare returns the spare if it fits the command, else nil.
func (l *Launcher) takeSpare(command droid.Command) *droid.Client {
	if command.SystemPrompt != "" {
		return nil
	}
	client := l.Spare.Take(command.Dir)
	if client != nil && (!projectconfig.Same(client.StartedExcluding(), command.Excluded) || command.Project != nil && !projectconfig.Same(new(client.Given()), command.Project)) {
		client.Kill() // the project has changed since, or was trusted
		<-client.Exited()
		return nil
	}
	return client
}

// LaunchAlone starts a droid in cwd that runs nothing for the user or the project, and opens a session in it. It is for a droid that only
// copies or names one. It blocks. On an error the process is gone.
func (l *Launcher) LaunchAlone(ctx context.Context, cwd string, open Open) (*droid.Client, *stream.SessionInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Time, ErrTime)
	defer cancel()
	client, err := l.cfg.Start(droid.Command{Alone: true})
	if _, ok := errors.AsType[*droid.ExcludeError](err); ok {
		return l.Launch(ctx, cwd, nil, "", open)
	}
	if err != nil {
		return nil, nil, acperr.NotStarted(err)
	}
	info, err := l.openIn(ctx, client, nil, open)
	return client, info, err
}

// errServers says why a process that takes MCP servers did not get them.
var errServers = errors.New("droid did not get its MCP servers")

// cannotTake reports whether a process failed because it was to take MCP servers:
// it did not get them, or it ended before it said a word.
func cannotTake(err error) bool {
	var exit *droid.ExitError
	return errors.Is(err, errServers) || errors.As(err, &exit) && !exit.Started
}

// openIn opens a session in a process. The process gets its settings first; runtime is nil for one that keeps those it was started with. On
// an error the process is gone.
func (l *Launcher) openIn(ctx context.Context, client *droid.Client, runtime *droid.Runtime, open Open) (info *stream.SessionInfo, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)() // a request's context does not end with the agent
	opened := false
	defer func() {
		if !opened {
			client.Kill() // also where this panics
		}
	}()
	var others []stream.MCPServer
	if runtime != nil {
		others, err = l.setRuntime(ctx, client, *runtime)
	}
	if err == nil {
		info, err = l.OpenIn(ctx, client, others, open)
	}
	if opened = err == nil; opened {
		client.CheckLogin()
		return info, nil
	}
	return nil, notOpened(ctx, client, err)
}

// notOpened ends a process, and returns why no session was opened in it: err, unless ctx ran out of time.
func notOpened(ctx context.Context, client *droid.Client, err error) error {
	client.Kill()
	<-client.Exited()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errHung):
		return errHung
	case !errors.Is(cause, ErrTime):
		return err
	}
	if exit := client.ExitError(); exit != nil && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w; the last it wrote to stderr: %s", ErrTime, strings.Join(exit.Stderr, "\n"))
	}
	return ErrTime
}

// commandIn returns how droid is started in cwd: without what an untrusted project brings. It reads files. The error says that droid cannot
// leave it out.
func (l *Launcher) commandIn(ctx context.Context, cwd string) (droid.Command, error) {
	p, err := l.Project(ctx, cwd, nil)
	if err != nil {
		return droid.Command{}, err
	}
	command := droid.Command{Dir: cwd, Excluded: p.Excluded(), TrustsAll: l.cfg.Trust.TrustsAll()}
	if !command.TrustsAll {
		command.Project = &p.Layer
	}
	if p.Trusted {
		return command, nil
	}
	if len(p.Inseparable()) > 0 {
		return command, acperr.Internal("project_not_trusted", p.Refusal("nothing overrules these settings of a project."))
	}
	command.Alone = true
	return command, nil
}

// versionTime bounds the wait for droid's version. droid reports it 0.3 s (0.225) to 1 s (0.99) after its start, later on a busy machine,
// and opens no session before.
const versionTime = 20 * time.Second

// setRuntime gives a process its MCP servers and our hooks, if it takes any, and says what
// it is to leave out. It returns the servers that must be passed with the session instead.
// Where droid cannot have our hooks, files stay on the disk.
func (l *Launcher) setRuntime(ctx context.Context, client *droid.Client, r droid.Runtime) (others []stream.MCPServer, err error) {
	if !client.TakesRuntime() {
		return r.MCPServers, nil
	}
	r.Hooks = l.hooks.Hooks()
	if len(r.Hooks) > 0 || len(r.MCPServers) > 0 || r.Excluded != nil {
		wait, cancel := context.WithTimeout(ctx, versionTime)
		client.AwaitStart(wait)
		cancel()
	}
	switch err = client.SetRuntime(r); {
	case errors.Is(err, droid.ErrHooks):
		level := zap.WarnLevel
		if client.Excluded() != nil {
			level = zap.InfoLevel // the session says it with what is left out
		}
		l.log.Log(level, "files are read and written on the disk alone", zap.Error(err))
		return nil, nil
	case err != nil:
		return nil, refusal(r.Excluded, err, fmt.Errorf("%w: %w", errServers, err))
	}
	return nil, nil
}

// OpenNew opens a new session with instructions. droid stores them with the session, so that they hold for every process that loads it.
func (l *Launcher) OpenNew(ctx context.Context, w instructions.Wanted) (*droid.Client, *stream.SessionInfo, error) {
	return l.Launch(ctx, w.CWD, w.Servers, w.Added(w.Text), l.Make("", w.CWD, w.Instructions))
}

// Added returns a process's addition to the system prompt when it loads a stored session. It blocks.
func (l *Launcher) Added(ctx context.Context, id string, i instructions.Instructions) string {
	if i.Text == "" {
		return i.Added("")
	}
	stored, err := ofSession(ctx, l, "Store.SystemPrompt", id, l.cfg.Store.SystemPrompt)
	if err != nil {
		l.log.Warn("it is not known what droid adds to the system prompt of a session by itself", zap.String("session", id), zap.Error(err))
	}
	return i.Added(stored)
}
