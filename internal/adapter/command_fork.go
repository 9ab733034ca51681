package adapter

import (
	"context"

	"droid-acp/internal/droid"
)

// forkCommand has droid copy the session. The thread stays with the one it is on.
func forkCommand(r *commandRun, _ string) {
	r.ask("The session was not copied", func(ctx context.Context, client *droid.Client) (string, error) {
		id, err := client.Fork(ctx)
		return "The copy is the session `" + id + "`; open it from your editor's list of sessions. This thread goes on as it is.", err
	})
}
