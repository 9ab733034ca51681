package docs

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// documents are the ones that are checked.
var documents = []string{"CONTRIBUTING.md", "docs/architecture.md", "docs/decisions.md", "docs/quirks.md", "docs/native-acp.md"}

func TestWhatIsNamedExists(t *testing.T) {
	c, err := newChecker(root)
	require.NoError(t, err)
	for _, name := range documents {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.Empty(t, c.check(filepath.Dir(name), string(text)), name)
	}
}

// A stranger reads it to its end.
func TestArchitectureIsShort(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(text), "\n"), 150, "lines")
}

// invented names one thing that does not exist in each line that ends with "!".
const invented = "# Invented\n" +
	"`internal/show/tools.go`, `show/tools.go`, `internal/turns`, `testdata/fixtures/*_0.99.txtar`, `quirks/NAME.go`, `README.md`\n" +
	"`internal/show/tolls.go` !\n" +
	"`tools.go` !\n" +
	"`internal/turn` !\n" +
	"`testdata/fixtures/*_0.1.txtar` !\n" +
	"`quirks/NAME.md` !\n" +
	"`Machine.Cancel`, `turns.Machine`, `turns.Machine.Cancel`, `launch`, `Agent.launch()`, `Version.Minor`, `toolView.due`, `acp.NewConnection`\n" +
	"`Machine.Cancels` !\n" +
	"`turns.Maschine` !\n" +
	"`show.Machine.Cancel` !\n" +
	"`WhenWrittenAtLast` !\n" +
	"`acp.AgentSideConnections` !\n" +
	"`TestQuirk05_…`, `quirks.TestQuirk01_…`, `e2e.TestFollowUps`\n" +
	"`TestQuirk99_…` !\n" +
	"`show.TestQuirk05_…` !\n" +
	"`end_turn`, `idle`, `session/load`, `_meta.terminal_output`, `/mcp login NAME`, `~/.factory/mcp.json`, `$PATH`, `HOME`\n" +
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
	table, err := os.ReadFile(filepath.Join(root, "docs/quirks.md"))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(root, "internal/quirks/*.go"))
	require.NoError(t, err)
	quirks := 0
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if !strings.Contains(string(text), "\n// What droid does:") {
			continue
		}
		quirks++
		require.Contains(t, string(table), "`quirks/"+filepath.Base(path)+"`")
	}
	require.Greater(t, quirks, 15)
}
