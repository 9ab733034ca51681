package store

import (
	"fmt"
	"os"
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
				if err != nil {
					b.Fatal(err)
				}
				if want := map[bool]int{true: 0, false: DefaultLimit}[strings.HasSuffix(q.CWD, "none")]; len(page.Sessions) != want {
					b.Fatalf("%d sessions", len(page.Sessions))
				}
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N)/benchSessions*1000, "ms/1000files")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/benchSessions, "B/file")
		})
	}
	b.Run("all pages of 1000", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for q := (Query{Limit: 1000}); ; {
				page, err := s.List(b.Context(), q)
				if err != nil {
					b.Fatal(err)
				}
				n += len(page.Sessions)
				if q.Cursor = page.NextCursor; q.Cursor == "" {
					break
				}
			}
			if n != benchSessions/100*99 {
				b.Fatalf("%d sessions", n)
			}
		}
	})
}
