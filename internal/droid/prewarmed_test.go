package droid

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// prewarmedStart starts prewarmed droids, which write nothing.
type prewarmedStart struct {
	mu      sync.Mutex
	clients []*Client
}

func (a *prewarmedStart) start(string) (*Client, error) {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = out.Close()
	}()
	client := NewClient(stdout, stdin, zap.NewNop())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients = append(a.clients, client)
	return client, nil
}

// running is how many of the droids have not ended.
func (a *prewarmedStart) running() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.clients) - len(slices.DeleteFunc(slices.Clone(a.clients), func(c *Client) bool { return !hasExited(c) }))
}

// Nothing is started after Discard, whichever method asks for it.
func TestSpareStartsNothingAfterDiscard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var droids prewarmedStart
		s := NewPrewarmed(t.TempDir(), droids.start, nil, zap.NewNop())
		s.Discard()
		s.Prepare()
		s.Renew()
		synctest.Wait()
		require.Empty(t, droids.clients)
		require.Nil(t, s.Take(s.dir))
	})
}

// Discard waits for a start that is under way, that of Renew among them.
func TestDiscardWaitsForARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var droids prewarmedStart
		starts, let := 0, make(chan struct{})
		s := NewPrewarmed(t.TempDir(), func(dir string) (*Client, error) {
			if starts++; starts == 2 {
				<-let
			}
			return droids.start(dir)
		}, nil, zap.NewNop())
		s.Prepare()
		synctest.Wait()
		go s.Renew()
		synctest.Wait()
		discarded := make(chan struct{})
		go func() { defer close(discarded); s.Discard() }()
		synctest.Wait()
		select {
		case <-discarded:
			t.Error("a start is under way")
		default:
		}
		close(let)
		synctest.Wait()
		<-discarded
		require.Equal(t, 2, starts)
		require.Zero(t, droids.running())
	})
}

// Two that ask for a spare at once get one.
func TestSpareIsStartedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var droids prewarmedStart
		s := NewPrewarmed(t.TempDir(), droids.start, nil, zap.NewNop())
		s.Prepare()
		s.Prepare()
		synctest.Wait()
		s.Prepare()
		synctest.Wait()
		require.Len(t, droids.clients, 1)
		s.Discard()
		require.Zero(t, droids.running())
	})
}

// Whatever is called while a prewarmed droid is discarded: one that was not taken has exited afterwards.
func TestSpareIsDiscardedAtAnyMoment(t *testing.T) {
	here, elsewhere := t.TempDir(), t.TempDir()
	for range 900 {
		var droids prewarmedStart
		s := NewPrewarmed(here, droids.start, nil, zap.NewNop())
		taken := make(chan *Client, 1)
		uses := []func(){
			s.Prepare, s.Renew, s.Prepare,
			func() { taken <- s.Take(here) },
			func() { s.Take(elsewhere) },
		}
		rand.Shuffle(len(uses), func(i, j int) { uses[i], uses[j] = uses[j], uses[i] })
		var all sync.WaitGroup
		for _, use := range uses {
			all.Go(use)
		}
		s.Discard()
		before := droids.started()
		after := droids.running()
		all.Wait()
		require.Equal(t, before, droids.started(), "nothing is started any more")
		client := <-taken
		if client == nil {
			require.Zero(t, after)
			continue
		}
		require.LessOrEqual(t, after, 1)
		end(client)
		require.Zero(t, droids.running())
	}
}

// started is how many droids were started.
func (a *prewarmedStart) started() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.clients)
}

// The spare serves a session in its own directory, by whichever name, and no other.
func TestSpareFitsItsDirectoryAlone(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "project")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "part"), 0o755))
	link := filepath.Join(root, "link")
	if err := os.Symlink(dir, link); err != nil {
		link = dir // Windows lets few users make links
	}
	for name, c := range map[string]struct {
		asked string
		fits  bool
		then  func(t *testing.T)
	}{
		"itself":            {dir, true, nil},
		"a name not clean":  {dir + "/part/..", true, nil},
		"a link":            {link, true, nil},
		"a part of it":      {filepath.Join(dir, "part"), false, nil},
		"what it is in":     {root, false, nil},
		"what is not there": {filepath.Join(root, "none"), false, nil},
		"another of its name": {dir, false, func(t *testing.T) {
			require.NoError(t, os.Rename(dir, filepath.Join(root, "before")))
			require.NoError(t, os.Mkdir(dir, 0o755))
			t.Cleanup(func() {
				require.NoError(t, os.Remove(dir))
				require.NoError(t, os.Rename(filepath.Join(root, "before"), dir))
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var droids prewarmedStart
			s := NewPrewarmed(dir, droids.start, nil, zap.NewNop())
			defer s.Discard()
			s.Prepare()
			<-s.starting
			if c.then != nil {
				c.then(t)
			}
			client := s.Take(c.asked)
			require.Equal(t, c.fits, client != nil)
			if client != nil {
				require.False(t, hasExited(client))
				end(client)
			}
			s.Discard()
			require.Zero(t, droids.running(), "one that does not fit has ended")
			require.Nil(t, s.Take(dir), "it waits for the first session only")
		})
	}
}

// A failed start blocks no caller.
func TestPrewarmedDoesNotStart(t *testing.T) {
	for name, start := range map[string]func(string) (*Client, error){
		"error": func(string) (*Client, error) { return nil, errors.New("test") },
		"panic": func(string) (*Client, error) { panic("test") },
	} {
		t.Run(name, func(t *testing.T) {
			s := NewPrewarmed(t.TempDir(), start, nil, zap.NewNop())
			s.Prepare()
			require.Nil(t, s.Take(s.dir))
			s.Renew()
			s.Discard()
		})
	}
}

// A prewarmed droid that has read outdated files serves no session.
func TestPrewarmedFitsOnlyWhatItHasRead(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		fits bool
	}{
		"MCP servers":            {"repo/part/.factory/mcp.json", false},
		"hooks":                  {"repo/part/.factory/settings.json", false},
		"hooks of their own":     {"repo/part/.factory/hooks.json", false},
		"local settings":         {"repo/part/.factory/settings.local.json", false},
		"a subagent":             {"repo/part/.factory/droids/one.md", true}, // droid sees it by itself
		"a command":              {"repo/part/.factory/commands/one.md", false},
		"those of the root":      {"repo/.factory/mcp.json", false},
		"the user's":             {"home/.factory/settings.json", false},
		"the user's MCP servers": {"home/.factory/mcp.json", false},
		"outside of the project": {".factory/mcp.json", true},
		"another part":           {"repo/other/.factory/mcp.json", true},
		"what droid writes":      {"home/.factory/host.json", true},
		"a file of the project":  {"repo/part/a.go", true},
		"another program's":      {"repo/part/.mcp.json", true}, // droid 0.99.0 to 0.225.2 opens none
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			t.Setenv(envHome, filepath.Join(root, "home"))
			dir := filepath.Join(root, "repo", "part")
			for _, d := range []string{dir, filepath.Join(root, "repo", ".git"), filepath.Join(root, "home")} {
				require.NoError(t, os.MkdirAll(d, 0o755))
			}
			change := func(text string) {
				file := filepath.Join(root, filepath.FromSlash(c.file))
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			}
			for _, comes := range []bool{true, false} { // a file that comes, and one that is written
				if !comes {
					change("{}")
				}
				var droids prewarmedStart
				s := NewPrewarmed(dir, droids.start, nil, zap.NewNop())
				s.Prepare()
				<-s.starting
				change(`{"a": 1}`)
				client := s.Take(dir)
				require.Equal(t, c.fits, client != nil)
				end(client)
				s.Discard()
				require.Zero(t, droids.running())
			}
		})
	}
}

// A session that was opened has a droid started for the next one, where it was opened, a little
// later, and where there is room for it.
func TestSpareForTheNextSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var droids prewarmedStart
		first, second := t.TempDir(), t.TempDir()
		var room atomic.Bool
		room.Store(true)
		s := NewPrewarmed(first, droids.start, room.Load, zap.NewNop())
		s.Prepare()
		one := s.Take(first)
		require.NotNil(t, one)
		s.Next(second)
		s.Next(second)
		time.Sleep(nextAfter - time.Millisecond)
		require.Equal(t, 1, droids.started(), "one session alone has none started")
		time.Sleep(time.Second)
		require.Equal(t, 2, droids.started())
		two := s.Take(second)
		require.NotNil(t, two)
		room.Store(false)
		s.Next(second)
		time.Sleep(time.Minute)
		require.Nil(t, s.Take(second), "there is no room")
		room.Store(true)
		s.Next(second)
		s.Discard()
		time.Sleep(time.Minute)
		require.Equal(t, 2, droids.started(), "nobody wants any more")
		end(one)
		end(two)
	})
}

func TestNoSpareForTheNextSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var droids prewarmedStart
		s := NewPrewarmed(t.TempDir(), droids.start, nil, zap.NewNop())
		s.Next(s.dir)
		time.Sleep(time.Minute)
		require.Zero(t, droids.started())
		s.Discard()
	})
}

// A start that hangs in one directory holds up no session for long.
func TestHangingPrewarmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		s := NewPrewarmed(t.TempDir(), func(string) (*Client, error) {
			<-let
			return nil, errors.New("test")
		}, nil, zap.NewNop())
		s.Prepare()
		began := time.Now()
		require.Nil(t, s.Take(t.TempDir()))
		require.LessOrEqual(t, time.Since(began), startTime)
		s.Renew()
		close(let)
		s.Discard()
	})
}
