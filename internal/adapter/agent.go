// Package adapter is the ACP agent: it serves one editor over JSON-RPC lines
// and runs one droid process a session. It knows ACP methods, sessions and
// their translation; droid's framing and oddities are behind internal/droid and
// internal/quirks.
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
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/adapter/opening"
	"droid-acp/internal/adapter/providers"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/gateway"
	"droid-acp/internal/droid/login"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/jsonrpc/flight"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/visible"
)

// Config configures an Agent.
type Config struct {
	opening.Config
	// Locate finds droid's executable; its error says how to install it. Start
	// would fail for the same reason, but later.
	Locate func() (string, error)
	// Release asks that executable for the version of its release.
	Release func(ctx context.Context, path string) (string, error)
	// Login starts the droid that logs in.
	Login login.Start
	// LoginCommand is this program's login command.
	LoginCommand accounts.Command
	// ParkAfter is how long a session may rest before its process is ended, to
	// be started again by the next prompt; 0 for never.
	ParkAfter time.Duration
	// Files is how droid's reads and edits reach the files.
	Files FilesWay
	// ClientShows says which parts of a permission request the client shows, according to the user; "" for nothing.
	ClientShows string
	// Journal is the directory for edits that are on their way to the editor, so that
	// they are not lost when this program is killed. It need not exist.
	Journal string
	// Reports is the directory for reports, which need not exist; "" for none.
	Reports string
	// Flight records the messages of the editor, and those of droid that Start has it record; nil for none.
	Flight *flight.Recorder
	// RecentLog returns the last lines of the log; nil if they are not kept.
	RecentLog func() []string
	// Shell lets the user run shell commands with !COMMAND and /shell.
	Shell bool
	// Unread is how many bytes may wait for an editor that reads slowly before droid waits, too; 0 is 2 MiB.
	Unread int
	// Version of this program, for agentInfo.
	Version string
	Log     *zap.Logger
}

// Deps are the parts of an agent that its sessions use.
type Deps struct {
	cfg         Config
	client      protocol.ClientCapabilities             // set once, before any session
	commands    []Command                               // slash commands
	commandFor  func(name, args string) (Command, bool) // one that is not listed
	sessions    *registry.Registry[*Session]
	opener      *opening.Opener // opens sessions in droids
	threads     *store.Threads
	accounts    *accounts.Accounts
	provider    *providers.Provider // that the client has set
	files       *fileReader
	editorFiles editorFiles                           // set before any session
	calls       *files.CallLimiter                    // of the disk, which may hang
	stays       func(process int, output string) bool // droid.MayStillRun
	conn        *wire.Conn                            // to the editor
	flight      *flight.Connection                    // of conn, nil without a recorder
	ctx         context.Context                       // ends when the editor has disconnected or Serve is to stop
	log         *zap.Logger
}

// Agent serves one editor. Make it with New, run it with Serve.
type Agent struct {
	Deps
	peer
	droids droid.Fleet
	cancel context.CancelFunc // ends ctx
}

const (
	// diskTime bounds the wait for a disk. A local one takes milliseconds; all files of a
	// large store on a slow drive of the network take seconds.
	diskTime = 30 * time.Second
	// maxDiskCalls bounds the calls of disks that are under way at once.
	maxDiskCalls = 256
)

// New makes an Agent that has not begun to serve.
func New(cfg Config) *Agent {
	a := &Agent{Deps: Deps{
		cfg:        cfg,
		log:        cfg.Log,
		commands:   slashCommands(),
		commandFor: terminalCommand,
		sessions:   registry.New[*Session](),
		files:      newFileReader(readText),
		provider:   &providers.Provider{List: (*gateway.Gateway).Models},
	}}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.calls, a.stays = files.NewCallLimiter(maxDiskCalls, diskTime), droid.MayStillRun
	a.calls.Context = a.ctx
	a.threads = store.NewThreads(func() *store.Store { return a.cfg.Store }, a.calls, a.log)
	a.opener = opening.New(a.ctx, &a.cfg.Config, a.calls, &a.editorFiles, a.log)
	a.cfg.Store = cmp.Or(cfg.Store, store.None())
	a.cfg.Start = func(command droid.Command) (*droid.Client, error) {
		a.provider.Await()
		logins := a.accounts.Logins()
		if command.Dir != "" { // else it only copies or names a session, see opening.Opener.LaunchAlone
			command.CustomModels = a.provider.Models() // after the count: a change in between revokes the droid
		}
		client, err := cfg.Start(command)
		if err == nil {
			a.droids.Add(client)
			a.accounts.Started(client, logins)
		}
		return client, err
	}
	a.accounts = accounts.New(func(status protocol.AuthStatus) {
		a.notify(protocol.AuthStatusUpdate, protocol.AuthStatusParams{AuthStatus: status})
	})
	return a
}

// atEnd does on the disk what is to be done when something has ended, within a bound.
func (d *Deps) atEnd(call files.CallName, limit time.Duration, f func()) {
	if err := d.calls.Cleanup(call, limit, f); err != nil {
		d.log.Warn("the disk does not answer", zap.Error(err))
	}
}

// Kill ends every droid at once and returns when they are gone, or after
// droid.KillTime. It is for a caller that cannot wait for Serve to end; the agent
// does not work after it.
func (a *Agent) Kill() { a.droids.Kill() }

// endTime bounds how long the sessions may take to end. A droid has up to 9 s of
// politeness (1 s for its turn, 6 s after its input ended, 2 s after SIGTERM) and
// 2 s for its last output; a session that takes longer is stuck, in a read of a
// dead file system for example.
const endTime = 12 * time.Second

// closeTime bounds the wait for the edits that are on their way to the editor, which has up to
// 6 s for them.
const closeTime = 10 * time.Second

// flushTime bounds two waits at the end of Serve: the one for the last responses,
// and then the one for the editor to read them.
const flushTime = 2 * time.Second

// errStuck reports that Serve did not end in order.
var errStuck = errors.New("a session did not end in time; its droid was killed")

// Serve answers the editor until in ends, nobody reads out any more, or ctx is
// done. When it returns, every droid process has ended and what could be written
// to out is written. It returns endTime, droid.KillTime, closeTime and twice flushTime
// later at the latest.
func (a *Agent) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	defer a.cancel()
	defer context.AfterFunc(ctx, a.cancel)()
	a.flight = a.cfg.Flight.Connection("editor")
	a.conn = wire.New(in, out, a.handle, wire.Options{MaxQueued: a.cfg.Unread, Flight: a.flight}, a.log)
	a.conn.Run(a.ctx)
	if err := a.shutDown(); err != nil {
		return err
	}
	return ctx.Err()
}

// shutDown ends all sessions at once, and then the connection to the editor.
func (a *Agent) shutDown() error {
	a.sessions.Close()
	a.cancel()
	err := a.endSessions()
	a.closeFiles(a.servedFiles())
	a.conn.Close(flushTime)
	return err
}

// endSessions waits for the end of all sessions and of the spare. When that takes
// too long, it kills every droid.
func (a *Agent) endSessions() error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.accounts.Wait()
		a.opener.Spare.Discard()
		a.sessions.Wait()
	}()
	patience := time.NewTimer(endTime)
	defer patience.Stop()
	select {
	case <-ended:
		return nil
	case <-patience.C:
	}
	a.log.Error(errStuck.Error())
	a.droids.Kill()
	return errStuck
}

// handle runs one request or notification, and logs how it ended.
func (a *Agent) handle(c *wire.Call) (any, *jsonrpc.Error) {
	began := time.Now()
	result, err := a.serve(c)
	err = notCancelled(c, err)
	logCall(a.log, c, began, result, err)
	return result, a.inItsWords(c, err)
}

// respond answers a request before its function returns: updates sent from then on follow the response.
func (d *Deps) respond(c *wire.Call, result any, err *jsonrpc.Error) {
	c.Respond(result, d.inItsWords(c, err))
}

// inItsWords is an error as this client shows it well.
func (d *Deps) inItsWords(c *wire.Call, err *jsonrpc.Error) *jsonrpc.Error {
	if err == nil {
		return nil
	}
	return acperr.For(d.client, c.Method == acp.AgentMethodSessionPrompt, notCancelled(c, err))
}

// notCancelled says why a call failed, which nobody cancelled where the editor has gone.
func notCancelled(c *wire.Call, err *jsonrpc.Error) *jsonrpc.Error {
	if err != nil && err.Code == acperr.CodeCancelled && errors.Is(context.Cause(c.Context), wire.ErrGone) {
		return acperr.Ending()
	}
	return err
}

// serve runs one request or notification. Of what has no id only ACP's one notification
// to an agent has an effect: nobody would get the answer to a request's method.
func (a *Agent) serve(c *wire.Call) (any, *jsonrpc.Error) {
	if c.Response == nil && c.Method != acp.AgentMethodSessionCancel {
		a.log.Info("a message without an id, whose method is no notification's, was dropped", zap.String("method", visible.Line(c.Method)))
		return nil, nil
	}
	handler, ok := a.methods()[c.Method]
	if !ok {
		handler, ok = a.extensions()[c.Method]
	}
	if !ok {
		method := visible.Line(c.Method)
		return nil, &jsonrpc.Error{Code: -32601, Message: "Method not found: " + method, Data: map[string]string{"method": method}}
	}
	if err := a.checkInitialized(c.Method); err != nil {
		return nil, err
	}
	return handler(c)
}

// methods are the ACP methods that this agent has.
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
		methodOptions:                         a.sessionOptions,
		protocol.SteeringMethod:               a.steer,
		methodStopTask:                        a.stopTask,
	}
}
