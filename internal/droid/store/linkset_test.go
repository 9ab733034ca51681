package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func link(from, to string) Link {
	return Link{From: from, To: to, Kind: LinkRewind, Time: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}
}

func set(t *testing.T, list ...Link) *linkSet {
	t.Helper()
	var file []byte
	for _, l := range list {
		line, err := l.Line()
		require.NoError(t, err)
		file = append(file, line...)
	}
	return parseLinks(file)
}

// pathOf is the session and those in which its thread went on after it, in their order.
func pathOf(s *linkSet, id string) []string {
	path := []string{id}
	for range maxLinks {
		l, ok := s.Next(id)
		if !ok {
			break
		}
		id = l.To
		path = append(path, id)
	}
	return path
}

func TestPath(t *testing.T) {
	s := set(t, link("a", "b"), link("b", "c"), link("x", "y"))
	require.Equal(t, []string{"a", "b", "c"}, pathOf(s, "a"))
	require.Equal(t, []string{"c"}, pathOf(s, "c"))
	require.Equal(t, []string{"unknown"}, pathOf(s, "unknown"))
	before, ok := s.Before("c")
	require.True(t, ok)
	require.Equal(t, "b", before.From)
	_, ok = s.Before("a")
	require.False(t, ok)
}

func TestNewestWins(t *testing.T) {
	s := set(t, link("a", "b"), link("a", "c"))
	require.Equal(t, []string{"a", "c"}, pathOf(s, "a"))
	_, ok := s.Before("b")
	require.False(t, ok, "b is a thread of its own")

	s = set(t, link("a", "b"), link("a", "a"))
	require.Equal(t, []string{"a"}, pathOf(s, "a"), "it stays where it is")
	l, ok := s.Last("a")
	require.True(t, ok)
	require.Equal(t, "a", l.To)
	_, ok = s.Before("b")
	require.False(t, ok)
	_, ok = s.Before("a")
	require.False(t, ok)
}

func TestCircles(t *testing.T) {
	require.Equal(t, []string{"b", "a"}, pathOf(set(t, link("a", "b"), link("b", "a")), "b"))
	s := set(t, link("a", "b"), link("b", "c"), link("c", "a"))
	require.Equal(t, []string{"b", "c", "a"}, pathOf(s, "b"))
	require.Equal(t, []string{"a"}, pathOf(s, "a"))
	_, ok := s.Before("b")
	require.False(t, ok, "the thread begins there")
}

// Two sessions that lead to a third: the thread began with the one that was first.
func TestTwoLeadToOne(t *testing.T) {
	s := set(t, link("a", "c"), link("b", "c"))
	require.Equal(t, []string{"b", "c"}, pathOf(s, "b"))
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
		`{"from":"b","to":"c","time":"yesterday"}` + "\n" + `{"from":"b","to":"c","title":"` + strings.Repeat("x", maxLinkLine) + `"}` + "\n" +
		`{"from":"b","to":"d","kind":"of another version","more":1}` + "\n" + good("d", "e") + strings.TrimSuffix(good("e", "f"), "}\n")
	require.Equal(t, []string{"a", "b", "d", "e"}, pathOf(parseLinks([]byte(file)), "a"))
	require.Empty(t, parseLinks(nil).last)
}

func TestLine(t *testing.T) {
	l := Link{From: "a", To: "b", Kind: LinkCompact, Time: time.Now(), Title: "One\nline \x1b[2J"}
	line, err := l.Line()
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(line), "\n"))
	require.NotContains(t, string(line), `\u001b`)
	l.Title = strings.Repeat("long ", 1000)
	line, err = l.Line()
	require.NoError(t, err)
	require.Less(t, len(line), maxLinkLine)
	for _, bad := range []Link{{From: "a"}, {To: "b"}, {From: "../a", To: "b"}, {From: "a", To: "b\n"}} {
		_, err = bad.Line()
		require.Error(t, err)
	}
}

// Keep omits links that lead to no session and those that were replaced, and the oldest ones above the limit.
func TestKeep(t *testing.T) {
	s := set(t, link("a", "b"), link("b", "c"), link("x", "y"), link("p", "q"), link("p", "r"))
	there := map[string]bool{"c": true, "q": true, "r": true}
	exists := func(id string) bool { return there[id] }
	kept := s.Keep(exists, 1<<20)
	require.Equal(t, 3, strings.Count(string(kept), "\n"))
	again := parseLinks(kept)
	require.Equal(t, []string{"a", "b", "c"}, pathOf(again, "a"), "also over a session that is gone")
	require.Equal(t, []string{"p", "r"}, pathOf(again, "p"))
	require.Equal(t, []string{"x"}, pathOf(again, "x"))

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

// The value of this program's option comes from the thread's newest session that has one. Its line does not affect where a thread
// continues.
func TestFollowUpOfAThread(t *testing.T) {
	steer := func(id, value string) Link { return Link{From: id, To: id, Kind: LinkOptions, FollowUp: value} }
	s := set(t, steer("a", "queue"), link("a", "b"), steer("a", "steer"), link("b", "c"), steer("x", "steer"))
	require.Equal(t, []string{"a", "b", "c"}, pathOf(s, "a"))
	require.Equal(t, "steer", s.FollowUp([]string{"a", "b", "c"}))
	require.Empty(t, s.FollowUp([]string{"b", "c"}))
	kept := parseLinks(s.Keep(func(id string) bool { return id == "c" }, 1<<20))
	require.Equal(t, "steer", kept.FollowUp([]string{"a", "b", "c"}))
	require.Empty(t, kept.FollowUp([]string{"x"}), "that session is gone")
}

// Fields that a newer version writes into a line survive when this one rewrites the file.
func TestUnknownFieldsAreKept(t *testing.T) {
	file := `{"from":"a","to":"b","kind":"compact","time":"2026-11-22T04:00:00Z","later":[1]}` + "\n" +
		`{"from":"b","to":"b","kind":"options","time":"2026-11-22T05:00:00Z","followUp":"steer","later":{"x":1}}`
	require.Equal(t, file+"\n", string(parseLinks([]byte(file)).Keep(func(string) bool { return true }, 1<<20)))
}

// TestRandomLinks checks that, whatever the lines are, no path is a cycle, the newest link of a session applies unless a later one leads
// back to that session, and the part of the file that is kept means the same.
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
			path := pathOf(s, string(id))
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
			path := pathOf(s, newest.From)
			require.Contains(t, path, newest.To, "seed %d", seed)
			if newest.To != newest.From {
				require.Equal(t, newest.To, path[1], "seed %d", seed)
			}
		}
	}
}

// A path that would be too long is cut where the new link leads to.
func TestLongPath(t *testing.T) {
	s := newLinkSet()
	for i := range 3 * maxLinks { // each at the beginning of the path
		s.add(link(fmt.Sprint(i+1), fmt.Sprint(i)), nil)
	}
	for i := range 3 * maxLinks {
		_, ok := s.Last(fmt.Sprint(i + 1))
		require.Equal(t, (i+1)%maxLinks != 0 || i+1 == 3*maxLinks, ok, i+1)
	}
}

// hostile are forged files, of about n lines each.
func hostile(n int) map[string]*strings.Builder {
	all := map[string]*strings.Builder{}
	add := func(name string, from, to any) {
		if all[name] == nil {
			all[name] = new(strings.Builder)
		}
		fmt.Fprintf(all[name], "{\"from\":\"%v\",\"to\":\"%v\"}\n", from, to)
	}
	for i := range n {
		add("one path, from its end", i+1, i)
		add("one path, from its beginning", i, i+1)
		add("all to one", i, "x")
		add("to one and away again", i/2, []string{"x", "y"}[i%2])
		switch near := maxLinks - 2; {
		case i < near:
			add("to and fro at a long path's ends", i+1, i)
		default:
			add("to and fro at a long path's ends", fmt.Sprint("z", i%7), near-i%2)
		}
	}
	return all
}

// TestWorkGrowsWithTheFile checks that each session is looked up at most twice, whatever the links.
func TestWorkGrowsWithTheFile(t *testing.T) {
	for name, file := range hostile(10_000) {
		s := parseLinks([]byte(file.String()))
		looked := 0
		s.Keep(func(string) bool { looked++; return false }, 1<<20)
		require.LessOrEqual(t, looked, 2*s.lines, name)
		require.Equal(t, 10_000, s.lines, name)
	}
}

func FuzzParse(f *testing.F) {
	line, _ := link("a", "b").Line()
	f.Add(line)
	f.Add([]byte(`{"from":"b","to":"a"}` + "\n" + `{"from":"a","to":"b"}`))
	f.Add([]byte("{}\n\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := parseLinks(data)
		kept := s.Keep(func(string) bool { return true }, 1<<20)
		again := parseLinks(kept)
		for from := range s.last {
			path := pathOf(s, from)
			seen := map[string]bool{}
			for _, id := range path {
				if seen[id] {
					t.Fatalf("%q goes round: %q", data, path)
				}
				seen[id] = true
			}
			if got := pathOf(again, from); len(data) < 1<<16 && strings.Join(got, " ") != strings.Join(path, " ") {
				t.Fatalf("%q: kept %q, want %q", data, got, path)
			}
		}
	})
}
