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

// openers are the programs by which droid opens a browser: the first on Linux (seen with
// 0.99.0 and 0.225.2), the second on macOS (not seen).
var openers = [...]string{"xdg-open", "open"}

// linkWatcher is how it is heard what droid opens in a browser, since droid says nowhere else
// where to log in. Scripts in a directory of ours, which comes first in droid's PATH,
// write the address into a pipe and then become the program of their name.
type linkWatcher struct {
	env     []string    // for droid
	links   chan string // nil when nothing is heard
	dir     *files.TempDir
	removes []string // its path, for who may have to remove it
	pipe    *os.File
	reading *sync.WaitGroup
}

// watchLinks begins to hear. Where that is not possible, droid opens the browser unheard.
func watchLinks(env []string, log *zap.Logger) linkWatcher {
	h, err := newLinkWatcher(env)
	if err != nil {
		log.Warn("where droid wants to log in cannot be shown; it opens the browser itself", zap.Error(err))
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
	// Open for both, so that opening it does not wait and it has no end of its own.
	if h.pipe, err = os.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0); err != nil {
		return h, err
	}
	h.env = append(env[:len(env):len(env)], "PATH="+h.dir.Path+string(os.PathListSeparator)+path)
	h.removes = []string{h.dir.Path}
	h.links, h.reading = make(chan string, 8), new(sync.WaitGroup)
	h.reading.Go(h.read)
	return h, nil
}

// pathOf is the last PATH of an environment, which is the one that counts.
func pathOf(env []string) (path string) {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	return path
}

// openerScript is the script that stands in for an opener.
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
		default: // nobody opens so many
		}
	}
}

// close ends the hearing and takes its files away: them first, since a script that opened
// a pipe which nobody reads would wait for ever, and the browser with it.
func (h linkWatcher) close() {
	if h.dir != nil {
		_ = h.dir.Remove() // in the directory for temporary files; nothing depends on it
	}
	if h.pipe != nil {
		_ = h.pipe.Close() // only read from
	}
	if h.reading != nil {
		h.reading.Wait()
	}
}
