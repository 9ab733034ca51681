package command

import (
	"context"
	"fmt"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/jsonrpc"
)

// forkCommand has droid copy the session, or with an argument an earlier one of the
// thread. The thread stays with the one it is on.
func forkCommand(ctx context.Context, s *session.Session, which string) (string, error) {
	var id string
	var err error
	if which != "" {
		id, err = s.ForkEarlier(ctx, which)
	} else {
		var failure *jsonrpc.Error
		id, failure = s.Fork(ctx)
		err = session.Plain(failure)
	}
	if err != nil {
		return "", session.Failed("The session was not copied", err)
	}
	return fmt.Sprintf("The copy is the session `%s`; open it from your editor's list of sessions. This thread goes on as it is.", id), nil
}
