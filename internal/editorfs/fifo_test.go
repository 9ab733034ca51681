//go:build unix

package editorfs

import (
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func makeFIFO(r *room) { require.NoError(r, unix.Mkfifo(r.path("fifo"), 0o600)) }
