package waiting

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestLineTells(t *testing.T) {
	var l Line
	there := map[Need]bool{}
	has := func(n Need) bool { return there[n] }
	first, second := &Waiter{Name: "a load", Takes: "droid"}, &Waiter{Name: "a title", Takes: "droid"}
	l.Add(begin, first)
	l.Add(begin, second)
	l.Add(begin.Add(time.Minute), &Waiter{Name: "the prompt", Needs: []Need{"x", "its servers"}})
	require.Same(t, first, l.Next(has))
	require.Nil(t, l.Next(has))
	there["x"] = true
	require.Equal(t, []string{"a load is under way, asked for 1m30s ago", "a title waits for droid since 1m30s", "the prompt waits for its servers since 30s"}, l.Tell(begin.Add(90*time.Second), has))
	l.Leave(first)
	require.Same(t, second, l.Next(has))
	l.Leave(second)
	require.False(t, l.Wanted("droid"))
}

// In a random order of those who come, leave and of what is there: nobody goes without what it
// needs, or while another has what it takes; who takes the same goes in order; nobody goes
// twice, or is forgotten.
func TestLine(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	needs := []Need{"a", "b", "c"}
	for range 200 {
		var l Line
		there, has := map[Need]bool{}, map[Need]*Waiter{}
		var waits []*Waiter
		for step := range 300 {
			switch random.IntN(4) {
			case 0:
				w := &Waiter{Name: strconv.Itoa(step)}
				for _, n := range needs {
					if random.IntN(3) == 0 {
						w.Needs = append(w.Needs, n)
					}
				}
				if random.IntN(2) == 0 {
					w.Takes = needs[random.IntN(2)]
				}
				l.Add(begin, w)
				waits = append(waits, w)
			case 1:
				n := needs[random.IntN(3)]
				there[n] = !there[n]
			case 2:
				if len(waits) > 0 && random.IntN(3) == 0 {
					i := random.IntN(len(waits))
					l.Leave(waits[i])
					waits = slices.Delete(waits, i, i+1)
				}
				for n, w := range has {
					l.Leave(w)
					delete(has, n)
					break
				}
			}
			for w := l.Next(func(n Need) bool { return there[n] }); w != nil; w = l.Next(func(n Need) bool { return there[n] }) {
				i := slices.Index(waits, w)
				require.GreaterOrEqual(t, i, 0)
				for _, n := range w.Needs {
					require.True(t, there[n])
				}
				if w.Takes != "" {
					require.Nil(t, has[w.Takes])
					require.False(t, slices.ContainsFunc(waits[:i], func(before *Waiter) bool { return before.Takes == w.Takes }))
					has[w.Takes] = w
				}
				waits = slices.Delete(waits, i, i+1)
			}
			require.Len(t, l.Tell(begin, func(n Need) bool { return there[n] }), len(waits)+len(has))
			for _, n := range needs[:2] {
				waited := slices.ContainsFunc(waits, func(w *Waiter) bool { return w.Takes == n })
				require.Equal(t, waited || has[n] != nil, l.Wanted(n))
			}
			for _, w := range waits {
				all := !slices.ContainsFunc(w.Needs, func(n Need) bool { return !there[n] })
				require.False(t, all && w.Takes == "", "it could go")
			}
		}
	}
}
