// Package editorfs routes droid's file access through the editor: droid reads unsaved text, and what droid has written arrives in the
// editor as the agent's edit, based on the text before it. The main types are Files, one per agent, and Overlay, one per droid process;
// adapter uses them, called by droid's hooks. Whatever fails, the file has either the old or the new text, complete, and the new one once
// droid was notified of success. What others save in the meantime is kept, merged with droid's edit if they do not overlap, or reported.
//
// All methods may be called from any goroutine. Those with a context block.
package editorfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"

	"go.uber.org/zap"
)

// ACPClient is the file system of a client (ACP: fs/read_text_file and fs/write_text_file).
type ACPClient interface {
	// ReadTextFile returns the client's result. If ctx is done first, the request is withdrawn.
	ReadTextFile(ctx context.Context, path string) (text string, err error)
	// WriteTextFile sends the request and returns. The result arrives on the channel, however late.
	WriteTextFile(path, text string) (answered <-chan error)
}

// Options configure Files. Only Journal is required.
type Options struct {
	Journal string                      // directory of the journal, with mode 0700; exists while edits are in progress
	Log     *zap.Logger                 // receives paths and reasons, never texts
	Changed func(fs.FileInfo) time.Time // for tests: when a file changed; nil for the later of mtime and ctime
}

// stepName names a point in the work on a file; if the program is killed there, the file must still be complete.
type stepName string

// The steps in order. stepLink and stepRename occur within stepOld and stepPut.
const (
	stepSave    stepName = "save"    // before unsaved text is written back, before the edit
	stepJournal stepName = "journal" // before the journal entry is written
	stepNoted   stepName = "noted"   // after the journal entry was written
	stepOld     stepName = "old"     // before the old text is restored on disk
	stepLink    stepName = "link"    // before the temporary file gets its name
	stepRename  stepName = "rename"  // before it replaces the file
	stepRead    stepName = "read"    // the old text is on disk; before the editor is read
	stepWrite   stepName = "write"   // before the editor gets the new text
	stepLook    stepName = "look"    // after its response or a timeout
	stepPut     stepName = "put"     // before the new text is written without the editor
	stepTimes   stepName = "times"   // before mode and mtime are restored
	stepForget  stepName = "forget"  // before the journal entry is removed
	stepDone    stepName = "done"
)

const (
	// defaultWait is how long to wait for the editor in one step.
	defaultWait = 3 * time.Second
	// pollEvery is the interval at which a buffer that may be reloaded is read, and the pause before the first read, see awaitText.
	pollEvery = 25 * time.Millisecond
	// silence is how long an editor that did not answer in time is not asked for reads.
	silence = 30 * time.Second
)

// Files belongs to an agent: it knows which files are being edited, and owns the journal.
type Files struct {
	journal string
	wait    time.Duration
	log     *zap.Logger
	step    func(stepName) // for tests: called before each step
	changed func(fs.FileInfo) time.Time
	quiet   time.Duration         // see awaitQuiet
	fault   func(op string) error // for tests: makes a disk operation fail
	locks   files.Locks
	seed    maphash.Seed

	ctx    context.Context // of background work; ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	unlocked sync.Once // see noLocks

	mu         sync.Mutex
	fileStates map[string]*fileState       // by resolved path
	unreplayed map[string]*unreplayedEntry // journal entries that could not be replayed, by ID
	commands   commands
}

// Open completes the edits that killed agents left in the journal. Its directory is created by the first edit that needs it. Open fails if
// the path is not absolute, or if the directory exists but is inaccessible or may belong to another user.
func Open(o Options) (*Files, error) {
	if !filepath.IsAbs(o.Journal) {
		return nil, fmt.Errorf("the journal of edits: there is no directory for it (%q)", o.Journal)
	}
	f := newFiles(o)
	if err := f.begin(); err != nil {
		return nil, err
	}
	return f, nil
}

// Replay is for an agent whose client has no file system: it completes the edits that killed agents left in the journal and creates
// nothing. The result is for ReplayWarnings only and needs no Close. Mend fails if the directory exists but is inaccessible or may belong
// to another user.
func Replay(o Options) (*Files, error) {
	f := newFiles(o)
	defer f.cancel()
	if !filepath.IsAbs(o.Journal) {
		return f, nil // no journal
	}
	if err := f.begin(); err != nil {
		return f, err
	}
	f.tidy()
	return f, nil
}

// newFiles returns Files without reading the journal.
func newFiles(o Options) *Files {
	f := &Files{
		journal: o.Journal, quiet: quiet, wait: defaultWait, log: o.Log, step: func(stepName) {}, changed: o.Changed,
		seed: maphash.MakeSeed(), fileStates: make(map[string]*fileState), unreplayed: make(map[string]*unreplayedEntry), commands: commands{open: make(map[commandKey]time.Time)},
	}
	f.log = cmp.Or(f.log, zap.NewNop())
	if f.changed == nil {
		f.changed = lastChange
	}
	f.locks.Fault = func() error { return f.failure("lock") }
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// begin replays the entries of the journal, if it exists.
func (f *Files) begin() error {
	names, err := os.ReadDir(f.journal)
	if err == nil {
		err = private(f.journal)
	}
	if errors.Is(err, fs.ErrNotExist) { // or another agent has just removed it
		return nil
	}
	if err != nil {
		f.cancel()
		return fmt.Errorf("the journal of edits: %w", err)
	}
	f.replay(names)
	return nil
}

// Close waits at most 6 s for the editor to answer all requests, retries edits that could not be completed before, and removes the journal
// if it is empty, and its parent directory if that is empty and named after this program. No Overlay may be used afterwards.
func (f *Files) Close() {
	idle := make(chan struct{})
	go func() {
		f.work.Wait()
		close(idle)
	}()
	if !subprocess.WaitTimeout(idle, f.wait) {
		f.cancel()
		if !subprocess.WaitTimeout(idle, f.wait) {
			f.log.Warn("giving up waiting for an editor's response")
		}
	}
	f.cancel()
	if names, err := os.ReadDir(f.journal); err == nil {
		f.replay(names)
	}
	f.tidy()
}

// AwaitDelivery waits until no edit of these files is being delivered to the editor: during a delivery the disk has the text from before.
// It waits until ctx is done, but no longer than an edit may take.
func (f *Files) AwaitDelivery(ctx context.Context, paths []string) {
	ctx, cancel := context.WithTimeout(ctx, 2*f.wait)
	defer cancel()
	for _, path := range paths {
		at, err := resolve(path)
		if err != nil {
			continue
		}
		f.mu.Lock()
		var delivering chan struct{}
		if p := f.fileStates[at.resolved]; p != nil {
			delivering = p.delivering
		}
		f.mu.Unlock()
		if delivering == nil {
			continue
		}
		select {
		case <-delivering:
		case <-ctx.Done():
			return
		}
	}
}

// failure returns the error that a test injects for an operation.
func (f *Files) failure(op string) error {
	if f.fault == nil {
		return nil
	}
	return f.fault(op)
}
