package session

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
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/providers"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/jsonrpc/flight"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/workspace/editorfs"
)

// Config is the part of an agent's configuration that sessions use.
type Config struct {
	launch.Config
	// Locate finds droid's executable; its error says how to install it. Start
	// would fail for the same reason, but later.
	Locate func() (string, error)
	// Release asks that executable for the version of its release.
	Release func(ctx context.Context, path string) (string, error)
	// Search has that executable search the stored sessions of all projects.
	Search func(ctx context.Context, path, query string) ([]droid.Found, error)
	// ParkAfter is how long a session may rest before its process is ended, to
	// be started again by the next prompt; 0 for never.
	ParkAfter time.Duration
	// Files is how droid's reads and edits reach the files.
	Files FilesWay
	// Shell lets the user run shell commands with !COMMAND and /shell.
	Shell bool
	// Reports is the directory for reports, which need not exist; "" for none.
	Reports string
	// Flight records the messages of the editor. Start adds those of droids. nil for none.
	Flight *flight.Recorder
	// RecentLog returns the last lines of the log; nil if they are not kept.
	RecentLog func() []string
	// Modified is editorfs.Options.Changed, for tests.
	Modified func(fs.FileInfo) time.Time
	// Version of this program.
	Version string
}

// Deps are the parts of an agent that its sessions use.
type Deps struct {
	Config      *Config
	Client      protocol.ClientCapabilities             // set once, before any session
	Commands    []Command                               // slash commands
	CommandFor  func(name, args string) (Command, bool) // one that is not listed
	Sessions    *registry.Registry[*Session]            // of the agent
	Launcher    *launch.Launcher                        // opens sessions in droids
	Threads     *store.Threads
	Accounts    *accounts.Accounts
	Provider    *providers.Provider                   // that the client has set
	Texts       *FileReader                           // reads files that are shown
	EditorFiles *editorfs.Files                       // as the editor has them, nil where files are on the disk; set before any session
	LeftEdits   *editorfs.Files                       // has what an earlier agent left and could not complete, nil where that is not known; set before any session
	Searching   chan struct{}                         // has one element while a search runs, and room for no more
	Calls       *files.CallLimiter                    // of the disk, which may hang
	MayStillRun func(process int, output string) bool // droid.MayStillRun
	Conn        *wire.Conn                            // to the editor
	Flight      *flight.Connection                    // of Conn, nil without a recorder
	RowChanged  func()                                // notes that the row of a session in a list has changed, and does not wait
	Context     context.Context                       // ends when the editor has disconnected or Serve is to stop
	Log         *zap.Logger
}

// DiskTime bounds the wait for a disk. A local one takes milliseconds; all files of a
// large store on a slow drive of the network take seconds.
const DiskTime = 30 * time.Second

// AtEnd does on the disk what is to be done when something has ended, within a bound.
func (d *Deps) AtEnd(call files.CallName, limit time.Duration, f func()) {
	if err := d.Calls.Cleanup(call, limit, f); err != nil {
		d.Log.Warn("the disk does not answer", zap.Error(err))
	}
}

// Respond answers a request before its function returns: updates sent from then on follow the response.
func (d *Deps) Respond(c *wire.Call, result any, err *jsonrpc.Error) {
	c.Respond(result, d.ClientError(c, err))
}

// ClientError returns an error as this client shows it well.
func (d *Deps) ClientError(c *wire.Call, err *jsonrpc.Error) *jsonrpc.Error {
	if err == nil {
		return nil
	}
	return acperr.For(d.Client, c.Method == acp.AgentMethodSessionPrompt, NotCancelled(c, err))
}

// NotCancelled returns err, or for a call that looks cancelled only because the editor has gone, the error that says so.
func NotCancelled(c *wire.Call, err *jsonrpc.Error) *jsonrpc.Error {
	if err != nil && err.Code == acperr.CodeCancelled && errors.Is(context.Cause(c.Context), wire.ErrGone) {
		return acperr.Ending()
	}
	return err
}

// Notify queues a notification that belongs to no session.
func (d *Deps) Notify(method string, params any) {
	if err := d.Conn.Notify(method, params); err != nil {
		d.Log.Error("a notification could not be encoded", zap.String("method", method), zap.Error(err))
	}
}
