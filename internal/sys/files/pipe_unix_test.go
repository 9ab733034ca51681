//go:build unix

package files

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func makePipe(t *testing.T, path string) { require.NoError(t, unix.Mkfifo(path, 0o600)) }
