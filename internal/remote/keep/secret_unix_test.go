//go:build unix

package keep

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fileOf is a file of a user with a mode.
type fileOf struct {
	fs.FileInfo
	mode fs.FileMode
	sys  any
}

func (f fileOf) Mode() fs.FileMode { return f.mode }
func (f fileOf) Sys() any          { return f.sys }

// A secret may be read by its group, as Docker and Kubernetes mount it, if it belongs to the user or to root.
func TestSecretFiles(t *testing.T) {
	own := uint32(os.Geteuid())
	for _, row := range []struct {
		mode  fs.FileMode
		owner uint32
		fault string
	}{
		{0o600, own, ""}, {0o400, own, ""}, {0o640, own, ""}, {0o440, own, ""}, {0o440, 0, ""}, {0o400, 0, ""},
		{0o644, own, "others can read or write it (mode 0644)"}, {0o444, 0, "others can read or write it (mode 0444)"}, {0o602, own, "others can read or write it (mode 0602)"},
		{0o660, own, "its group can write it (mode 0660)"}, {0o460, 0, "its group can write it (mode 0460)"},
		{0o600, own + 1, "it belongs to another user"}, {0o440, own + 1, "it belongs to another user"},
	} {
		fault, remedy := secretFault(fileOf{mode: row.mode, sys: &syscall.Stat_t{Uid: row.owner}})
		require.Equal(t, row.fault, fault)
		require.Equal(t, row.fault == "", remedy == "")
	}
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("1", 32)), 0o600))
	require.NoError(t, os.Chmod(path, 0o640))
	_, err := LoadTokens(path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o644))
	_, err = LoadTokens(path)
	require.ErrorContains(t, err, "the token in "+path+" is not secret: others can read or write it (mode 0644); `chmod 600` it")
}
