package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
)

// journalSize is how many bytes of a session's messages are kept. The oldest are removed first, half of the journal at a time.
const journalSize = 64 << 20

// journal keeps the messages of a session, so that a client that joins gets the same ones. Writers never wait for the disk.
type journal struct {
	epoch string // no other journal has it
	out   *jsonrpc.Outbox
	file  *journalFile
	put   int64 // bytes so far, on the disk or queued
	max   int   // bytes that may be queued
}

// newJournal starts a journal in two files whose names begin with path.
func newJournal(path string, size int64) *journal {
	file := &journalFile{path: path, half: size / 2}
	file.grown = sync.NewCond(&file.mu)
	j := &journal{epoch: uuid.NewString(), out: jsonrpc.NewOutbox(file, relay.Batch), file: file, max: int(size)}
	go j.out.Run()
	return j
}

// write adds a line, which the journal owns from now on.
func (j *journal) write(line []byte) {
	if j.out.Size() > j.max {
		j.file.fail(errLate)
		j.out.Abort()
	}
	if _, err := j.out.Put(line); err == nil { // otherwise read reports the error
		j.put += int64(len(line))
	}
}

// cursor returns the place behind all lines so far.
func (j *journal) cursor() cursor { return cursor{j.epoch, j.put} }

// has reports whether the lines after a place are kept.
func (j *journal) has(at cursor) bool {
	oldest, _ := j.file.halves()
	return at.Epoch == j.epoch && at.Line >= oldest && at.Line <= j.put
}

// close ends the journal once everything is written. Its files stay.
func (j *journal) close() {
	j.out.Close()
	<-j.out.Done()
	j.file.close()
}

// remove ends the journal and removes its files. It waits for a write in progress.
func (j *journal) remove() {
	j.out.Abort()
	<-j.out.Done()
	j.file.remove()
}

// journalFile is a journal on the disk: a file of new lines, and a file of older ones. One goroutine writes it.
type journalFile struct {
	path string
	half int64    // size of one of them, in bytes
	file *os.File // used by the writer; nil until the first line

	mu      sync.Mutex // its holders never wait for the disk
	grown   *sync.Cond
	begin   int64 // offset of the first byte of file
	oldest  int64 // offset of the first byte that is still kept
	end     int64 // offset behind the last byte written
	failed  error
	removed bool
}

// Write adds whole lines.
func (f *journalFile) Write(lines []byte) (int, error) {
	n, err := f.write(lines)
	if err != nil {
		f.fail(err)
	}
	return n, err
}

func (f *journalFile) write(lines []byte) (int, error) {
	if f.file != nil && f.end-f.begin+int64(len(lines)) > f.half {
		_ = f.file.Close() // its bytes are written
		f.file = nil
		if err := os.Rename(f.path, f.old()); err != nil {
			return 0, err
		}
		f.mu.Lock()
		f.oldest, f.begin = f.begin, f.end
		f.mu.Unlock()
	}
	if f.file == nil {
		file, err := os.OpenFile(f.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, err
		}
		f.file = file
	}
	n, err := f.file.Write(lines)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end += int64(n)
	f.grown.Broadcast()
	return n, err
}

// fail records why nothing more is kept.
func (f *journalFile) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = err
	}
	f.grown.Broadcast()
}

const oldSuffix = ".old"

func (f *journalFile) old() string { return f.path + oldSuffix }

// close ends all reads of the journal, which is written no more.
func (f *journalFile) close() {
	f.mu.Lock()
	f.removed = true
	f.grown.Broadcast()
	f.mu.Unlock()
	if f.file != nil {
		_ = f.file.Close()
	}
}

// remove removes the files.
func (f *journalFile) remove() {
	f.close()
	_ = os.Remove(f.path) // it may not exist
	_ = os.Remove(f.old())
}

// journalTime is how long a reader waits for lines that are queued for the disk.
const journalTime = 10 * time.Second

// errLate is the error of a disk that does not store the lines to be read in time.
var errLate = errors.New("the disk does not take it in time")

// read passes the lines between two offsets to line, each without its end and in separate memory, with the offset behind it. If the oldest of
// them were removed, it first calls lost with their size.
func (f *journalFile) read(from, end int64, lost func(bytes int64), line func(text []byte, end int64)) error {
	files, begin, err := f.open(end)
	if err != nil {
		return err
	}
	defer closeAll(files)
	if begin > from {
		lost(begin - from)
	}
	left := end - begin
	for _, file := range files {
		lines := jsonrpc.NewLines(io.LimitReader(file, left), relay.MaxLine, func([]byte) {})
		for left > 0 {
			text, err := lines.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			at := end - left
			left -= int64(len(text)) + 1
			if at >= from {
				line(bytes.Clone(text), end-left)
			}
		}
	}
	if left > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// open opens the files needed to read up to end, once that is written. If the older half is replaced during that, it starts over.
func (f *journalFile) open(end int64) (files []*os.File, begin int64, err error) {
	if err := f.await(end); err != nil {
		return nil, 0, err
	}
	for tries := 1; ; tries++ {
		oldest, newest := f.halves()
		paths := []string{f.path}
		if oldest < newest {
			paths = []string{f.old(), f.path}
		}
		files, err = openAll(paths)
		if now, _ := f.halves(); now == oldest && (len(files) > 0 || end == 0) || tries == maxOpens {
			return files, min(oldest, end), err
		}
		closeAll(files)
	}
}

// maxOpens is how often the files are opened if they change.
const maxOpens = 100

func (f *journalFile) halves() (oldest, newest int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.oldest, f.begin
}

// await waits until the first end bytes are written.
func (f *journalFile) await(end int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	late := false
	timer := time.AfterFunc(journalTime, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		late = true
		f.grown.Broadcast()
	})
	defer timer.Stop()
	for f.end < end && f.failed == nil && !f.removed && !late {
		f.grown.Wait()
	}
	switch {
	case f.failed != nil:
		return f.failed
	case f.removed:
		return fs.ErrClosed
	case f.end < end:
		return errLate
	}
	return nil
}

// openAll opens the files of a journal; none exists before the first line.
func openAll(paths []string) (files []*os.File, err error) {
	for _, path := range paths {
		file, err := os.Open(path)
		switch {
		case err == nil:
			files = append(files, file)
		case len(paths) > 1 || !errors.Is(err, fs.ErrNotExist):
			closeAll(files)
			return nil, fmt.Errorf("the journal cannot be read: %w", err)
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close() // it was only read
	}
}
