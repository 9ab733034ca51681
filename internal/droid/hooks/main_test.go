package hooks

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"droid-acp/internal/droid/stream"
)

// TestMain also plays the hook program: Command runs the program that listens, and
// here that is this test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == stream.OwnHook {
		Run(os.Args[2:], os.Stdin, os.Stdout)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
