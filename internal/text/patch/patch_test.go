package patch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseAndApply(t *testing.T) {
	files, err := Parse(`*** Begin Patch
*** Update File: a.txt
@@
 line one
-line two
+line 2
 line three
@@ func later()
-old
+new
*** Add File: dir/new.txt
+hello
+
+there
*** Delete File: gone.txt
*** Update File: b.txt
*** Move to: c.txt
-x
+y
*** End of File
*** End Patch
`)
	require.NoError(t, err)
	require.Len(t, files, 4)
	got, err := files[0].Apply("line one\nline two\nline three\nold\nfunc later()\nold\n")
	require.NoError(t, err)
	require.Equal(t, "line one\nline 2\nline three\nold\nfunc later()\nnew\n", got, "the anchor keeps the first old")
	require.Equal(t, File{Op: Add, Path: "dir/new.txt", Text: "hello\n\nthere"}, files[1])
	require.Equal(t, File{Op: Delete, Path: "gone.txt"}, files[2])
	require.Equal(t, "c.txt", files[3].MoveTo)
	got, err = files[3].Apply("x\nx")
	require.NoError(t, err)
	require.Equal(t, "x\ny", got, "at the end of the file")
}

func TestApplyIsLenientAboutSpaceOnly(t *testing.T) {
	files, err := Parse("*** Begin Patch\n*** Update File: a\n-  two\n+2\n*** End Patch")
	require.NoError(t, err)
	got, err := files[0].Apply("one\n\ttwo  \n")
	require.NoError(t, err)
	require.Equal(t, "one\n2\n", got)
	_, err = files[0].Apply("one\nthree\n")
	require.Error(t, err)
}

func TestAppend(t *testing.T) {
	files, err := Parse("*** Begin Patch\n*** Update File: a\n@@\n+end\n*** End Patch")
	require.NoError(t, err)
	got, err := files[0].Apply("one\n")
	require.NoError(t, err)
	require.Equal(t, "one\nend\n", got)
}

// A part that removes every line of a file leaves none to look at.
func TestInsertAfterEveryLineIsRemoved(t *testing.T) {
	files, err := Parse("*** Begin Patch\n*** Update File: a\n@@\n-one\n@@\n+two\n*** End Patch")
	require.NoError(t, err)
	got, err := files[0].Apply("one")
	require.NoError(t, err)
	require.Equal(t, "two", got)
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "*** Begin Patch", "*** Begin Patch\n*** End Patch", "*** Begin Patch\nwhat\n*** End Patch",
		"*** Begin Patch\n*** Add File: a\nno plus\n*** End Patch", "*** Begin Patch\n*** Update File: a\n@@\n?\n*** End Patch",
	} {
		_, err := Parse(text)
		require.Error(t, err, text)
	}
}

func FuzzPatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n@@ x\n-b\n+c\n*** End of File\n*** End Patch", "a\nb\n")
	f.Add("*** Begin Patch\n*** Update File: a\n*** Move to: b\n+c\n*** End Patch", "")
	f.Add("*** Begin Patch\n*** Update File: a\n@@\n-b\n@@\n+c\n*** End Patch", "b")
	f.Fuzz(func(t *testing.T, text, old string) {
		files, err := Parse(text)
		if err != nil {
			return
		}
		for _, file := range files {
			if got, err := file.Apply(old); err == nil && len(file.Hunks) == 0 {
				require.Equal(t, old, got)
			}
			require.NotContains(t, file.Path, "\n")
			_ = strings.TrimSpace(file.Text)
		}
	})
}

// equalLines is a file of a million bytes of equal lines, and a patch of half as
// many that does not fit: each line begins a search that fails late.
func equalLines(t testing.TB) (File, string) {
	t.Helper()
	text := strings.Repeat("a\n", 500_000)
	files, err := Parse("*** Begin Patch\n*** Update File: a\n" + strings.Repeat(" a\n", 250_000) + "-b\n+c\n*** End Patch")
	require.NoError(t, err)
	return files[0], text
}

// What takes too long is not tried to its end.
func TestWorkIsBounded(t *testing.T) {
	file, text := equalLines(t)
	_, err := file.Apply(text)
	require.ErrorIs(t, err, errTooLarge)
	file, text = manyHunks(t)
	_, err = file.Apply(text)
	require.ErrorIs(t, err, errTooLarge)

	// 2,000 hunks in a file of a million bytes are no trouble.
	_, text = manyHunks(t)
	var patch strings.Builder
	for i := range 2_000 {
		fmt.Fprintf(&patch, "@@\n-line %d \n+LINE %d\n", 10*i, i)
	}
	files, err := Parse("*** Begin Patch\n*** Update File: a\n" + patch.String() + "*** End Patch")
	require.NoError(t, err)
	got, err := files[0].Apply(text)
	require.NoError(t, err)
	require.Equal(t, 2_000, strings.Count(got, "LINE"))
}

// naive is Apply without bounds: every hunk copies the text.
func naive(f File, text string) (string, bool) {
	all, at := strings.Split(text, "\n"), 0
	find := func(want []string, last bool) int {
		for _, trim := range []func(string) string{func(s string) string { return s }, strings.TrimSpace} {
			found := -1
			for n := at; n+len(want) <= len(all) && (found < 0 || last); n++ {
				same := true
				for i, w := range want {
					same = same && trim(all[n+i]) == trim(w)
				}
				if same {
					found = n
				}
			}
			if found >= 0 {
				return found
			}
		}
		return -1
	}
	for _, h := range f.Hunks {
		if h.Anchor != "" {
			n := find([]string{h.Anchor}, false)
			if n < 0 {
				return "", false
			}
			at = n + 1
		}
		n := len(all)
		if len(h.Old) > 0 {
			n = find(h.Old, h.AtEnd)
		} else if n > 0 && all[n-1] == "" {
			n-- // before the newline at the end
		}
		if n < 0 {
			return "", false
		}
		all = slices.Concat(all[:n], h.New, all[n+len(h.Old):])
		at = n + len(h.New)
	}
	return strings.Join(all, "\n"), true
}

// Apply does what the naive way does, on many small patches.
func TestApplyMatchesNaiveApply(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func(most int) []string {
		var out []string
		for range random.IntN(most + 1) {
			out = append(out, []string{"", "a", "b", " a", "b ", "c"}[random.IntN(6)])
		}
		return out
	}
	fits := 0
	for range 50_000 {
		var f File
		for range 1 + random.IntN(3) {
			h := Hunk{Old: some(2), New: some(2), AtEnd: random.IntN(4) == 0}
			if random.IntN(3) == 0 {
				h.Anchor = "a"
			}
			f.Hunks = append(f.Hunks, h)
		}
		text := strings.Join(some(7), "\n")
		want, ok := naive(f, text)
		got, err := f.Apply(text)
		require.Equal(t, ok, err == nil, "%q %+v", text, f)
		require.Equal(t, want, got, "%q %+v", text, f)
		if ok {
			fits++
		}
	}
	require.Greater(t, fits, 5_000)
}

// manyHunks is a patch of 20,000 hunks for a file of a million bytes, each of which
// fits but for space.
func manyHunks(t testing.TB) (File, string) {
	t.Helper()
	var patch, text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&patch, "@@\n-line %d\n+LINE %d\n", i, i)
		fmt.Fprintf(&text, "line %d \n%s\n", i, strings.Repeat("x", 40))
	}
	files, err := Parse("*** Begin Patch\n*** Update File: a\n" + patch.String() + "*** End Patch")
	require.NoError(t, err)
	return files[0], text.String()
}
