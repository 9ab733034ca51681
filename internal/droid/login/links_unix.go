//go:build unix

package login

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/paths"
)

// openers are the programs with which droid opens a browser: the first on Linux (observed with 0.99.0 and 0.225.2), the second on macOS
// (not observed).
var openers = [...]string{"xdg-open", "open"}

// linkWatcher finds the addresses that droid opens in a browser, since droid reports nowhere else where to log in. Scripts in a directory
// of ours, which is first in droid's PATH, write the address into a pipe and then execute the program that they are named after.
type linkWatcher struct {
	env     []string    // for droid
	links   chan string // nil if addresses are not watched
	dir     *files.TempDir
	removes []string // its path, for a guard that may have to remove it
	pipe    *os.File
	reading *sync.WaitGroup
}

// watchLinks starts to watch. If that is impossible, droid opens the browser unwatched.
func watchLinks(env []string, log *zap.Logger) linkWatcher {
	h, err := newLinkWatcher(env)
	if err != nil {
		log.Warn("cannot watch where droid logs in; it opens the browser itself", zap.Error(err))
		h.close()
		return linkWatcher{env: env}
	}
	return h
}

func newLinkWatcher(env []string) (h linkWatcher, err error) {
	if h.dir, _, err = files.MakeTempDir("login", uuid.NewString()); err != nil {
		return h, err
	}
	path := pathOf(env)
	name := filepath.Join(h.dir.Path, "links")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		return h, err
	}
	for _, opener := range openers {
		if err := files.Write(filepath.Join(h.dir.Path, opener), []byte(openerScript(opener, name, path)), 0o700); err != nil {
			return h, err
		}
	}
	// Open for reading and writing, so that opening does not block and the pipe never reaches its end.
	if h.pipe, err = os.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0); err != nil {
		return h, err
	}
	h.env = append(env[:len(env):len(env)], "PATH="+h.dir.Path+string(os.PathListSeparator)+path)
	h.removes = []string{h.dir.Path}
	h.links, h.reading = make(chan string, 8), new(sync.WaitGroup)
	h.reading.Go(h.read)
	return h, nil
}

// pathOf returns the last PATH in an environment, which is the effective one.
func pathOf(env []string) (path string) {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	return path
}

// openerScript returns the script that replaces an opener.
func openerScript(opener, pipe, path string) string {
	return fmt.Sprintf(`#!/bin/sh
for word in "$@"; do
	case "$word" in
	http://* | https://*) printf '%%s\n' "$word" 1<>%s ;; # also where nobody reads
	esac
done 2>/dev/null
PATH=%s
export PATH
exec %s "$@"
`, paths.ShellQuote(pipe), paths.ShellQuote(path), opener)
}

// read passes on the addresses until the pipe is closed.
func (h linkWatcher) read() {
	defer close(h.links)
	lines := bufio.NewScanner(h.pipe)
	for lines.Scan() {
		select {
		case h.links <- lines.Text():
		default: // the channel is full; no login opens so many
		}
	}
}

// close ends the watch and removes its files: these first, since a script that opened a pipe without a reader would wait forever, and the
// browser with it.
func (h linkWatcher) close() {
	if h.dir != nil {
		_ = h.dir.Remove() // in the directory for temporary files; nothing depends on it
	}
	if h.pipe != nil {
		_ = h.pipe.Close() // it was only read
	}
	if h.reading != nil {
		h.reading.Wait()
	}
}
