// Package editorfs lets droid's file work pass through the editor: droid reads what the
// editor has unsaved, and what droid has written arrives in the editor as the agent's
// edit, with the text before it as its base. Whatever goes wrong, the file holds the old
// or the new text, whole, and the new one once droid was told of success. What somebody saves
// meanwhile stays, with droid's edit where the two do not meet, or is told.
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

	"droid-acp/internal/sys/child"
	"droid-acp/internal/sys/files"

	"go.uber.org/zap"
)

// Editor is the file system that a client offers (ACP: fs/read_text_file and
// fs/write_text_file).
type Editor interface {
	// ReadTextFile returns the client's answer. When ctx is done first, the request is withdrawn.
	ReadTextFile(ctx context.Context, path string) (text string, err error)
	// WriteTextFile asks the client, and returns. Its answer comes from the channel, however late.
	WriteTextFile(path, text string) (answered <-chan error)
}

// Options say how Files works. Only Journal is required.
type Options struct {
	Journal string                      // directory of the journal; while edits run it exists, with mode 0700
	Log     *zap.Logger                 // gets paths and reasons, never texts
	Changed func(fs.FileInfo) time.Time // tests: when a file changed; nil is the later of mtime and ctime
}

// stepName names a moment of the work on a file; a program that is killed there must leave the
// file whole.
type stepName string

// The steps in their order. stepLink and stepRename come with stepOld and with stepPut.
const (
	stepSave    stepName = "save"    // unsaved text is going to be written back, before the edit
	stepJournal stepName = "journal" // the journal entry is going to be written
	stepNoted   stepName = "noted"   // it is written
	stepOld     stepName = "old"     // the old text is going to be put back on disk
	stepLink    stepName = "link"    // the temporary file is going to get its name
	stepRename  stepName = "rename"  // it is going to take the file's place
	stepRead    stepName = "read"    // the old text is on disk; the editor is going to be read
	stepWrite   stepName = "write"   // the editor is going to be given the new text
	stepLook    stepName = "look"    // it has answered, or not
	stepPut     stepName = "put"     // the new text is going to be put on disk without the editor
	stepTimes   stepName = "times"   // mode and mtime are going to be put back
	stepForget  stepName = "forget"  // the journal entry is going to be removed
	stepDone    stepName = "done"
)

const (
	// defaultWait is how long the editor is waited for in one step.
	defaultWait = 3 * time.Second
	// pollEvery is the pause between two looks at a buffer that may be reloaded.
	pollEvery = 25 * time.Millisecond
	// settle is the pause between the two reads that must give the old text: a reload that
	// was on its way when the first was answered has landed by then.
	settle = 20 * time.Millisecond
	// silence is how long an editor that did not answer in time is not asked for reads.
	silence = 30 * time.Second
)

// Files is one for an agent: it knows which files are being edited, and owns the journal.
type Files struct {
	journal string
	wait    time.Duration
	log     *zap.Logger
	step    func(stepName) // tests: called before each step
	changed func(fs.FileInfo) time.Time
	quiet   time.Duration         // see awaitQuiet
	fault   func(op string) error // tests: makes an operation on the disk fail
	locks   files.Locks
	seed    maphash.Seed

	ctx    context.Context // of what outlives its caller; ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	unlocked sync.Once // see noLocks

	mu       sync.Mutex
	places   map[string]*place // by resolved path
	left     map[string]*kept  // entries of the journal that could not be mended, by id
	commands commands
}

// Open mends what an agent that was killed left in the journal. Its directory is made with the
// first edit that needs it. Open fails when its path is not absolute, or when the directory is
// there and cannot be had, or could be another user's.
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

// Mend is for an agent whose client has no file system: it mends what an agent that was
// killed left in the journal, and makes nothing. What it returns has Untold, and needs no Close. It
// fails when the directory is there and cannot be had, or could be another user's.
func Mend(o Options) (*Files, error) {
	f := newFiles(o)
	defer f.cancel()
	if !filepath.IsAbs(o.Journal) {
		return f, nil // there is none
	}
	if err := f.begin(); err != nil {
		return f, err
	}
	f.tidy()
	return f, nil
}

// newFiles is Files that have not looked at the journal.
func newFiles(o Options) *Files {
	f := &Files{
		journal: o.Journal, quiet: quiet, wait: defaultWait, log: o.Log, step: func(stepName) {}, changed: o.Changed,
		seed: maphash.MakeSeed(), places: make(map[string]*place), left: make(map[string]*kept), commands: commands{open: make(map[commandKey]time.Time)},
	}
	f.log = cmp.Or(f.log, zap.NewNop())
	if f.changed == nil {
		f.changed = lastChange
	}
	f.locks.Fault = func() error { return f.failure("lock") }
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// begin mends what is in the journal, if there is one.
func (f *Files) begin() error {
	names, err := os.ReadDir(f.journal)
	if err == nil {
		err = private(f.journal)
	}
	if errors.Is(err, fs.ErrNotExist) { // or another agent has mended it and taken it away
		return nil
	}
	if err != nil {
		f.cancel()
		return fmt.Errorf("the journal of edits: %w", err)
	}
	f.mend(names)
	return nil
}

// Close waits until the editor has answered all requests, at most 6 s,
// mends what could not be put on disk before, and removes the journal if it is empty, with the
// directory above it if that is empty, too, and this program's by its name. No Overlay may be
// used any more.
func (f *Files) Close() {
	idle := make(chan struct{})
	go func() {
		f.work.Wait()
		close(idle)
	}()
	if !child.Within(idle, f.wait) {
		f.cancel()
		if !child.Within(idle, f.wait) {
			f.log.Warn("an editor's answer is not waited for any more")
		}
	}
	f.cancel()
	if names, err := os.ReadDir(f.journal); err == nil {
		f.mend(names)
	}
	f.tidy()
}

// AwaitDelivery returns when no edit of these files is on its way to the editor: while one is,
// the disk has the text from before it. It waits until ctx is done, and no longer than an
// edit may take.
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
		if p := f.places[at.resolved]; p != nil {
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

// failure is what a test wants of an operation.
func (f *Files) failure(op string) error {
	if f.fault == nil {
		return nil
	}
	return f.fault(op)
}
