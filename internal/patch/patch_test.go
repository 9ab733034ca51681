package patch

import (
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
