package child

import (
	"context"
	"os/exec"
	"time"

	"droid-acp/internal/sys/files"
)

// lookTime is how long a file system may take to tell of a file. It is asked before a process is made: one
// that hangs on its way into a directory would stop all of this program, as Go starts processes by vfork.
const lookTime = 3 * time.Second

// ErrNotFound says that a program is not in the PATH.
var ErrNotFound = exec.ErrNotFound

// FindError is the error of Find, unless that gave up.
type FindError = exec.Error

// Find looks for a program, as exec.LookPath does, and gives up where a directory of the
// PATH does not answer (files.ErrHangs).
func Find(name string) (string, error) { return look(name, exec.LookPath) }

// look calls what may hang. A call that does keeps its goroutine, and so does each later one.
func look[T any](path string, f func(path string) (T, error)) (T, error) {
	return files.Within(context.Background(), files.NewCalls(1, lookTime), "look for a program", path, f)
}
