package adapter

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// maxRead bounds the files that are read to show a change, in bytes.
	maxRead = 1 << 20
	// maxReadAtOnce bounds what is read for one event, in bytes.
	maxReadAtOnce = 16 << 20
	// readWait is how long what is to be shown waits for the files that belong to it.
	readWait = 500 * time.Millisecond
	// maxReadings bounds the readings that go on at once. One of a dead mount
	// cannot be ended and keeps its goroutine and its thread.
	maxReadings = 16
)

// fileText is the text of a file, nil when there is none. It is not known when
// the file could not be read or cannot be shown.
type fileText struct {
	text  *string
	known bool
}

// files reads files beside those who want them, within bounds of time and number.
type files struct {
	readText func(path string) fileText // may hang

	mu      sync.Mutex
	running map[string]struct{} // paths that are being read now
}

func newFiles() *files { return &files{readText: readText, running: make(map[string]struct{})} }

// read returns the texts of files as far as they could be read in readWait.
func (f *files) read(ctx context.Context, paths []string) map[string]fileText {
	ctx, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	texts, size := make(map[string]fileText), 0
	for _, path := range paths {
		if _, again := texts[path]; again {
			continue
		}
		if size > maxReadAtOnce || ctx.Err() != nil {
			return texts
		}
		t := f.readOne(ctx, path)
		texts[path] = t
		if t.text != nil {
			size += len(*t.text)
		}
	}
	return texts
}

// readOne reads one file. Of one whose reading hangs since an earlier time, and
// where too many hang, nothing is known at once.
func (f *files) readOne(ctx context.Context, path string) fileText {
	f.mu.Lock()
	_, hangs := f.running[path]
	if hangs || len(f.running) >= maxReadings {
		f.mu.Unlock()
		return fileText{}
	}
	f.running[path] = struct{}{}
	f.mu.Unlock()
	read := make(chan fileText, 1)
	go func() {
		t := f.readText(path)
		f.mu.Lock()
		delete(f.running, path)
		f.mu.Unlock()
		read <- t
	}()
	select {
	case t := <-read:
		return t
	case <-ctx.Done():
		return fileText{}
	}
}

// readText reads a file to show how it changes: nothing is known of one that is
// too large, no regular file, or no text.
func readText(path string) fileText {
	if isKernelPath(path) {
		return fileText{}
	}
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return fileText{known: true}
	case err != nil || !info.Mode().IsRegular() || info.Size() > maxRead:
		return fileText{}
	}
	file, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0) // it may be another one by now
	if err != nil {
		return fileText{}
	}
	defer file.Close()
	info, err = file.Stat()
	if err != nil || !info.Mode().IsRegular() || isKernelFile(file) {
		return fileText{}
	}
	data, err := io.ReadAll(io.LimitReader(file, maxRead+1)) // it may have grown
	if err != nil || len(data) > maxRead || !utf8.Valid(data) {
		return fileText{}
	}
	text := string(data)
	return fileText{&text, true}
}
