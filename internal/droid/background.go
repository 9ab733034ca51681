package droid

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"
)

// BackgroundCommand is a command that droid has left running in the background (Execute with fireAndForget), with its process group. After
// the call has ended, droid reports neither its output nor its end. It ends with droid, unless something else kills droid (0.99 to 0.225).
type BackgroundCommand interface {
	// Runs reports whether any process of it is running.
	Runs() bool
	// End terminates it, and kills it after grace. It reports whether it has ended.
	End(grace time.Duration) (gone bool)
}

// FindBackground finds such a command among droid's descendants by its process ID. It returns nil if the command has ended. The error means
// that it cannot be determined: on Windows, and for a client without a process.
func (c *Client) FindBackground(id int) (BackgroundCommand, error) {
	if c.findBackground == nil {
		return nil, errors.ErrUnsupported
	}
	return c.findBackground(id)
}

// StubBackground replaces FindBackground for a client without a process.
func (c *Client) StubBackground(left func(id int) (BackgroundCommand, error)) {
	c.findBackground = left
}

func (p *process) findBackground(id int) (BackgroundCommand, error) {
	kin, err := p.DescendantGroup(id)
	if kin == nil {
		return nil, err
	}
	return kin, err
}

// MayStillRun reports whether a background command of a droid that has exited may still be running: droid does not end it if droid itself
// is killed, and 0.99 does not if its agent is. The process is identified by its ID and start time, which equals that of its output file,
// whose name has the ID (0.99 to 0.225). It returns true if the system cannot tell.
func MayStillRun(id int, output string) bool {
	name := outputName().FindStringSubmatch(filepath.Base(output))
	if name == nil {
		return false
	}
	milliseconds, err := strconv.ParseInt(name[1], 10, 64)
	if err != nil {
		return false
	}
	runs, err := subprocess.GroupRunning(id, time.UnixMilli(milliseconds))
	return runs || err != nil
}

// outputName matches the name that droid gives such a command's output file (0.99 to 0.225).
var outputName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^droid-bg-(\d+)\.out$`) })

// OpenOutput opens the output file of such a command, as named by droid, for reading. It must be a regular file of this user in the
// directory for temporary files; any other file is an error, and is not read.
func OpenOutput(path string) (*os.File, error) {
	dir, name := filepath.Split(path)
	if !outputName().MatchString(name) || !slices.Contains([]string{filepath.Clean(os.TempDir()), "/tmp"}, filepath.Clean(dir)) {
		return nil, fmt.Errorf("%s is no file of droid's for the output of a command", path)
	}
	file, info, err := files.OpenNoFollow(path)
	if err != nil {
		return nil, err
	}
	if !files.OwnedByUser(info) {
		_ = file.Close() // nothing was read
		return nil, fmt.Errorf("%s belongs to another user", path)
	}
	return file, nil
}
