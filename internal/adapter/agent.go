// Package adapter is the ACP agent: it serves one editor over JSON-RPC lines. It decodes what ACP's methods, and those for programs, ask
// for, finds the session by its id, and calls it. A session is in package session, slash commands are in package command.
package adapter

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/accounts"
	"droid-acp/internal/adapter/command"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/providers"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/gateway"
	"droid-acp/internal/droid/hooks"
	"droid-acp/internal/droid/login"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/visible"
)

// Config configures an Agent.
type Config struct {
	session.Config
	// Login starts the droid that logs in.
	Login login.Start
	// LoginCommand is this program's login command.
	LoginCommand accounts.Command
	// ClientShows says which parts of a permission request the client shows, according to the user; "" for nothing.
	ClientShows string
	// Journal is the directory for edits that are on their way to the editor, so that
	// they are not lost when this program is killed. It need not exist.
	Journal string
	// Unread is how many bytes may wait for an editor that reads slowly before droid waits, too; 0 is 2 MiB.
	Unread int
	// Listen opens the channel for the hooks by which files go through the editor; nil is hooks.Listen.
	Listen func(hooks.Handler, *zap.Logger) (HookChannel, error)
	Log    *zap.Logger
}

// Agent serves one editor. Make it with New, run it with Serve.
type Agent struct {
	session.Deps
	cfg Config
	peer
	served editorFiles // by initialize, guarded by mu
	droids droid.Fleet

	subscriptions listSubscriptions

	cancel context.CancelFunc // ends Context
}

// maxDiskCalls bounds the calls of disks that are under way at once.
const maxDiskCalls = 256

// New makes an Agent that has not begun to serve.
func New(cfg Config) *Agent {
	a := &Agent{cfg: cfg}
	a.Deps = session.Deps{
		Config:     &a.cfg.Config,
		Log:        cfg.Log,
		Commands:   command.All(),
		CommandFor: command.Terminal,
		Sessions:   registry.New[*session.Session](),
		Texts:      session.NewFileReader(),
		Searching:  make(chan struct{}, 1),
		RowChanged: a.subscriptions.changed,
		Provider:   &providers.Provider{List: (*gateway.Gateway).Models},
	}
	a.Context, a.cancel = context.WithCancel(context.Background())
	a.Calls, a.MayStillRun = files.NewCallLimiter(maxDiskCalls, session.DiskTime), droid.MayStillRun
	a.Calls.Context = a.Context
	a.Threads = store.NewThreads(func() *store.Store { return a.Config.Store }, a.Calls, a.Log)
	a.Launcher = launch.New(a.Context, &a.Config.Config, a.Calls, &a.served, a.Log)
	a.Config.Store = cmp.Or(cfg.Store, store.None())
	a.Config.Start = func(command droid.Command) (*droid.Client, error) {
		a.Provider.Await()
		logins := a.Accounts.Logins()
		if command.Dir != "" { // else it only copies or names a session, see launch.Launcher.LaunchAlone
			command.CustomModels = a.Provider.Models() // after the count: a change in between revokes the droid
		}
		client, err := cfg.Start(command)
		if err == nil {
			a.droids.Add(client)
			a.Accounts.Started(client, logins)
		}
		return client, err
	}
	a.Accounts = accounts.New(func(status protocol.AuthStatus) {
		a.Notify(protocol.AuthStatusUpdate, protocol.AuthStatusParams{AuthStatus: status})
	})
	return a
}

// Kill ends every droid at once and returns when they are gone, or after
// droid.KillTime. It is for a caller that cannot wait for Serve to end; the agent
// does not work after it.
func (a *Agent) Kill() { a.droids.Kill() }

// EndTime bounds how long the sessions may take to end. A droid has up to 9 s of
// politeness (1 s for its turn, 6 s after its input ended, 2 s after SIGTERM) and
// 2 s for its last output; a session that takes longer is stuck, in a read of a
// dead file system for example.
const EndTime = 12 * time.Second

// CloseTime bounds the wait for the edits that are on their way to the editor, which has up to
// 6 s for them.
const CloseTime = 10 * time.Second

// FlushTime bounds two waits at the end of Serve: the one for the last responses,
// and then the one for the editor to read them.
const FlushTime = 2 * time.Second

// errStuck reports that Serve did not end in order.
var errStuck = errors.New("a session did not end in time; its droid was killed")

// Serve answers the editor until in ends, nobody reads out any more, or ctx is
// done. When it returns, every droid process has ended and what could be written
// to out is written. It returns EndTime, droid.KillTime, CloseTime and twice FlushTime
// later at the latest.
func (a *Agent) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	defer a.cancel()
	defer context.AfterFunc(ctx, a.cancel)()
	a.Flight = a.Config.Flight.Connection("editor")
	a.Conn = wire.New(in, out, a.handle, wire.Options{MaxQueued: a.cfg.Unread, Flight: a.Flight}, a.Log)
	a.Conn.Run(a.Context)
	if err := a.shutDown(); err != nil {
		return err
	}
	return ctx.Err()
}

// shutDown ends all sessions at once, and then the connection to the editor.
func (a *Agent) shutDown() error {
	a.Sessions.Close()
	a.cancel()
	err := a.endSessions()
	a.closeFiles(a.servedFiles())
	a.Conn.Close(FlushTime)
	return err
}

// endSessions waits for the end of all sessions and of the spare. When that takes
// too long, it kills every droid.
func (a *Agent) endSessions() error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Accounts.Wait()
		a.Launcher.Spare.Discard()
		a.Sessions.Wait()
	}()
	patience := time.NewTimer(EndTime)
	defer patience.Stop()
	select {
	case <-ended:
		return nil
	case <-patience.C:
	}
	a.Log.Error(errStuck.Error())
	a.droids.Kill()
	return errStuck
}

// handle runs one request or notification, and logs how it ended.
func (a *Agent) handle(c *wire.Call) (any, *jsonrpc.Error) {
	began := time.Now()
	result, err := a.serve(c)
	err = session.NotCancelled(c, err)
	logCall(a.Log, c, began, result, err)
	a.subscriptions.changed() // a session may have been archived, deleted or named
	return result, a.ClientError(c, err)
}

// serve runs one request or notification. Of the notifications only ACP's session/cancel has an effect: a method sent without an id would
// never get its answer.
func (a *Agent) serve(c *wire.Call) (any, *jsonrpc.Error) {
	if c.Response == nil && c.Method != acp.AgentMethodSessionCancel {
		a.Log.Info("a message without an id, whose method is no notification's, was dropped", zap.String("method", visible.Line(c.Method)))
		return nil, nil
	}
	handler, ok := a.methods()[c.Method]
	if !ok {
		handler, ok = a.extensions()[c.Method]
	}
	if !ok {
		handler, ok = a.indexMethods()[c.Method]
	}
	if !ok {
		return nil, methodNotFound(c.Method)
	}
	if err := a.checkInitialized(c.Method); err != nil {
		return nil, err
	}
	return handler(c)
}

func methodNotFound(name string) *jsonrpc.Error {
	method := visible.Line(name)
	return &jsonrpc.Error{Code: -32601, Message: "Method not found: " + method, Data: map[string]string{"method": method}}
}

// methods returns the ACP methods that this agent has.
func (a *Agent) methods() map[string]wire.Handler {
	return map[string]wire.Handler{
		acp.AgentMethodInitialize:             a.initialize,
		acp.AgentMethodAuthenticate:           a.authenticate,
		protocol.MethodAuthStatus:             a.authStatus,
		protocol.MethodLogout:                 a.logout,
		protocol.MethodProvidersList:          a.listProviders,
		protocol.MethodProvidersSet:           a.setProvider,
		protocol.MethodProvidersDisable:       a.disableProvider,
		acp.AgentMethodSessionNew:             a.newSession,
		acp.AgentMethodSessionPrompt:          a.prompt,
		acp.AgentMethodSessionCancel:          a.cancelTurn,
		acp.AgentMethodSessionSetMode:         a.setMode,
		acp.AgentMethodSessionSetConfigOption: a.setConfigOption,
		methodSetModel:                        a.setModel,
		methodSetTitle:                        a.setTitle,
		acp.AgentMethodSessionLoad:            a.loadSession,
		acp.AgentMethodSessionResume:          a.resumeSession,
		acp.AgentMethodSessionFork:            a.forkSession,
		acp.AgentMethodSessionClose:           a.closeSession,
		acp.AgentMethodSessionDelete:          a.deleteSession,
		acp.AgentMethodSessionList:            a.listSessions,
		methodArchive:                         a.archiveSession,
		methodUnarchive:                       a.unarchiveSession,
		methodStatus:                          a.sessionStatus,
		methodOptions:                         a.sessionOptions,
		protocol.SteeringMethod:               a.steer,
		methodStopTask:                        a.stopTask,
	}
}
