package mutate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// How long tests of a mutant may take: some times as long as without a change, and a
// while on top for a machine that is busy just then.
const (
	limitTimes = 4
	limitMore  = 5 * time.Second
)

// memory is how much address space tests of a mutant get, in KiB: an endless loop
// that appends fails instead of filling the machine. A Go program that is well has
// one or two GiB.
const memory = 6 << 20

// bench builds and runs the tests.
type bench struct {
	dir    string // where packages are looked up
	work   string // for temporary files
	suites []suite
}

// suite is the tests of one package.
type suite struct {
	Tests
	dir   string        // where they run
	limit time.Duration // of a run
}

// newBench finds the packages whose tests notice mutants of p, and how long those
// take. It fails when they fail without a change.
func newBench(ctx context.Context, c Config, p *Package, work string) (*bench, error) {
	b := &bench{dir: c.Dir, work: work}
	for _, tests := range append([]Tests{{Package: c.Package}}, c.Also...) {
		s := suite{Tests: tests, dir: p.Dir, limit: time.Hour}
		if tests.Package != c.Package {
			other, err := list(ctx, c.Dir, tests.Package)
			if err != nil {
				return nil, err
			}
			s.dir = other[len(other)-1].Dir
		}
		binary, output, err := b.compile(ctx, s, filepath.Join(work, "clean"), "")
		if err != nil {
			return nil, fmt.Errorf("building the tests of %s: %w", s.Package, err)
		}
		if binary == "" {
			return nil, fmt.Errorf("the tests of %s do not compile:\n%s", s.Package, output)
		}
		begin := time.Now()
		fate, output, err := s.run(ctx, binary)
		if err != nil || fate != Survived {
			return nil, errors.Join(fmt.Errorf("the tests of %s fail without any change:\n%s", s.Package, output), err)
		}
		s.limit = limitTimes*time.Since(begin) + limitMore
		b.suites = append(b.suites, s)
	}
	return b, nil
}

// try says what becomes of m. Name keeps what runs at the same time apart.
func (b *bench) try(ctx context.Context, name string, m Mutant) (Fate, error) {
	overlay, err := b.overlay(name, m)
	if err != nil {
		return 0, err
	}
	for _, s := range b.suites {
		binary, _, err := b.compile(ctx, s, filepath.Join(b.work, name), overlay)
		switch {
		case err != nil:
			return 0, err
		case binary == "":
			return Uncompiled, nil
		}
		if fate, _, err := s.run(ctx, binary); err != nil || fate != Survived {
			return fate, err
		}
	}
	return Survived, nil
}

// overlay writes the changed file and what tells go to read it in the place of the
// original, and returns the path of the latter.
func (b *bench) overlay(name string, m Mutant) (string, error) {
	src := m.file.src
	changed := filepath.Join(b.work, name+".go")
	if err := os.WriteFile(changed, bytes.Join([][]byte{src[:m.begin], []byte(m.text), src[m.end:]}, nil), 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {m.file.path: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(b.work, name+".json")
	return overlay, os.WriteFile(overlay, replace, 0o600)
}

// compile builds the tests of s and returns the path of the binary, "" when the source
// does not compile, and what go said.
func (b *bench) compile(ctx context.Context, s suite, binary, overlay string) (string, []byte, error) {
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	args := []string{"test", "-c", "-o", binary}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, s.Package)...)
	cmd.Dir = b.dir
	output, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		return "", output, nil
	}
	return binary, output, err
}

// run runs the tests of s.
func (s suite) run(ctx context.Context, binary string) (Fate, []byte, error) {
	args := []string{binary, "-test.short", "-test.failfast", "-test.timeout", s.limit.String()}
	if s.Run != "" {
		args = append(args, "-test.run", s.Run)
	}
	if runtime.GOOS == "linux" {
		args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$@"`, memory), "sh"}, args...)
	}
	limited, cancel := context.WithTimeout(ctx, s.limit+time.Second) // for tests that hang without a chance to end themselves
	defer cancel()
	cmd := exec.CommandContext(limited, args[0], args[1:]...)
	cmd.Dir = s.dir
	cmd.WaitDelay = time.Second // for children that keep the output open
	output, err := cmd.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return 0, output, ctx.Err()
	case limited.Err() != nil || bytes.Contains(output, []byte("panic: test timed out after ")):
		return Hung, output, nil
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return Killed, output, nil
	}
	return Survived, output, err
}
