package archtest

import (
	"go/ast"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// disk are the functions by which files are opened, read whole, written, given another
// name and locked. Only internal/sys/files has them, as it does so within bounds and whole.
var disk = []string{
	"os.Create", "os.CreateTemp", "os.Link", "os.Open", "os.OpenFile", "os.ReadFile", "os.Rename", "os.WriteFile", "io.ReadAll", "unix.Flock",
}

// onDisk are the places that may do so themselves, and why.
var onDisk = map[string]string{
	"cmd/droid-acp/log.go os.OpenFile":                        "the log may be a pipe or a terminal, and is only added to",
	"cmd/droid-acp/smoke.go os.Open":                          "prompts may come from a pipe",
	"cmd/droid-acp/smoke.go io.ReadAll":                       "the same, bounded",
	"internal/cli/doctor/home.go os.OpenFile":                 "looks whether the file of links can be written, and changes nothing",
	"internal/sys/child/processes_linux.go os.ReadFile":       "/proc/PID/stat",
	"internal/sys/memory/memory_linux.go os.ReadFile":         "/proc and /sys",
	"internal/workspace/editorfs/journal.go io.ReadAll":       "an entry that is open and locked, bounded",
	"internal/workspace/editorfs/unmended.go os.Rename":       "an entry gets another name, whole as it is",
	"internal/workspace/editorfs/mend.go os.Rename":           "the same",
	"internal/workspace/editorfs/publish_unix.go os.OpenFile": "an entry is opened to be locked",
	"internal/workspace/editorfs/replace.go os.OpenFile":      "a file that a new one cannot take the place of is written in place",
	"internal/workspace/editorfs/restore.go os.Rename":        "a symbolic link",
	"internal/remote/keep/connect.go os.OpenFile":             "the log of a server that is started: handed to it, and only added to",
	"internal/droid/login/links_unix.go os.OpenFile":          "a pipe",
	"internal/remote/serve/journal.go os.OpenFile":            "a journal, which is only added to, and which no other process has",
	"internal/remote/serve/journal.go os.Open":                "the same, read bounded",
	"internal/remote/serve/journal.go os.Rename":              "the older half of it",
	"internal/droid/store/scan.go os.Open":                    "a directory, which is read piece by piece",
	"internal/droid/store/store.go os.Rename":                 "a session's files get names in the trash, whole as they are",
	"internal/remote/transport/dial.go io.ReadAll":            "what a server answers, bounded",
	"internal/sys/tempdir/tempdir.go os.Rename":               "a directory gets its name when it is locked",
}

// forTests are rooms that only tests use.
var forTests = []string{"acptest", "archtest", "docs", "fakedroid", "fakelogin", "fixture", "modelserver", "testeditor", "workflows"}

func TestOneWayToTheDisk(t *testing.T) {
	calls := diskCalls(readModule(t))
	for _, at := range calls {
		require.NotEmpty(t, onDisk[at], "%s: use internal/sys/files, or say above why not", at)
	}
	for at := range onDisk {
		require.Contains(t, calls, at, "it is not there any more")
	}
}

// diskCalls are the uses of those functions: the file's name and the function.
func diskCalls(m *tree) (found []string) {
	for room := range m.rooms {
		if room == "internal/sys/files" || slices.Contains(forTests, strings.TrimPrefix(room, "internal/testing/")) {
			continue
		}
		for _, s := range m.code(room) {
			ast.Inspect(s.file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(disk, x.Name+"."+sel.Sel.Name) {
					found = append(found, s.name+" "+x.Name+"."+sel.Sel.Name)
				}
				return true
			})
		}
	}
	sort.Strings(found)
	return slices.Compact(found)
}
