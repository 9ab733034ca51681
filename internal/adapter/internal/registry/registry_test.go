package registry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// session ends when it is stopped.
type session struct {
	thread  int
	stop    chan struct{}
	stopped atomic.Bool
}

func (s *session) Run()       { <-s.stop }
func (s *session) ForceStop() { s.stopped.Store(true) }

// A session that is being closed is unknown at once; who opens it waits until it is gone, and
// hurries it; who only asks does not.
func TestSessionThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := New[*session](), &session{stop: make(chan struct{})}
		require.NoError(t, r.Begin(s, "a"))
		require.ErrorIs(t, r.Begin(s, "a"), ErrTaken)
		require.True(t, r.AddID(s, "b"))
		r.Forget(s)
		require.True(t, r.AddID(s, "c"), "it goes on for a while")
		require.False(t, r.AddID(&session{}, "b"))
		require.Empty(t, r.List())
		asks, opens := r.Enqueue("a", "asks", Uses), r.Enqueue("c", "opens", Opens)
		require.NoError(t, asks.Lock(t.Context()))
		_, known := asks.Open()
		require.False(t, known)
		asks.Unlock()
		opened := make(chan error, 1)
		go func() { opened <- opens.Lock(t.Context()) }()
		time.Sleep(3 * time.Second)
		require.True(t, s.stopped.Load())
		require.Equal(t, []string{"opens waits for the disk since 3s"}, r.Waits("c", time.Now()))
		require.Empty(t, opened)
		close(s.stop)
		require.NoError(t, <-opened)
		opens.Unlock()
		r.Wait()
		asks.Release()
		opens.Release()
		require.Empty(t, r.queue)
	})
}

// An id that a request finds is claimed in its turn, in which no session ends.
func TestClaimInTurn(t *testing.T) {
	r, s := New[*session](), &session{stop: make(chan struct{})}
	require.NoError(t, r.Begin(s, "a"))
	p := r.Enqueue("a", "load", Opens)
	require.NoError(t, p.Lock(t.Context()))
	found, known := p.Find([]string{"b", "a"})
	require.True(t, known)
	close(s.stop) // its end waits for the turn's
	p.AddIDs(found, []string{"a", "b"})
	p.Unlock()
	r.Wait()
	for _, id := range []string{"a", "b"} {
		_, known = r.Find(id)
		require.False(t, known, id)
	}
}

// TestPolite checks that Polite is done once another request wants the thread, or the agent ends.
func TestPolite(t *testing.T) {
	for name, end := range map[string]func(r *Registry[*session]){
		"wanted": func(r *Registry[*session]) { go r.Enqueue("a", "load", Opens).Lock(context.Background()) },
		"closed": (*Registry[*session]).Close,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := New[*session]()
				p := r.Enqueue("a", "title", Opens)
				require.NoError(t, p.Lock(t.Context()))
				p.UseFiles()
				p.Unlock()
				asks := r.Enqueue("a", "prompt", Uses)
				require.NoError(t, asks.Lock(t.Context()))
				asks.Unlock()
				asks.Release()
				require.NoError(t, p.Graceful().Err())
				end(r)
				synctest.Wait()
				require.Error(t, p.Graceful().Err())
				p.Release()
			})
		})
	}
}

// The list of waiting requests omits the one that holds the lock.
func TestOnlyWhoWaitsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New[*session]()
		r.Enqueue("a", "prompt", Prompts)
		require.Empty(t, r.Waits("a", time.Now()))
		r.Enqueue("a", "mode", Uses)
		require.Equal(t, []string{"mode waits for what was asked before it since 0s"}, r.Waits("a", time.Now()))
	})
}

// Waiting ends with a cancel, and with the agent.
func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New[*session]()
		first := r.Enqueue("a", "load", Opens)
		require.NoError(t, first.Lock(t.Context()))
		first.Unlock()
		ctx, cancel := context.WithCancel(t.Context())
		ends := make(chan error, 3)
		wait := func(ctx context.Context, kind Kind) {
			p := r.Enqueue("a", "waits", kind)
			go func() { ends <- p.Lock(ctx) }()
			synctest.Wait()
		}
		wait(ctx, Uses)
		cancel()
		require.ErrorIs(t, <-ends, ErrCancelled)
		wait(t.Context(), Prompts)
		wait(t.Context(), Uses)
		_, known := r.Cancel("a")
		require.False(t, known)
		require.ErrorIs(t, <-ends, ErrCancelled)
		synctest.Wait()
		require.Empty(t, ends, "only prompts are given up")
		r.Close()
		require.ErrorIs(t, <-ends, ErrClosed)
	})
}

// request is one of the property test's.
type request struct {
	*Ticket[*session]
	thread, number int
	acted          bool
}

// TestOrder runs random requests about threads of three ids each, with checks of the disk, turns and ends. Requests that name the same id,
// or that open the same thread, act in the order of their arrival; no thread is open twice; and no request waits for another thread, except
// one that names a session that is not open during a check.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		r := New[*session]()
		var all []*request
		var stops []chan struct{}
		for number := range 200 {
			thread := random.IntN(3)
			idsOf := func(thread int) (ids []string) {
				for n := range 3 {
					ids = append(ids, fmt.Sprint(thread, "-", n))
				}
				return ids
			}
			switch random.IntN(3) {
			case 0:
				kind := []Kind{Uses, Prompts, Opens}[random.IntN(3)]
				all = append(all, &request{Ticket: r.Enqueue(idsOf(thread)[random.IntN(3)], "", kind), thread: thread, number: number})
			case 1:
				if len(all) > 0 {
					p := all[random.IntN(len(all))]
					p.Release()
					all = slices.DeleteFunc(all, func(other *request) bool { return other == p })
				}
			default:
				if len(all) == 0 {
					continue
				}
				p := all[random.IntN(len(all))]
				if p.kind == Opens && p.needsIDs {
					p.SetIDs(idsOf(p.thread))
				}
				if p.acted {
					continue
				}
				_, open := r.Find(p.ID())
				moved, err := p.try()
				require.NoError(t, err)
				if moved == nil {
					for _, other := range all {
						earlier := !other.acted && other.number < p.number && other.thread == p.thread
						require.False(t, earlier && (other.ID() == p.ID() || p.kind == Opens && other.kind == Opens), "it overtakes")
						require.False(t, other.usesFiles && other.thread == p.thread && p.kind == Opens, "its files are used")
					}
					for _, other := range r.queue {
						require.False(t, p.kind == Opens && other.closing != nil && other.closing.thread == p.thread, "its session still leaves")
					}
					p.acted = true
					if p.kind == Opens {
						act(t, p, idsOf(p.thread), random.IntN(3), &stops)
					}
					p.Unlock()
				} else {
					holds := func(other *request) bool {
						return other.number < p.number && (other.thread == p.thread || p.kind != Opens && !open && other.needsIDs)
					}
					leaves := func(other *Ticket[*session]) bool { return other.closing != nil && other.closing.thread == p.thread }
					require.True(t, slices.ContainsFunc(all, holds) || slices.ContainsFunc(r.queue, leaves), "it waits for nothing")
				}
			}
			for _, s := range r.List() {
				require.Len(t, slices.DeleteFunc(r.List(), func(other *session) bool { return other.thread != s.thread }), 1, "open twice")
			}
		}
		for _, stop := range stops {
			close(stop)
		}
		r.Wait()
	}
}

// act opens the thread of a request, uses its files, or closes it.
func act(t *testing.T, p *request, ids []string, what int, stops *[]chan struct{}) {
	switch what {
	case 0:
		if _, known := p.Find(ids); !known {
			*stops = append(*stops, make(chan struct{}))
			p.Begin(&session{thread: p.thread, stop: (*stops)[len(*stops)-1]}, ids)
		}
	case 1:
		p.UseFiles(p.All()...)
		require.True(t, p.usesFiles)
		require.Empty(t, p.All(), "they are closed")
	}
}
