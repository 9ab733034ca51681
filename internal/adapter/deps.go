package adapter

import (
	"context"
	"errors"
	"io/fs"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/accounts"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/adapter/opening"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/workspace/editorfs"
)

// SessionConfig is what sessions use of an agent's configuration.
type SessionConfig struct {
	opening.Config
	// Locate finds droid's executable; its error says how to install it. Start
	// would fail for the same reason, but later.
	Locate func() (string, error)
	// Release asks that executable for the version of its release.
	Release func(ctx context.Context, path string) (string, error)
	// ParkAfter is how long a session may rest before its process is ended, to
	// be started again by the next prompt; 0 for never.
	ParkAfter time.Duration
	// Files is how droid's reads and edits reach the files.
	Files FilesWay
	// Shell lets the user run shell commands with !COMMAND and /shell.
	Shell bool
	// Version of this program.
	Version string
}

// Deps are the parts of an agent that its sessions use.
type Deps struct {
	config      *SessionConfig
	client      protocol.ClientCapabilities             // set once, before any session
	commands    []Command                               // slash commands
	commandFor  func(name, args string) (Command, bool) // one that is not listed
	sessions    *registry.Registry[*Session]            // of the agent
	opener      *opening.Opener                         // opens sessions in droids
	threads     *store.Threads
	accounts    *accounts.Accounts
	texts       *fileReader                           // reads files that are shown
	editorFiles *editorfs.Files                       // as the editor has them, nil where files are on the disk; set before any session
	leftEdits   *editorfs.Files                       // has what an earlier agent left and could not complete, nil where that is not known; set before any session
	modified    func(fs.FileInfo) time.Time           // tests: see editorfs.Options
	calls       *files.CallLimiter                    // of the disk, which may hang
	stays       func(process int, output string) bool // droid.MayStillRun
	conn        *wire.Conn                            // to the editor
	ctx         context.Context                       // ends when the editor has disconnected or Serve is to stop
	log         *zap.Logger
}

// diskTime bounds the wait for a disk. A local one takes milliseconds; all files of a
// large store on a slow drive of the network take seconds.
const diskTime = 30 * time.Second

// atEnd does on the disk what is to be done when something has ended, within a bound.
func (d *Deps) atEnd(call files.CallName, limit time.Duration, f func()) {
	if err := d.calls.Cleanup(call, limit, f); err != nil {
		d.log.Warn("the disk does not answer", zap.Error(err))
	}
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

// notify queues a notification that belongs to no session.
func (d *Deps) notify(method string, params any) {
	if err := d.conn.Notify(method, params); err != nil {
		d.log.Error("a notification could not be encoded", zap.String("method", method), zap.Error(err))
	}
}
