// The log of a client and its calls, at the level info: who is connected, which sessions are open, how turns ended, what was refused. It
// contains no text of users or models: of an error only its code and its kind.

package adapter

import (
	"cmp"
	"encoding/json"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/visible"
)

// logClient notes who the client says that it is, in its clientInfo.
func logClient(log *zap.Logger, info json.RawMessage) {
	var client struct{ Name, Version string }
	_ = json.Unmarshal(info, &client) // it need not say
	log.Info("a client has connected", zap.String("client", briefly(client.Name)), zap.String("version", briefly(client.Version)))
}

// briefly returns the beginning of what a client calls something, in one line.
func briefly(name string) string {
	letters := []rune(visible.Line(name))
	return string(letters[:min(len(letters), 80)])
}

// logCall notes how a call ended that began then, if it was a prompt, opened a session or failed.
func logCall(log *zap.Logger, c *wire.Call, began time.Time, result any, err *jsonrpc.Error) {
	text, fields := "", []zap.Field(nil)
	switch c.Method {
	case acp.AgentMethodSessionPrompt:
		text = session.TurnEnded
	case acp.AgentMethodSessionNew, acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume, acp.AgentMethodSessionFork:
		text = "session opened"
	}
	if err != nil && text != session.TurnEnded {
		text, fields = "a request was refused", []zap.Field{zap.String("method", briefly(c.Method))}
	}
	if text == "" || !log.Core().Enabled(zapcore.InfoLevel) {
		return
	}
	var about struct{ SessionID string }
	_ = json.Unmarshal(c.Params, &about) // it need not name one
	var stop acp.StopReason
	switch r := result.(type) {
	case protocol.PromptResult:
		stop = r.StopReason
	case protocol.SessionResult:
		about.SessionID = cmp.Or(r.SessionID, about.SessionID)
	}
	if stream.ValidSessionID(about.SessionID) {
		fields = append(fields, zap.String("session", about.SessionID))
	}
	log.Info(text, append(fields, session.EndingFields(began, stop, err)...)...)
}
