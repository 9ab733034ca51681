package child

import (
	"fmt"
	"os"
	"os/exec"
	"time"
)

// lookTime is how long a file system may take to tell of a file.
const lookTime = 3 * time.Second

// ErrNotFound says that a program is not in the PATH.
var ErrNotFound = exec.ErrNotFound

// FindError is the error of Find, unless that gave up.
type FindError = exec.Error

// Find looks for a program, as exec.LookPath does, and gives up where a directory of the
// PATH does not answer.
func Find(name string) (string, error) {
	return Within(name, func() (string, error) { return exec.LookPath(name) })
}

// Within returns what a look at a file returns, if it does so within 3 s. Else the error
// is an os.ErrDeadlineExceeded; the look goes on until the file system answers or this
// program ends.
func Within[T any](file string, look func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := look()
		answered <- answer{value, err}
	}()
	timer := time.NewTimer(lookTime)
	defer timer.Stop()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-timer.C:
		var none T
		return none, &os.PathError{Op: "looking at", Path: file, Err: fmt.Errorf("the file system did not answer within %v: %w", lookTime, os.ErrDeadlineExceeded)}
	}
}
