//go:build unix

package shell

import (
	"context"
	"os/exec"
)

func process(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", command)
}
