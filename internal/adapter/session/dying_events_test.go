package session_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// cutReader ends droid's stdout after some lines of a turn, or within the next line.
type cutReader struct {
	io.Reader
	armed *atomic.Bool // the turn has begun
	lines int          // still to come
	half  bool
	end   func()
	cut   atomic.Bool
	line  []byte // the beginning of a line
}

func (r *cutReader) Read(p []byte) (int, error) {
	if r.cut.Load() {
		return 0, io.EOF
	}
	n, err := r.Reader.Read(p)
	if !r.armed.Load() {
		return n, err
	}
	for i, b := range p[:n] {
		switch r.line = append(r.line, b); {
		case r.lines == 0 && !r.half:
			n = i
		case r.lines == 0 && (len(r.line) > 20 || b == '\n'):
			n = i
		case b == '\n':
			r.line, r.lines = nil, r.lines-1
			continue
		default:
			continue
		}
		r.cut.Store(true)
		r.end()
		return n, nil
	}
	return n, err
}

// cutDroid is a droid whose stdout ends so.
func cutDroid(lines int, half bool, script fakedroid.Script, options ...fakedroid.Option) (client *droid.Client, cut func() bool) {
	stdout, stdin := fakedroid.Start(script, options...)
	r := &cutReader{Reader: stdout, armed: new(atomic.Bool), lines: lines, half: half}
	r.end = func() {
		_ = stdout.Close()
		_ = stdin.Close()
	}
	tap := func(line []byte) {
		if bytes.Contains(line, []byte("add_user_message")) {
			r.armed.Store(true)
		}
	}
	return droid.NewClient(r, tapped{stdin, tap}, zap.NewNop()), r.cut.Load
}

// TestDroidDiesAtEachEvent checks a droid that dies after each line of a turn, and within it. The prompt ends with an error, or without one
// if droid had not taken the prompt or had ended the turn. The next prompt is answered.
func TestDroidDiesAtEachEvent(t *testing.T) {
	for name, script := range map[string]fakedroid.Script{"a tool": uses(touch), "an edit": uses(create), "nonsense": fakedroid.Nonsense()} {
		for _, v := range []fakedroid.Version{fakedroid.V099, fakedroid.V0225} {
			for _, half := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s %t", name, v, half), func(t *testing.T) {
					failed, dies := 0, true
					for lines := 0; dies; lines++ {
						synctest.Test(t, func(t *testing.T) {
							var end string
							dies, end = diesBehind(t, lines, half, script, fakedroid.WithVersion(v))
							if dies && end != "end_turn" {
								failed++
								require.Contains(t, end, "-32603 ", "after %d lines", lines)
								require.Contains(t, end, "The next prompt starts droid again", "after %d lines", lines)
							}
						})
					}
					require.Greater(t, failed, 10, "lines of a turn")
				})
			}
		}
	}
}

// diesBehind runs a turn of a droid that dies after that many lines, if it has as many. It returns the end of the turn.
func diesBehind(t *testing.T, lines int, half bool, script fakedroid.Script, v fakedroid.Option) (dies bool, end string) {
	store, cut := fakedroid.WithSessions(new(fakedroid.Sessions)), (func() bool)(nil)
	e := begin(t, func(n int) (client *droid.Client, err error) {
		if n > 1 {
			return fakeDroid(says("I am back"), v, store), nil
		}
		client, cut = cutDroid(lines, half, script, v, store)
		return client, nil
	})
	end = e.run("go")
	synctest.Wait()
	if dies = cut(); dies {
		from := len(e.updates()) // a prompt that was not taken went to the next droid
		require.Equal(t, "end_turn", e.run("again"), "after %d lines", lines)
		require.Equal(t, 1, strings.Count(strings.Join(e.updates()[from:], "\n"), "I am back"), "after %d lines", lines)
	}
	return dies, end
}
