package droid

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// ahead is what a spare starts: droids that say nothing.
type ahead struct {
	mu      sync.Mutex
	clients []*Client
}

func (a *ahead) start(string) (*Client, error) {
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
func (a *ahead) running() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.clients) - len(slices.DeleteFunc(slices.Clone(a.clients), func(c *Client) bool { return !hasExited(c) }))
}

// Nothing is started once Discard was called, whoever asks for it.
func TestSpareStartsNothingAfterDiscard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var droids ahead
		s := NewSpare(t.TempDir(), droids.start, zap.NewNop())
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
		var droids ahead
		starts, let := 0, make(chan struct{})
		s := NewSpare(t.TempDir(), func(dir string) (*Client, error) {
			if starts++; starts == 2 {
				<-let
			}
			return droids.start(dir)
		}, zap.NewNop())
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
		var droids ahead
		s := NewSpare(t.TempDir(), droids.start, zap.NewNop())
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

// Whatever is done with a spare while it is discarded: what nobody took has ended then.
func TestSpareIsDiscardedAtAnyMoment(t *testing.T) {
	here, elsewhere := t.TempDir(), t.TempDir()
	for range 900 {
		var droids ahead
		s := NewSpare(here, droids.start, zap.NewNop())
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
		client.Kill()
		<-client.Exited()
		require.Zero(t, droids.running())
	}
}

// started is how many droids were started.
func (a *ahead) started() int {
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
	require.NoError(t, os.Symlink(dir, link))
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
			var droids ahead
			s := NewSpare(dir, droids.start, zap.NewNop())
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
				client.Kill()
				<-client.Exited()
			}
			s.Discard()
			require.Zero(t, droids.running(), "one that does not fit has ended")
			require.Nil(t, s.Take(dir), "it waits for the first session only")
		})
	}
}

// A start that fails leaves nobody waiting.
func TestSpareThatDoesNotStart(t *testing.T) {
	for name, start := range map[string]func(string) (*Client, error){
		"error": func(string) (*Client, error) { return nil, errors.New("test") },
		"panic": func(string) (*Client, error) { panic("test") },
	} {
		t.Run(name, func(t *testing.T) {
			s := NewSpare(t.TempDir(), start, zap.NewNop())
			s.Prepare()
			require.Nil(t, s.Take(s.dir))
			s.Renew()
			s.Discard()
		})
	}
}
