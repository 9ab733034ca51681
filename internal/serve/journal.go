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

	"droid-acp/internal/jsonrpc"
)

// journalSize is how many bytes of what a session was told are kept. What is older goes first, half of
// it at a time.
const journalSize = 64 << 20

// journal keeps what a session was told, message by message, so that who joins it is told the same. Who
// writes never waits for the disk.
type journal struct {
	out  *jsonrpc.Outbox
	file *journalFile
	put  int64 // bytes so far, on the disk or on their way there
}

// newJournal begins a journal in two files whose names begin with path.
func newJournal(path string, size int64) *journal {
	file := &journalFile{path: path, half: size / 2}
	file.grown = sync.NewCond(&file.mu)
	j := &journal{out: jsonrpc.NewOutbox(file, batch), file: file}
	go j.out.Run()
	return j
}

// write adds a line, which is the journal's from now on.
func (j *journal) write(line []byte) {
	if _, err := j.out.Put(line); err == nil { // else read says what is wrong
		j.put += int64(len(line))
	}
}

// remove ends the journal, and removes its files. It waits for a write that is under way.
func (j *journal) remove() {
	j.out.Abort()
	<-j.out.Done()
	j.file.remove()
}

// journalFile is a journal on the disk: a file with what is new, and one with what is older.
type journalFile struct {
	path string
	half int64 // bytes of one of them

	mu      sync.Mutex
	grown   *sync.Cond
	file    *os.File // nil before the first line
	begin   int64    // what came before the first byte of file
	oldest  int64    // what came before the first byte that is left
	end     int64    // all that was written
	failed  error
	removed bool
}

// Write adds whole lines.
func (f *journalFile) Write(lines []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.grown.Broadcast()
	n, err := f.write(lines)
	if err != nil && f.failed == nil {
		f.failed = err
	}
	return n, err
}

func (f *journalFile) write(lines []byte) (int, error) {
	if f.removed {
		return 0, fs.ErrClosed
	}
	if f.file != nil && f.end-f.begin+int64(len(lines)) > f.half {
		_ = f.file.Close() // its bytes are written
		f.file = nil
		if err := os.Rename(f.path, f.old()); err != nil {
			return 0, err
		}
		f.oldest, f.begin = f.begin, f.end
	}
	if f.file == nil {
		file, err := os.OpenFile(f.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, err
		}
		f.file = file
	}
	n, err := f.file.Write(lines)
	f.end += int64(n)
	return n, err
}

func (f *journalFile) old() string { return f.path + ".old" }

func (f *journalFile) remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removed = true
	f.grown.Broadcast()
	if f.file != nil {
		_ = f.file.Close()
	}
	_ = os.Remove(f.path) // it may not be there
	_ = os.Remove(f.old())
}

// journalTime is how long a reader waits for lines that are on their way to the disk.
const journalTime = 10 * time.Second

// errLate is the error of a disk that does not take what is to be read.
var errLate = errors.New("the disk does not take it in time")

// read hands over the lines of the first end bytes, each without its end and with memory of its own.
// Before these it says how many bytes are no longer there, if some are; they are the oldest.
func (f *journalFile) read(end int64, lost func(bytes int64), line func([]byte)) error {
	files, begin, err := f.open(end)
	if err != nil {
		return err
	}
	if begin > 0 {
		lost(begin)
	}
	left := end - begin
	for _, file := range files {
		defer file.Close()
		lines := jsonrpc.NewLines(io.LimitReader(file, left), maxLine, func([]byte) {})
		for left > 0 {
			text, err := lines.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			left -= int64(len(text)) + 1
			line(bytes.Clone(text))
		}
	}
	if left > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// open opens what is needed to read up to end, once that is written.
func (f *journalFile) open(end int64) (files []*os.File, begin int64, err error) {
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
		return nil, 0, f.failed
	case f.removed:
		return nil, 0, fs.ErrClosed
	case f.end < end:
		return nil, 0, errLate
	}
	paths := []string{f.path}
	if f.oldest < f.begin {
		paths = []string{f.old(), f.path}
	}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil && (end > 0 || !errors.Is(err, fs.ErrNotExist)) {
			for _, file := range files {
				_ = file.Close()
			}
			return nil, 0, fmt.Errorf("the journal cannot be read: %w", err)
		}
		if err == nil {
			files = append(files, file)
		}
	}
	return files, min(f.oldest, end), nil
}
