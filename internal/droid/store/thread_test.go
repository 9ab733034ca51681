package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// compaction is the line that a compacted session begins with, made n seconds after
// sometime.
func compaction(id string, n int) string {
	return fields{"type": "compaction_state", "id": id, "timestamp": sometime.Add(time.Duration(n) * time.Second).Format(time.RFC3339Nano),
		"summaryText": "A summary", "summaryTokens": 4, "summaryKind": "llm_summary", "removedCount": 5}.line()
}

// compacted writes a session that droid 0.225 made by compacting its parent, at n
// seconds after sometime.
func (s testStore) compacted(id, parent, cwd string, n int) string {
	s.t.Helper()
	content := start225(id, cwd, placeholder, fields{"parent": parent}) + compaction("summary-"+id, n)
	return s.write(project(cwd), id+transcript, content, sometime.Add(time.Duration(n)*time.Second))
}

// The list shows a thread once, under the id that it began with, with the title, time
// and directory of the newest session, however the pages are cut.
func TestListOfThreads(t *testing.T) {
	s := newStore(t)
	w := abs("/w")
	s.session("root", w, 1)
	s.session("middle", w, 2)
	s.session("newest", abs("/elsewhere"), 9)
	s.session("before", w, 11) // the thread was there, and was used in droid since
	s.session("single", w, 5)
	s.session("after", w, 7)
	s.goesOn("root", "middle", 2)
	s.goesOn("middle", "newest", 3)
	s.goesOn("before", "after", 4)
	for _, limit := range []int{1, 2, 3, 0} {
		list := s.list("", limit)
		require.Equal(t, []string{"root", "before", "single"}, ids(list), "limit %d", limit)
		require.Equal(t, "Title of middle", list[0].Title, "nobody named the newest one")
		require.Equal(t, abs("/elsewhere"), list[0].CWD)
		require.True(t, sometime.Add(9*time.Second).Equal(list[0].UpdatedAt))
	}
	require.Equal(t, []string{"before", "single"}, ids(s.list(w, 0)))
	require.Equal(t, []string{"root"}, ids(s.list(abs("/elsewhere"), 1)))

	s.goesOn("middle", "middle", 12) // it stays there after all
	require.Equal(t, []string{"newest", "before", "single", "root"}, ids(s.list("", 0)))
}

// A thread that went on in a session without a word is listed, by its title.
func TestListOfAThreadWithoutAWord(t *testing.T) {
	s := newStore(t)
	w := abs("/w")
	s.session("a", w, 1)
	s.write(project(w), "b"+transcript, start225("b", w, placeholder, fields{"parent": "a", "forkedAtMessageId": "m"}), sometime)
	require.Equal(t, []string{"a"}, ids(s.list("", 0)))
	s.goesOn("a", "b", 1)
	list := s.list("", 0)
	require.Equal(t, []string{"a"}, ids(list))
	require.Equal(t, "Title of a", list[0].Title)
}

// A thread keeps its title until the user or a model names its newest session.
func TestTitleOfAThread(t *testing.T) {
	s := newStore(t)
	w := abs("/w")
	s.session("a", w, 1)
	s.session("b", w, 2)
	s.session("c", w, 3)
	require.Equal(t, "Work on a", s.Title("a"))
	require.Empty(t, s.Title("unknown"))
	s.goesOn("a", "b", 1)
	s.goesOn("b", "c", 2)
	require.Equal(t, "Title of b", s.Title("c"))
	s.write(project(w), "c"+transcript, start225("c", w, "Given", fields{"isSessionTitleManuallySet": true})+turn225("x"), sometime)
	require.Equal(t, "Given", s.Title("c"))
	require.Equal(t, "Given", s.list("", 0)[0].Title)
}

// The newest session is gone: the thread is where it was before.
func TestThreadWhoseEndIsGone(t *testing.T) {
	s := newStore(t)
	s.session("a", abs("/w"), 1)
	path := s.session("b", abs("/w"), 2)
	s.goesOn("a", "b", 1)
	s.goesOn("b", "c", 2)
	require.Equal(t, []string{"a", "b"}, s.Thread("a"))
	require.Equal(t, []string{"a"}, ids(s.list("", 0)))
	require.NoError(t, os.Remove(path))
	require.Equal(t, []string{"a"}, s.Thread("a"))
	require.Equal(t, []string{"a"}, ids(s.list("", 0)))
	require.Equal(t, []string{"a", "b", "c"}, s.Thread("b"), "none of these is there: droid will say so")

	// The one that it began with is gone: an editor knows the thread by it.
	s.session("c", abs("/w"), 3)
	require.NoError(t, s.Delete("a"))
	require.Equal(t, []string{"a", "b", "c"}, s.Thread("a"))
	require.Equal(t, []string{"a"}, ids(s.list("", 0)))
}

// A compaction in droid's own UI is found in droid's files.
func TestCompactedByDroid(t *testing.T) {
	s := newStore(t)
	w := abs("/w")
	s.session("a", w, 1)
	s.compacted("b", "a", w, 2)
	require.Equal(t, []string{"a", "b"}, s.Thread("a"))
	require.Equal(t, []string{"a", "b"}, s.Thread("b"))
	s.compacted("c", "b", w, 3)
	require.Equal(t, []string{"a", "b", "c"}, s.Thread("b"))
	for _, limit := range []int{1, 0} {
		list := s.list(w, limit)
		require.Equal(t, []string{"a"}, ids(list))
		require.Equal(t, "Work on a", list[0].Title)
	}
	s.session("other", w, 4)
	require.Equal(t, []string{"other", "a"}, ids(s.list("", 1)), "on a later page, too")

	// Together with the links of this agent: the newest counts.
	s.session("d", w, 5)
	s.goesOn("c", "d", 5)
	require.Equal(t, []string{"a", "b", "c", "d"}, s.Thread("b"))
	require.Equal(t, []string{"a", "other"}, ids(s.list("", 0)))
	s.goesOn("b", "b", 6) // a compaction after which the thread stayed
	require.Equal(t, []string{"a", "b"}, s.Thread("a"))
	require.Equal(t, []string{"c", "d"}, s.Thread("d"))
	require.Equal(t, []string{"c", "other", "a"}, ids(s.list("", 0)))
}

// A user who continues the old conversation in droid's UI has two threads.
func TestCompactedAndUsedAgain(t *testing.T) {
	s := newStore(t)
	w := abs("/w")
	a := s.session("a", w, 1)
	s.compacted("b", "a", w, 2)
	later := sometime.Add(time.Minute)
	require.NoError(t, os.Chtimes(a, later, later))
	require.Equal(t, []string{"a"}, s.Thread("a"))
	require.Equal(t, []string{"b"}, s.Thread("b"))
	require.Equal(t, []string{"a", "b"}, ids(s.list("", 0)))
	evenLater := later.Add(time.Minute)
	require.NoError(t, os.Chtimes(filepath.Join(s.root, project(w), "b"+transcript), evenLater, evenLater))
	require.Equal(t, []string{"a"}, s.Thread("a"), "it stays so")
	require.Equal(t, []string{"b", "a"}, ids(s.list("", 0)))
}

// Forks, rewinds and subagents are not part of a thread, including those of a compacted session, which begin with its summary: 0.225
// records where they were forked, older versions do not.
func TestForksStayApart(t *testing.T) {
	s := newStore(t)
	w := abs("/w")
	s.session("a", w, 1)
	s.compacted("b", "a", w, 2)
	s.write(project(w), "fork225"+transcript, start225("fork225", w, "T", fields{"parent": "b", "forkedAtMessageId": "m"})+compaction("summary-b", 2)+turn225("x"), sometime.Add(4*time.Second))
	s.write(project(w), "forkOld"+transcript, start99("forkOld", w, "[Fork] T", fields{"parent": "b"})+compaction("summary-b", 2)+turn99("x"), sometime.Add(5*time.Second))
	s.write(project(w), "fork99"+transcript, start99("fork99", w, "[Fork] T", fields{"parent": "a"})+turn99("x"), sometime.Add(6*time.Second))
	empty := `{"forkedAtMessageId":null,` + start225("empty225", w, placeholder, fields{"parent": "b"})[1:]
	s.write(project(w), "empty225"+transcript, empty+compaction("summary-b", 2), sometime.Add(3*time.Second)) // of a session without a message
	require.Equal(t, []string{"a", "b"}, s.Thread("a"))
	for _, id := range []string{"empty225", "fork225", "forkOld", "fork99"} {
		require.Equal(t, []string{id}, s.Thread(id))
	}
	require.Equal(t, []string{"fork99", "forkOld", "fork225", "empty225", "a"}, ids(s.list("", 0)))
	require.NoError(t, s.Delete(s.Thread("a")...))
	require.Equal(t, []string{"fork99", "forkOld", "fork225", "empty225"}, ids(s.list("", 0)))

	// A compaction by an older version could be a fork as well.
	s.write(project(w), "cOld"+transcript, start99("cOld", w, placeholder, fields{"parent": "forkOld"})+compaction("summary-cOld", 7), sometime.Add(7*time.Second))
	require.Equal(t, []string{"forkOld"}, s.Thread("forkOld"))
	require.Equal(t, []string{"cOld", "fork99", "forkOld", "fork225", "empty225"}, ids(s.list("", 0)))
}

// Sessions that name each other as parents.
func TestParentsInACircle(t *testing.T) {
	s := newStore(t)
	w := abs("/w")
	s.compacted("a", "b", w, 1)
	s.compacted("b", "a", w, 1)
	s.compacted("c", "c", w, 1)
	for _, id := range []string{"a", "b", "c"} {
		require.Contains(t, s.Thread(id), id)
		require.LessOrEqual(t, len(s.Thread(id)), 2)
	}
	list := ids(s.list("", 0))
	slices.Sort(list)
	require.Equal(t, slices.Compact(slices.Clone(list)), list, "none twice")
}

// All files of the thread are in one directory of the trash, and are restored as a thread. If one session cannot be moved, none is.
func TestDeleteOfAThread(t *testing.T) {
	s := newStore(t)
	w := abs("/w")
	for i, id := range []string{"a", "b", "c"} {
		s.session(id, w, i)
		s.write(project(w), id+".settings.json", "{}", sometime)
		s.write(id+"/attachments", "f.txt", "attached", sometime)
	}
	s.session("other", w, 9)
	s.goesOn("a", "b", 1)
	s.goesOn("b", "c", 2)
	before := filesIn(t, s.root)

	release, err := s.MarkOpen("b")
	require.NoError(t, err)
	require.ErrorIs(t, s.Delete(s.Thread("a")...), ErrOpenElsewhere)
	require.Equal(t, before, filesIn(t, s.root))
	release()

	renamed := 0
	s.rename = func(from, to string) error {
		if renamed++; renamed == 4 {
			return os.ErrPermission
		}
		return os.Rename(from, to)
	}
	require.Error(t, s.Delete(s.Thread("a")...))
	require.Equal(t, before, filesIn(t, s.root), "none was moved")
	require.Empty(t, s.bins())
	s.rename = os.Rename

	require.NoError(t, s.Delete(s.Thread("c")...))
	require.Equal(t, []string{"other"}, ids(s.list("", 0)))
	require.Len(t, s.bins(), 1)
	require.Len(t, filesIn(t, s.bins()[0]), len(before)-1)
	require.NoError(t, os.CopyFS(s.root, os.DirFS(s.bins()[0])))
	require.Equal(t, []string{"a", "b", "c"}, s.Thread("a"))
	list := ids(s.list("", 0))
	require.ElementsMatch(t, []string{"other", "a"}, list)
}

// TestRandomThreads: however links, compactions and missing files mix, each file is in
// exactly one place of the list, and each listed id leads to the session that it shows.
func TestRandomThreads(t *testing.T) {
	for seed := range 60 {
		s := newStore(t)
		random := newRandom(uint64(seed))
		w := abs("/w")
		name := func() string { return string(rune('a' + random.IntN(7))) }
		for i := range 7 {
			id := string(rune('a' + i))
			switch random.IntN(4) {
			case 0: // not there
			case 1:
				s.compacted(id, name(), w, random.IntN(20))
			default:
				s.session(id, w, random.IntN(20))
			}
		}
		for i := range random.IntN(8) {
			require.NoError(t, s.Link(Link{From: name(), To: name(), Kind: LinkRewind, Time: sometime.Add(time.Duration(random.IntN(20)+i) * time.Second)}))
		}
		whole := s.list("", 0)
		list := ids(whole)
		require.Equal(t, list, ids(s.list("", 1)), "seed %d: pages", seed)
		slices.Sort(list)
		require.Equal(t, slices.Compact(slices.Clone(list)), list, "seed %d: none twice", seed)
		for _, one := range whole {
			thread := s.Thread(one.ID)
			shown, err := s.Find(thread[len(thread)-1])
			require.NoError(t, err, "seed %d", seed)
			require.True(t, shown.UpdatedAt.Equal(one.UpdatedAt), fmt.Sprintf("seed %d: %s leads to %v, which is not what is shown", seed, one.ID, thread))
		}
	}
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }
