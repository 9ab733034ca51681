package owner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/monitor"
	"droid-acp/internal/adapter/problem"
)

// ownerOf is an owner in a bubble. What it lost to panics is in lost.
type ownerOf struct {
	*Owner
	lost []any
}

func startOwner(t *testing.T) *ownerOf {
	t.Helper()
	o := &ownerOf{}
	o.Owner = New(t.Context(), zap.NewNop(), monitor.Hooks{Refresh: func() {}, Advance: func() bool { return false }, Panicked: func(p any) { o.lost = append(o.lost, p) }})
	return o
}

// TestOwnerSurvivesPanics: of its work, of what runs beside it, and of what clears away after them.
func TestOwnerSurvivesPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := startOwner(t)
		o.Post(func() { panic("work") })
		failed := false
		o.Post(func() { o.Do(func(context.Context) { panic("beside") }) })
		o.Post(func() {
			o.Go(func(t *Task) {
				defer func() { failed = true }()
				defer func() { panic("failed") }()
				t.Beside(func(context.Context) { panic("in a task") })
			})
		})
		synctest.Wait()
		require.True(t, failed)
		require.ElementsMatch(t, []any{"work", "beside", "failed"}, o.lost)
		o.Owner.lost = func(any) { panic("again") }
		o.Post(func() { panic("once more") })
		did := false
		o.Post(func() { did = true })
		synctest.Wait()
		require.True(t, did)
	})
}

// TestAsk walks through all ways in which a task that somebody waits for can end.
func TestAsk(t *testing.T) {
	refused := problem.InvalidRequest("no")
	for name, c := range map[string]struct {
		task  func(o *ownerOf, t *Task) (string, *acp.RequestError)
		value string
		err   *acp.RequestError
	}{
		"at once": {task: func(*ownerOf, *Task) (string, *acp.RequestError) { return "a", nil }, value: "a"},
		"refused": {task: func(*ownerOf, *Task) (string, *acp.RequestError) { return "", refused }, err: refused},
		"later": {task: func(_ *ownerOf, t *Task) (string, *acp.RequestError) {
			t.Beside(func(context.Context) { time.Sleep(time.Second) })
			return "a", nil
		}, value: "a"},
		"a panic": {task: func(*ownerOf, *Task) (string, *acp.RequestError) { panic("test") }, err: problem.Lost()},
		"a panic beside": {task: func(_ *ownerOf, t *Task) (string, *acp.RequestError) {
			t.Beside(func(context.Context) { panic("test") })
			return "a", nil
		}, err: problem.Lost()},
		"a panic elsewhere": {task: func(o *ownerOf, t *Task) (string, *acp.RequestError) {
			o.Post(func() { panic("test") })
			t.Beside(func(context.Context) { time.Sleep(time.Second) })
			return "a", nil
		}, value: "a"},
		"the owner ends, and the task after it": {task: func(o *ownerOf, t *Task) (string, *acp.RequestError) {
			o.Stop()
			t.Beside(func(context.Context) { time.Sleep(time.Second) })
			return "a", nil
		}, value: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, ordered := startOwner(t), 0
				value, err := Ask(o.Owner, func() { ordered++ }, func(t *Task) (string, *acp.RequestError) { return c.task(o, t) })
				require.Equal(t, 1, ordered)
				require.Equal(t, c.err, err)
				require.Equal(t, c.value, value)
			})
		})
	}
}

// Who asks an owner that has ended is told so, or why it takes nothing.
func TestAskEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := startOwner(t)
		require.NoError(t, o.Lock())
		o.Close()
		ask := func() *acp.RequestError {
			_, err := Ask(o.Owner, nil, func(*Task) (string, *acp.RequestError) { return "a", nil })
			return err
		}
		require.Equal(t, problem.Ending(), ask())
		o.Refuse(problem.InvalidRequest("no"))
		require.Equal(t, problem.InvalidRequest("no"), ask())
	})
}
