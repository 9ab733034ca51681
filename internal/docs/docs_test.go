package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// documents are the ones that are checked.
var documents = []string{"CONTRIBUTING.md", "docs/architecture.md", "docs/decisions.md", "docs/quirks.md", "docs/comparison.md", "docs/options.md",
	"docs/threads.md", "docs/login.md", "docs/editor-files.md", "docs/events.md"}

func TestWhatIsNamedExists(t *testing.T) {
	c, err := newChecker(root)
	require.NoError(t, err)
	for _, name := range documents {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, c.check(filepath.Dir(name), read(t, filepath.Join(root, name))))
		})
	}
}

// maxLines is how long docs/architecture.md may be: a stranger reads it to its end.
const maxLines = 150

func TestArchitectureIsShort(t *testing.T) {
	require.LessOrEqual(t, strings.Count(read(t, filepath.Join(root, "docs/architecture.md")), "\n"), maxLines)
}

// invented names one thing that does not exist in each line that ends with "!".
const invented = "# Invented\n" +
	"`internal/show/tools.go`, `show/tools.go`, `internal/turns`, `testdata/fixtures/*_0.99.txtar`, `quirks/NAME.go`, `README.md`\n" +
	"`internal/show/tolls.go` !\n" +
	"`tools.go` !\n" +
	"`internal/turn` !\n" +
	"`internel/turns` !\n" +
	"`turn/stop.go` !\n" +
	"`testdata/fixtures/*_0.1.txtar` !\n" +
	"`quirks/NAME.md` !\n" +
	"`Machine.Cancel`, `turns.Machine`, `turns.Machine.Cancel`, `launch`, `Agent.launch()`, `Version.Minor`, `toolView.due`, `acp.RequestError`\n" +
	"`Machine.Cancels` !\n" +
	"`go test !\n" +
	"`turns.Maschine` !\n" +
	"`show.Machine.Cancel` !\n" +
	"`WhenWrittenAtLast` !\n" +
	"`acp.AgentSideConnections` !\n" +
	"`TestQuirk05_…`, `quirks.TestQuirk01_…`, `e2e.TestFollowUps`\n" +
	"1. `turns/stop.go`: asked to, `Machine.Cancel` cancels; `Machine.next` (`turns/turns.go`); `askOwner`, in `adapter/owner_ask.go`\n" +
	"1. `turns/turns.go`: `Machine.Cancel` cancels !\n" +
	"`turns.Machine.next` (`turns/stop.go`) !\n" +
	"`askOwner`, in `adapter/owner.go` !\n" +
	"`TestQuirk99_…` !\n" +
	"`show.TestQuirk05_…` !\n" +
	"`end_turn`, `idle`, `session/load`, `elicitation/create`, `$/cancel_request`, `.factory/mcp.json`, `_meta.terminal_output`, `/mcp login NAME`, `~/.factory/mcp.json`, `$PATH`, `HOME`\n" +
	"`make mutate`, `go test ./internal/quirks ./internal/... -update`\n" +
	"`make mutants` !\n" +
	"`go test ./internal/quirk` !\n" +
	"[here](quirks.md), [there](../README.md#tests), [away](https://agentclientprotocol.com)\n" +
	"[nowhere](quirk.md) !\n" +
	"```\n" +
	"adapter.Agent ──► turns.Machine (Cancels, quirks/turn_end.go) make mutants\n" +
	"adapter.Agents ──► turns.Machine !\n" +
	"adapter.Agent ──► turn_end.go !\n" +
	"```\n"

func TestWhatDoesNotExistIsFound(t *testing.T) {
	c, err := newChecker(root)
	require.NoError(t, err)
	wrong := c.check("docs", invented)
	for i, line := range strings.Split(invented, "\n") {
		found := 0
		for _, complaint := range wrong {
			if strings.HasPrefix(complaint, "line "+strconv.Itoa(i+1)+":") {
				found++
			}
		}
		want := 0
		if strings.HasSuffix(line, "!") {
			want = 1
		}
		require.Equal(t, want, found, "%s\n%s", line, strings.Join(wrong, "\n"))
	}
}

// TestEveryQuirkIsInTheTable: who adds a file for a quirk adds it to docs/quirks.md.
func TestEveryQuirkIsInTheTable(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "internal/quirks/*.go"))
	require.NoError(t, err)
	var quirks []string
	for _, path := range files {
		if strings.Contains(read(t, path), "\n// What droid does:") {
			quirks = append(quirks, "`quirks/"+filepath.Base(path)+"`")
		}
	}
	require.Greater(t, len(quirks), 15)
	require.Empty(t, missing(read(t, filepath.Join(root, "docs/quirks.md")), quirks))
}

// TestEveryRoomIsInTheTable: who adds a package says in docs/architecture.md what it is.
func TestEveryRoomIsInTheTable(t *testing.T) {
	var rooms []string
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "testdata":
			return filepath.SkipDir
		}
		if code, _ := filepath.Glob(filepath.Join(path, "*.go")); d.IsDir() && len(code) > 0 {
			room, err := filepath.Rel(root, path)
			rooms = append(rooms, filepath.ToSlash(room))
			return err
		}
		return nil
	}))
	require.Greater(t, len(rooms), 20)
	require.Empty(t, missing(read(t, filepath.Join(root, "docs/architecture.md")), rooms))
}

// missing are the words that a text does not have, as whole words.
func missing(text string, words []string) (absent []string) {
	for _, word := range words {
		if !regexp.MustCompile(`(^|[^\w/])` + regexp.QuoteMeta(word) + `($|[^\w/])`).MatchString(text) {
			absent = append(absent, word)
		}
	}
	return absent
}

func TestMissing(t *testing.T) {
	require.Equal(t, []string{"internal/droid", "`quirks/b.go`"},
		missing("`internal/droid/stream` `quirks/a.go` internal/walls", []string{"internal/droid", "internal/droid/stream", "internal/walls", "`quirks/a.go`", "`quirks/b.go`"}))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
