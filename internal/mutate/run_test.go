package mutate

import (
	"context"
	"errors"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// find returns the mutant of tiny that makes after of before.
func find(t *testing.T, fn string, before, after string) Mutant {
	t.Helper()
	for _, m := range Mutants(load(t), 1) {
		if m.Func == fn && m.Before == before && m.After == after {
			return m
		}
	}
	t.Fatalf("no mutant makes %q of %q", after, before)
	return Mutant{}
}

// TestBench runs the tests of tiny with mutants of each fate.
func TestBench(t *testing.T) {
	b, err := newBench(t.Context(), Config{Package: "./testdata/tiny"}, load(t), t.TempDir())
	require.NoError(t, err)
	b.suites[0].limit = time.Second
	broken := find(t, "Larger", "return a", "return 0")
	broken.text = "}"
	for _, test := range []struct {
		mutant Mutant
		want   Fate
	}{
		{find(t, "Larger", "if a > b {", "if !(a > b) {"), Killed},
		{find(t, "Larger", "if a > b {", "if a >= b {"), Survived},
		{find(t, "Sum", "n--", ""), Hung},
		{broken, Uncompiled},
	} {
		src, err := os.ReadFile(test.mutant.file.path)
		require.NoError(t, err)
		fate, err := b.try(t.Context(), "0", test.mutant)
		require.NoError(t, err)
		require.Equal(t, test.want.String(), fate.String(), test.mutant.After)
		now, err := os.ReadFile(test.mutant.file.path)
		require.NoError(t, err)
		require.Equal(t, string(src), string(now))
	}
}

// TestBench_Also: tests of another package notice what those of tiny do not.
func TestBench_Also(t *testing.T) {
	c := Config{Package: "./testdata/tiny", Also: []Tests{{Package: "./testdata/also", Run: "Untested"}}}
	b, err := newBench(t.Context(), c, load(t), t.TempDir())
	require.NoError(t, err)
	fate, err := b.try(t.Context(), "0", find(t, "Untested", `func Untested() string { return "x" }`, `func Untested() string { return "" }`))
	require.NoError(t, err)
	require.Equal(t, Killed, fate)

	c.Also[0].Run = ""
	_, err = newBench(t.Context(), c, load(t), t.TempDir())
	require.ErrorContains(t, err, "the tests of ./testdata/also fail without any change")
	require.ErrorContains(t, err, "always")
}

// TestRun goes all the way with a few mutants.
func TestRun(t *testing.T) {
	var done []Result
	gone := Accepted{Key{"internal/mutate/testdata/tiny", "tiny.go", "Larger", Drop, "return c", "return 0"}, "It is no more."}
	elsewhere := Accepted{Key{"internal/elsewhere", "tiny.go", "Larger", Drop, "return c", "return 0"}, "It is not looked at."}
	report, err := Run(t.Context(), Config{
		Package: "./testdata/tiny", Seed: 1, Count: 3, Workers: 2, Accepted: []Accepted{gone, elsewhere},
		Done: func(r Result) { done = append(done, r) },
	})
	require.NoError(t, err)
	require.Equal(t, "internal/mutate/testdata/tiny", report.Folder)
	require.ElementsMatch(t, done, report.Results)
	require.Len(t, report.Results, 3)
	require.Equal(t, []Accepted{gone}, report.Stale)
	for i, m := range Mutants(load(t), 1)[:3] {
		require.Equal(t, m, report.Results[i].Mutant)
	}
}

// TestRun_Only tests the one mutant that is asked for, and calls no entry stale.
func TestRun_Only(t *testing.T) {
	report, err := Run(t.Context(), Config{
		Package: "./testdata/tiny", Workers: 1, Only: regexp.MustCompile(`tiny.go Untested constant: .*"x".* → .*""`),
		Accepted: []Accepted{{Key{Package: "internal/mutate/testdata/tiny"}, "It is no more."}},
	})
	require.NoError(t, err)
	require.Len(t, report.Survivors(), 1)
	require.Len(t, report.Results, 1)
	require.Empty(t, report.Stale)
}

// fakeRun tests mutants 0 to 9, of which the even ones do not compile, those that 3
// divides survive, and each takes another time.
func fakeRun(c Config) *run {
	r := &run{config: c, mutants: make([]Mutant, 10), results: make([]*Result, 10)}
	for i := range r.mutants {
		r.mutants[i].Line = i
		r.mutants[i].Func = string(rune('a' + i))
	}
	r.try = func(_ context.Context, _ string, m Mutant) (Fate, error) {
		time.Sleep(time.Duration(m.Line*7%10) * time.Second) // in a bubble
		switch {
		case m.Line%2 == 0:
			return Uncompiled, nil
		case m.Line%3 == 0:
			return Survived, nil
		}
		return Killed, nil
	}
	return r
}

// The same mutants are tested however many work on them, and those that do not
// compile are replaced.
func TestRun_Choice(t *testing.T) {
	for workers := 1; workers < 6; workers++ {
		for count, want := range map[int][]int{1: {0, 1}, 3: {0, 1, 2, 3, 4, 5}, 5: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 0: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
			synctest.Test(t, func(t *testing.T) {
				r := fakeRun(Config{Workers: workers, Count: count})
				require.NoError(t, r.all(t.Context()))
				var tested []int
				for i, result := range r.results {
					if result != nil {
						tested = append(tested, i)
					}
				}
				require.Equal(t, want, tested)
			})
		}
	}
}

func TestRun_Fails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fakeRun(Config{Workers: 3})
		bad := errors.New("the disk is full")
		r.try = func(context.Context, string, Mutant) (Fate, error) { return 0, bad }
		require.ErrorIs(t, r.all(t.Context()), bad)
	})
}

func TestRun_Accepted(t *testing.T) {
	entry := func(fn string) Accepted { return Accepted{Key: Key{Func: fn}, Reason: "because of " + fn} }
	survives, killed, untested, unknown := entry("d"), entry("f"), entry("h"), entry("z")
	synctest.Test(t, func(t *testing.T) {
		r := fakeRun(Config{Workers: 2, Count: 3, Accepted: []Accepted{survives, killed, untested, unknown}})
		require.NoError(t, r.all(t.Context()))
		require.Equal(t, "because of d", r.results[3].Reason)
		require.Empty(t, r.results[5].Reason)
		require.Equal(t, []Accepted{killed, unknown}, stale("", r.config.Accepted, r.mutants, r.results))
		require.Empty(t, stale("elsewhere", r.config.Accepted, r.mutants, r.results))
	})
}
