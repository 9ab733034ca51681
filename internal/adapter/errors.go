package adapter

import (
	"context"
	"errors"
	"fmt"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/problem"
	"droid-acp/internal/wire"
)

func invalidParams(format string, args ...any) *acp.RequestError {
	return wire.NewError(-32602, "Invalid params", fmt.Sprintf(format, args...))
}

func invalidRequest(text string) *acp.RequestError {
	return wire.NewError(-32600, "Invalid request", text)
}

// outOfTime returns err, or the cause of ctx's end if err says that time ran out.
func outOfTime(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

// loadCancelled answers what came behind the load that was to open a session, when that was
// cancelled and nothing waited for it.
func loadCancelled() *acp.RequestError {
	return invalidRequest("the session was not opened, since its load was cancelled; load it again")
}

// errEnding answers what comes while the session or the agent ends.
func errEnding() *acp.RequestError {
	return problem.Internal("shutting_down", "the session is ending; load it again to go on with it")
}
