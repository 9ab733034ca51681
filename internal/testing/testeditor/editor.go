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

// The methods as Options' functions get them.
const (
	ReadMethod  = "fs/read_text_file"
	WriteMethod = "fs/write_text_file"
)

// Options say how an editor behaves. All functions may be nil and may be called from
// several goroutines at once; none is called with a lock held.
type Options struct {
	// Root is the project's directory, absolute. Other paths are refused with a
	// *NotFoundError. What a link in it points to does not matter.
	Root string
	// Poll is how often the editor looks at its files on the disk; 0 is every 5 ms.
	Poll time.Duration
	// Delay is the time from when a change of a file on the disk is noticed until the editor reads it.
	Delay func() time.Duration
	// Load is the time from when the editor has read a file, to open or to reload it,
	// until the text is in the buffer. What the buffer became in between is overwritten.
	Load func() time.Duration
	// Format makes the text to save, on each save.
	Format func(path, text string) string
	// Slow is the time from a request until the editor begins with it.
	Slow func(method, path string) time.Duration
	// Late is the time from when the editor has done what a request wants until its answer.
	Late func(method, path string) time.Duration
	// Fail is an error that a request is answered with, instead of being done.
	Fail func(method, path string) error
	// ChecksTimes has the editor compare the time of an open file with the one that it knows
	// (when it opened, reloaded or saved the file) before each request, and ask the user
	// where they differ. Nobody answers: the request gets ErrAsks. Emacs does that.
	ChecksTimes bool
	// BypassBuffer has the agent's writes go to the disk as they are, and not into the buffer.
	BypassBuffer bool
}

// NotFoundError is the answer to a request for a file that does not exist, or is not in
// the project.
type NotFoundError struct{ Path string }

func (e *NotFoundError) Error() string { return "Resource not found: " + e.Path }

// ErrClosed is the answer of an editor that is closed.
var ErrClosed = errors.New("the editor is closed")

// ErrAsks is the answer of an editor that asks the user whether it is to reload the file.
var ErrAsks = errors.New("the file has changed on the disk; the user is asked")

// Editor has the files of a project in buffers. Its methods may be called at once.
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

// Close ends the editor and waits for its goroutines. Requests that wait get ErrClosed;
// a file that is being saved is saved. Buffers can still be looked at.
func (e *Editor) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	e.workers.Wait()
}

// spawn runs f beside, unless the editor is closed.
func (e *Editor) spawn(f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.workers.Go(f)
	return true
}

// wait lets time pass. It is false when the editor is closed before.
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

// inside is the name of a file of the project.
func (e *Editor) inside(path string) (string, error) {
	name, err := filepath.Rel(e.o.Root, path)
	if err != nil || !filepath.IsAbs(path) || name == ".." || strings.HasPrefix(name, ".."+string(filepath.Separator)) {
		return "", &NotFoundError{path}
	}
	return filepath.Clean(path), nil
}

// open finds the buffer of a file, or opens it. A file that does not exist is an error,
// or an empty buffer if it is to be created.
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

// buffer is the buffer of a file, or nil. The mutex is held.
func (e *Editor) buffer(path string) *buffer {
	if f := e.files[filepath.Clean(path)]; f != nil {
		return f.buffer
	}
	return nil
}

// change makes the difference between a snapshot and a text in the buffer.
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

// write writes the buffer to the disk. Who comes later waits.
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
