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
	"droid-acp/internal/remote/relay"
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
	max  int   // bytes that may be on their way
}

// newJournal begins a journal in two files whose names begin with path.
func newJournal(path string, size int64) *journal {
	file := &journalFile{path: path, half: size / 2}
	file.grown = sync.NewCond(&file.mu)
	j := &journal{out: jsonrpc.NewOutbox(file, relay.Batch), file: file, max: int(size)}
	go j.out.Run()
	return j
}

// write adds a line, which is the journal's from now on.
func (j *journal) write(line []byte) {
	if j.out.Size() > j.max {
		j.file.fail(errLate)
		j.out.Abort()
	}
	if _, err := j.out.Put(line); err == nil { // else read says what is wrong
		j.put += int64(len(line))
	}
}

// close ends the journal, once all of it is written. Its files stay.
func (j *journal) close() {
	j.out.Close()
	<-j.out.Done()
	j.file.close()
}

// remove ends the journal, and removes its files. It waits for a write that is under way.
func (j *journal) remove() {
	j.out.Abort()
	<-j.out.Done()
	j.file.remove()
}

// journalFile is a journal on the disk: a file with what is new, and one with what is older. One goroutine
// writes it.
type journalFile struct {
	path string
	half int64    // bytes of one of them
	file *os.File // the writer's; nil before the first line

	mu      sync.Mutex // nobody who has it waits for the disk
	grown   *sync.Cond
	begin   int64 // what came before the first byte of file
	oldest  int64 // what came before the first byte that is left
	end     int64 // all that was written
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

// fail says why nothing more is kept.
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

// close has nothing more read of the journal. Nothing is written any more.
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
	_ = os.Remove(f.path) // it may not be there
	_ = os.Remove(f.old())
}

// journalTime is how long a reader waits for lines that are on their way to the disk.
const journalTime = 10 * time.Second

// errLate is the error of a disk that does not take what is to be read.
var errLate = errors.New("the disk does not take it in time")

// read hands over the lines from one byte to another, each without its end and with memory of its own.
// Before these it says how many bytes of them are no longer there, if some are; they are the oldest.
func (f *journalFile) read(from, end int64, lost func(bytes int64), line func([]byte)) error {
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
			if end-left >= from {
				line(bytes.Clone(text))
			}
			left -= int64(len(text)) + 1
		}
	}
	if left > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// open opens what is needed to read up to end, once that is written. While it does, the older half may be
// replaced: then it begins again.
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

// maxOpens is how often the files are opened while they change.
const maxOpens = 100

func (f *journalFile) halves() (oldest, newest int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.oldest, f.begin
}

// await returns when the first end bytes are written.
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

// openAll opens the files of a journal, of which none is there before the first line.
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
		_ = file.Close() // it was read
	}
}
