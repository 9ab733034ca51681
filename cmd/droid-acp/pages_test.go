package main

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/settings"
)

// update is a flag of this test program.
var update = flag.Bool("update", false, "write docs/options.md anew")

// TestOptionsPage: docs/options.md is what the table says.
func TestOptionsPage(t *testing.T) {
	const path = "../../docs/options.md"
	page := settings.Page(rows(), "go test ./cmd/droid-acp -run TestOptionsPage -update")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
	there, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(there), "\r\n", "\n"), page, "run this test with -update")
}

// TestEveryVariableIsInThePage: who has the code read or set another variable puts it into
// the table.
func TestEveryVariableIsInThePage(t *testing.T) {
	named := regexp.MustCompile(`os\.(?:Getenv|LookupEnv)\("(\w+)"\)|"(FACTORY_[A-Z_]+|DROID_ACP_[A-Z_]+)"`)
	page, found := settings.Page(rows(), ""), 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || !strings.Contains(path, filepath.FromSlash("cmd/")) && !strings.Contains(path, filepath.FromSlash("internal/")) {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			found++
			require.Contains(t, page, "`$"+m[1]+m[2]+"`", path)
		}
		return err
	}))
	require.Greater(t, found, 15)
}
