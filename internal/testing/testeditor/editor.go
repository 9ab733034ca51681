package testeditor

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The methods as passed to Options' functions.
const (
	ReadMethod  = "fs/read_text_file"
	WriteMethod = "fs/write_text_file"
)

// Options configure an editor. All functions may be nil and may be called concurrently; none is called with a lock held.
type Options struct {
	// Root is the project's directory, absolute. Other paths are refused with a *NotFoundError. The targets of links in it are not checked.
	Root string
	// Poll is how often the editor checks its files on the disk; 0 means every 20 ms.
	Poll time.Duration
	// Delay is the time from when a change of a file on the disk is noticed until the editor reads it.
	Delay func() time.Duration
	// Load is the time from when the editor has read a file, to open or to reload it, until the text is in the buffer. Changes of the
	// buffer during that time are overwritten.
	Load func() time.Duration
	// Format returns the text to save, on each save.
	Format func(path, text string) string
	// Slow is the time from a request until the editor begins with it.
	Slow func(method, path string) time.Duration
	// Late is the time from when the editor has executed a request until its answer.
	Late func(method, path string) time.Duration
	// Fail returns the error with which a request is answered instead of being executed.
	Fail func(method, path string) error
	// ChecksTimes makes the editor compare the time of an open file with the known one (from opening, reloading or saving it) before each
	// request, and ask the user if they differ. Nobody answers: the request gets ErrAsks. Emacs does that.
	ChecksTimes bool
	// BypassBuffer makes the agent's writes go directly to the disk, and not into the buffer.
	BypassBuffer bool
}

// NotFoundError is the answer to a request for a file that does not exist, or is not in the project.
type NotFoundError struct{ Path string }

func (e *NotFoundError) Error() string { return "Resource not found: " + e.Path }

// ErrClosed is the answer of a closed editor.
var ErrClosed = errors.New("the editor is closed")

// ErrAsks is the answer of an editor that asks the user whether to reload the file.
var ErrAsks = errors.New("the file has changed on the disk; the user is asked")

// Editor holds the files of a project in buffers. Its methods may be called concurrently.
type Editor struct {
	o       Options
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu     sync.Mutex
	closed bool
	files  map[string]*file
	asked  int // how often the user was asked
}

// file is a path that is open, or being opened until ready is closed.
type file struct {
	ready  chan struct{}
	buffer *buffer
	err    error
}

// New starts an editor without open files.
func New(o Options) *Editor {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Editor{o: o, ctx: ctx, cancel: cancel, files: make(map[string]*file)}
	e.spawn(e.watch)
	return e
}

// Close ends the editor and waits for its goroutines. Pending requests get ErrClosed; a running save is completed. Buffers can still be
// read.
func (e *Editor) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	e.workers.Wait()
}

// spawn runs f in a goroutine, unless the editor is closed.
func (e *Editor) spawn(f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.workers.Go(f)
	return true
}

// wait waits for d. It returns false if the editor is closed before.
func (e *Editor) wait(d time.Duration) bool {
	if d <= 0 {
		return e.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.ctx.Done():
		return false
	}
}

func after(f func() time.Duration) time.Duration {
	if f == nil {
		return 0
	}
	return f()
}

// inside returns the name of a file in the project.
func (e *Editor) inside(path string) (string, error) {
	name, err := filepath.Rel(e.o.Root, path)
	if err != nil || !filepath.IsAbs(path) || name == ".." || strings.HasPrefix(name, ".."+string(filepath.Separator)) {
		return "", &NotFoundError{path}
	}
	return filepath.Clean(path), nil
}

// open returns the buffer of a file, opening it if needed. A file that does not exist is an error, or an empty buffer if it is to be
// created.
func (e *Editor) open(path string, create bool) (*buffer, error) {
	path, err := e.inside(path)
	if err != nil {
		return nil, err
	}
	for {
		e.mu.Lock()
		f, found := e.files[path]
		if !found {
			f = &file{ready: make(chan struct{})}
			e.files[path] = f
		}
		e.mu.Unlock()
		if !found {
			return e.load(path, f, create)
		}
		select {
		case <-f.ready:
		case <-e.ctx.Done():
			return nil, ErrClosed
		}
		var missing *NotFoundError
		if f.err == nil || !create || !errors.As(f.err, &missing) {
			return f.buffer, f.err
		}
	}
}

// load reads a file into a new buffer.
func (e *Editor) load(path string, f *file, create bool) (*buffer, error) {
	content, seen, err := load(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = &NotFoundError{path}
		if create {
			err = nil
		}
	}
	if !e.wait(after(e.o.Load)) {
		err = ErrClosed
	}
	var l loaded
	if err == nil {
		l, err = decode(content)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	defer close(f.ready)
	if f.err = err; err != nil {
		delete(e.files, path)
		return nil, err
	}
	f.buffer = &buffer{path: path, text: l.text, crlf: l.crlf, bom: l.bom, exists: seen.info != nil, seen: seen, loaded: seen, turn: make(chan struct{}, 1)}
	f.buffer.turn <- struct{}{}
	return f.buffer, nil
}

// buffer returns the buffer of a file, or nil. The caller holds the mutex.
func (e *Editor) buffer(path string) *buffer {
	if f := e.files[filepath.Clean(path)]; f != nil {
		return f.buffer
	}
	return nil
}

// change applies the difference between a snapshot and a text to the buffer.
func (e *Editor) change(b *buffer, from snapshot, text string, by author) {
	edits := difference(from.text, text)
	e.mu.Lock()
	defer e.mu.Unlock()
	if by == agent {
		b.reviewed()
	}
	b.apply(b.anchored(from, edits), by)
}

// save formats the buffer and writes it to the disk.
func (e *Editor) save(b *buffer, by author) error {
	if e.o.Format != nil {
		e.mu.Lock()
		from := b.snapshot()
		e.mu.Unlock()
		e.change(b, from, normalized(e.o.Format(b.path, from.text)), by)
	}
	return e.write(b)
}

// write writes the buffer to the disk. Concurrent writes wait for each other.
func (e *Editor) write(b *buffer) error {
	select {
	case <-b.turn:
	case <-e.ctx.Done():
		return ErrClosed
	}
	defer func() { b.turn <- struct{}{} }()
	e.mu.Lock()
	text, version := loaded{b.text, b.crlf, b.bom}, b.version
	b.saving = true
	e.mu.Unlock()
	seen, err := store(b.path, encode(text))
	e.mu.Lock()
	defer e.mu.Unlock()
	b.saving = false
	b.saves++
	if err == nil {
		b.saved, b.seen, b.loaded, b.exists, b.deleted = version, seen, seen, true, false
	}
	return err
}
