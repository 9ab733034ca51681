package session

import (
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/jsonrpc"
)

// TurnEnded is the log message for the end of each turn.
const TurnEnded = "turn ended"

// logTurn notes how a turn ended that began then.
func logTurn(log *zap.Logger, began time.Time, stop acp.StopReason, err *jsonrpc.Error) {
	log.Info(TurnEnded, EndingFields(began, stop, err)...)
}

// EndingFields returns the log fields for the end of something that began at that time.
func EndingFields(began time.Time, stop acp.StopReason, err *jsonrpc.Error) []zap.Field {
	fields := append(errorFields(err), zap.Float64("seconds", time.Since(began).Seconds()))
	if stop != "" {
		fields = append(fields, zap.String("stopReason", string(stop)))
	}
	return fields
}

// errorFields returns the log fields for an error.
func errorFields(err *jsonrpc.Error) []zap.Field {
	if err == nil {
		return nil
	}
	fields := []zap.Field{zap.Int("code", err.Code)}
	if kind := acperr.KindOf(err); kind != "" {
		fields = append(fields, zap.String("kind", kind))
	}
	return fields
}
