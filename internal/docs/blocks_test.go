package docs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// readBlock reads a code block of a language that this test knows. Editors take comments in
// their JSON, and commas before a closing bracket.
func readBlock(b block) error {
	switch b.lang {
	case "json", "jsonc":
		_, err := hujson.Parse([]byte(b.text))
		return err
	case "jsonl":
		for line := range strings.Lines(strings.TrimSpace(b.text)) {
			if err := json.Unmarshal([]byte(line), new(any)); err != nil {
				return err
			}
		}
	case "yaml":
		return yaml.Unmarshal([]byte(b.text), new(any))
	case "", "indented":
		return fmt.Errorf("it says no language; that of pictures and transcripts is text")
	}
	return nil
}

func TestBlocks(t *testing.T) {
	for _, d := range readDocuments(t, root) {
		for _, b := range d.blocks {
			require.NoError(t, readBlock(b), "%s:%d", d.path, b.line)
		}
	}
	for _, bad := range []string{"```json\n{\"a\": [1}\n```\n", "```jsonl\n{}\n[\n```\n", "```yaml\na:\n  - b: c\n d: e\n```\n", "```\nmake\n```\n", "a\n\n    make\n"} {
		require.Error(t, readBlock(parseDocument("a.md", bad).blocks[0]), bad)
	}
}
