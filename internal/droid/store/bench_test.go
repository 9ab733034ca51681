package store

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// benchSessions is how many sessions the benchmark lists; 1% are damaged.
const benchSessions = 10_000

// fillStore makes sessions of 40 projects, of the sizes that conversations
// have: most 12 to 60 kB, every hundredth 1 MB.
func fillStore(b *testing.B) *Store {
	b.Helper()
	root := filepath.Join(b.TempDir(), "sessions")
	more := message("assistant", text(strings.Repeat("word ", 400)), "")
	for i := range benchSessions {
		cwd := fmt.Sprintf("/home/me/projects/p%d", i%40)
		prompt := fmt.Sprintf("Change number %d\nplease", i)
		content := start225(uuidLike(i), cwd, autoTitle(prompt), nil) + turn225(prompt) + strings.Repeat(more, i%24)
		switch {
		case i%100 == 99:
			content = content[:150]
		case i%100 == 50:
			content += strings.Repeat(more, 500)
		}
		dir := filepath.Join(root, project(cwd))
		if i < 40 {
			require.NoError(b, os.MkdirAll(dir, 0o700))
		}
		path := filepath.Join(dir, uuidLike(i)+transcript)
		require.NoError(b, os.WriteFile(path, []byte(content), 0o600))
		require.NoError(b, os.WriteFile(filepath.Join(dir, uuidLike(i)+".settings.json"), []byte("{}"), 0o600))
		at := sometime.Add(time.Duration(i*7919%benchSessions) * time.Second)
		require.NoError(b, os.Chtimes(path, at, at))
	}
	return New(root, zap.NewNop())
}

// dropCaches empties the kernel's cache of files, which takes root on Linux.
func dropCaches(b *testing.B) {
	b.Helper()
	if out, err := exec.Command("sync").CombinedOutput(); err != nil {
		b.Skipf("sync: %v %s", err, out)
	}
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0o200); err != nil {
		b.Skip("the cache of files cannot be dropped here: ", err)
	}
}

// BenchmarkList lists a store of 10,000 sessions. A new store has no memory of
// an earlier list, so that every round is the first; the kernel's cache is warm
// unless it is dropped from outside.
func BenchmarkList(b *testing.B) {
	s := fillStore(b)
	queries := map[string]Query{
		"first page":                  {},
		"first page of a project":     {CWD: "/home/me/projects/p7"},
		"a project without a session": {CWD: "/home/me/projects/none"},
	}
	for name, q := range queries {
		b.Run(name, func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				page, err := s.List(b.Context(), q)
				require.NoError(b, err)
				require.Len(b, page.Sessions, map[bool]int{true: 0, false: DefaultLimit}[strings.HasSuffix(q.CWD, "none")])
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N)/benchSessions*1000, "ms/1000files")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/benchSessions, "B/file")
		})
	}
	for name, q := range queries {
		b.Run("cold, "+name, func(b *testing.B) {
			var cold time.Duration
			n := 0
			for b.Loop() {
				dropCaches(b)
				began := time.Now()
				_, err := s.List(b.Context(), q)
				require.NoError(b, err)
				cold += time.Since(began)
				n++
			}
			b.ReportMetric(float64(cold.Microseconds())/1000/float64(n)/benchSessions*1000, "ms/1000files")
		})
	}
	b.Run("all pages of 1000", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for q := (Query{Limit: 1000}); ; {
				page, err := s.List(b.Context(), q)
				require.NoError(b, err)
				n += len(page.Sessions)
				if q.Cursor = page.NextCursor; q.Cursor == "" {
					break
				}
			}
			require.Equal(b, benchSessions/100*99, n)
		}
	})
}

// hostileLinks is a file of links of 1 MB that somebody made: a path of links from each of n
// sessions of the store, of which most lead to sessions that are not there.
func hostileLinks(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		from, to := fmt.Sprint("g", i), fmt.Sprint("g", i+1)
		if i%1000 < n/20 { // 20 paths, each of which n/20 sessions lead to
			fmt.Fprintf(&b, "{\"from\":%q,\"to\":%q}\n", uuidLike(i%1000+i/1000%20*(n/20)), fmt.Sprint("g", i/1000*1000))
		}
		fmt.Fprintf(&b, "{\"from\":%q,\"to\":%q}\n", from, to)
	}
	return b.String()
}

// BenchmarkListWithHostileLinks lists a page behind such a file.
func BenchmarkListWithHostileLinks(b *testing.B) {
	s := fillStore(b)
	require.NoError(b, os.WriteFile(s.linksPath(), []byte(hostileLinks(benchSessions)), 0o600))
	for b.Loop() {
		_, err := s.List(b.Context(), Query{Limit: benchSessions})
		require.NoError(b, err)
	}
}

// TestWorkOfAListGrowsWithTheFiles counts the steps along links: a few for each line and session.
func TestWorkOfAListGrowsWithTheFiles(t *testing.T) {
	const sessions = 2000
	file := hostileLinks(sessions)
	dir := t.TempDir()
	var all []candidate
	for i := range sessions {
		all = append(all, candidate{dir: directory{path: dir}, id: uuidLike(i), updated: sometime.Add(-time.Duration(i) * time.Second)})
	}
	l := threads{newFamily(parseLinks([]byte(file)), all), map[string]bool{}}
	for _, c := range all {
		l.heads[c.path()] = head{}
		l.place(c, head{})
	}
	require.Less(t, l.asked, 6*(strings.Count(file, "\n")+sessions))
}
