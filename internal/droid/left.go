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

// BackgroundCommand is a command that droid has left running in the background (Execute with fireAndForget), with its process
// group. droid tells nothing of it when its call has ended: neither what it writes nor how it ends. It ends with droid,
// but for one that is killed by somebody else (0.99 to 0.225).
type BackgroundCommand interface {
	// Runs reports whether something of it runs.
	Runs() bool
	// End asks it to end, and kills it after the time grace. It reports whether it is gone.
	End(grace time.Duration) (gone bool)
}

// FindBackground finds such a command by the id of its process among what droid has started. It is nil for one that has ended.
// An error says that it cannot be told: on Windows, and of a client without a process.
func (c *Client) FindBackground(id int) (BackgroundCommand, error) {
	if c.findBackground == nil {
		return nil, errors.ErrUnsupported
	}
	return c.findBackground(id)
}

// StubBackground has a client without a process find commands in the background by left.
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

// MayStillRun reports whether a command that a droid which is gone has left in the background may still run: droid does not end it
// where droid itself is killed, and 0.99 does not where its agent is. The process is known by its id and the time of its start, which
// the name of the file with its output has (0.99 to 0.225). Where the system cannot tell, it may.
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

// outputName is how droid calls the file with the output of such a command (0.99 to 0.225).
var outputName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^droid-bg-(\d+)\.out$`) })

// OpenOutput opens the file with the output of such a command for reading: a regular file of this user's in the
// directory for temporary files, which droid has named. Another file is an error, and is not read.
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
