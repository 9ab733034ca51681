package links

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func link(from, to string) Link {
	return Link{From: from, To: to, Kind: Rewind, Time: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}
}

func set(t *testing.T, list ...Link) *Set {
	t.Helper()
	var file []byte
	for _, l := range list {
		line, err := l.Line()
		require.NoError(t, err)
		file = append(file, line...)
	}
	return Parse(file)
}

func TestPath(t *testing.T) {
	s := set(t, link("a", "b"), link("b", "c"), link("x", "y"))
	require.Equal(t, []string{"a", "b", "c"}, s.Path("a"))
	require.Equal(t, []string{"c"}, s.Path("c"))
	require.Equal(t, []string{"unknown"}, s.Path("unknown"))
	before, ok := s.Before("c")
	require.True(t, ok)
	require.Equal(t, "b", before.From)
	_, ok = s.Before("a")
	require.False(t, ok)
}

func TestNewestWins(t *testing.T) {
	s := set(t, link("a", "b"), link("a", "c"))
	require.Equal(t, []string{"a", "c"}, s.Path("a"))
	_, ok := s.Before("b")
	require.False(t, ok, "b is a thread of its own")

	s = set(t, link("a", "b"), link("a", "a"))
	require.Equal(t, []string{"a"}, s.Path("a"), "it stays where it is")
	l, ok := s.Last("a")
	require.True(t, ok)
	require.Equal(t, "a", l.To)
	_, ok = s.Before("b")
	require.False(t, ok)
	_, ok = s.Before("a")
	require.False(t, ok)
}

func TestCircles(t *testing.T) {
	require.Equal(t, []string{"b", "a"}, set(t, link("a", "b"), link("b", "a")).Path("b"))
	s := set(t, link("a", "b"), link("b", "c"), link("c", "a"))
	require.Equal(t, []string{"b", "c", "a"}, s.Path("b"))
	require.Equal(t, []string{"a"}, s.Path("a"))
	_, ok := s.Before("b")
	require.False(t, ok, "the thread begins there")
}

// Two sessions that lead to a third: the thread began with the one that was first.
func TestTwoLeadToOne(t *testing.T) {
	s := set(t, link("a", "c"), link("b", "c"))
	require.Equal(t, []string{"b", "c"}, s.Path("b"))
	before, _ := s.Before("c")
	require.Equal(t, "a", before.From)
}

func TestDamagedLines(t *testing.T) {
	good := func(from, to string) string {
		line, err := link(from, to).Line()
		require.NoError(t, err)
		return string(line)
	}
	file := "\n\x00\xff\n{\n[]\nnull\n\"x\"\n" + good("a", "b") + `{"from":"b","to":"../c"}` + "\n" + `{"from":"b"}` + "\n" +
		`{"from":"b","to":"c","time":"yesterday"}` + "\n" + `{"from":"b","to":"c","title":"` + strings.Repeat("x", MaxLine) + `"}` + "\n" +
		`{"from":"b","to":"d","kind":"of another version","more":1}` + "\n" + good("d", "e") + strings.TrimSuffix(good("e", "f"), "}\n")
	require.Equal(t, []string{"a", "b", "d", "e"}, Parse([]byte(file)).Path("a"))
	require.Zero(t, Parse(nil).Len())
}

func TestLine(t *testing.T) {
	l := Link{From: "a", To: "b", Kind: Compact, Time: time.Now(), Title: "One\nline \x1b[2J"}
	line, err := l.Line()
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(line), "\n"))
	require.NotContains(t, string(line), `\u001b`)
	l.Title = strings.Repeat("long ", 1000)
	line, err = l.Line()
	require.NoError(t, err)
	require.Less(t, len(line), MaxLine)
	for _, bad := range []Link{{From: "a"}, {To: "b"}, {From: "../a", To: "b"}, {From: "a", To: "b\n"}} {
		_, err = bad.Line()
		require.Error(t, err)
	}
}

// Keep leaves out what leads to no session and what was replaced, and the oldest of
// what is too much.
func TestKeep(t *testing.T) {
	s := set(t, link("a", "b"), link("b", "c"), link("x", "y"), link("p", "q"), link("p", "r"))
	there := map[string]bool{"c": true, "q": true, "r": true}
	exists := func(id string) bool { return there[id] }
	kept := s.Keep(exists, 1<<20)
	require.Equal(t, 3, strings.Count(string(kept), "\n"))
	again := Parse(kept)
	require.Equal(t, []string{"a", "b", "c"}, again.Path("a"), "also over a session that is gone")
	require.Equal(t, []string{"p", "r"}, again.Path("p"))
	require.Equal(t, []string{"x"}, again.Path("x"))

	var many []Link
	for i := range 100 {
		l := link(fmt.Sprint("from", i), "c")
		l.Time = l.Time.Add(time.Duration(i) * time.Second)
		many = append(many, l)
	}
	kept = set(t, many...).Keep(exists, 1000)
	require.LessOrEqual(t, len(kept), 1000)
	require.Greater(t, len(kept), 800)
	require.Contains(t, string(kept), `"from99"`)
	require.NotContains(t, string(kept), `"from0"`)
}

// TestRandomLinks: whatever the lines are, no path goes round, the newest link of a
// session is the one that counts unless a later one goes back to that session, and
// what is kept of the file means the same.
func TestRandomLinks(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		name := func() string { return string(rune('a' + random.IntN(8))) }
		var list []Link
		for range random.IntN(30) {
			list = append(list, link(name(), name()))
		}
		s := set(t, list...)
		for id := 'a'; id < 'i'; id++ {
			seen := map[string]bool{}
			path := s.Path(string(id))
			for i, at := range path {
				require.False(t, seen[at], "seed %d: %v goes round", seed, path)
				seen[at] = true
				if i > 0 {
					before, ok := s.Before(at)
					require.True(t, ok, "seed %d", seed)
					l, ok := s.Next(before.From)
					require.True(t, ok, "seed %d", seed)
					require.Equal(t, at, l.To, "seed %d: one leads to it that does not count", seed)
				}
			}
		}
		if n := len(list); n > 0 {
			newest := list[n-1]
			path := s.Path(newest.From)
			require.Contains(t, path, newest.To, "seed %d", seed)
			if newest.To != newest.From {
				require.Equal(t, newest.To, path[1], "seed %d", seed)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	line, _ := link("a", "b").Line()
	f.Add(line)
	f.Add([]byte(`{"from":"b","to":"a"}` + "\n" + `{"from":"a","to":"b"}`))
	f.Add([]byte("{}\n\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := Parse(data)
		kept := s.Keep(func(string) bool { return true }, 1<<20)
		again := Parse(kept)
		for from := range s.last {
			path := s.Path(from)
			seen := map[string]bool{}
			for _, id := range path {
				if seen[id] {
					t.Fatalf("%q goes round: %q", data, path)
				}
				seen[id] = true
			}
			if got := again.Path(from); len(data) < 1<<16 && strings.Join(got, " ") != strings.Join(path, " ") {
				t.Fatalf("%q: kept %q, want %q", data, got, path)
			}
		}
	})
}
