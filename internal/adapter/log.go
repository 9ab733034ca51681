package adapter

import (
	"cmp"
	"encoding/json"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"droid-acp/internal/problem"
	"droid-acp/internal/protocol"
	"droid-acp/internal/sessionid"
	"droid-acp/internal/visible"
	"droid-acp/internal/wire"
)

// What the log says at the level info: who speaks with this agent, which sessions are open, how
// turns ended, what was refused. It has no words of anybody's: of an error its code, and the
// kind that programs know it by.

// logClient notes who the client says that it is.
func (a *Agent) logClient(info json.RawMessage) {
	var client struct{ Name, Version string }
	_ = json.Unmarshal(info, &client) // it need not say
	a.log.Info("a client has connected", zap.String("client", brief(client.Name)), zap.String("version", brief(client.Version)))
}

// brief is the beginning of what a client calls something, in one line.
func brief(name string) string {
	letters := []rune(visible.Line(name))
	return string(letters[:min(len(letters), 80)])
}

// logCall notes how a call ended that began then, if it was a prompt, opened a session or failed.
func (a *Agent) logCall(c *wire.Call, began time.Time, result any, err *acp.RequestError) {
	text, fields := "", []zap.Field(nil)
	switch c.Method {
	case acp.AgentMethodSessionPrompt:
		text = turnEnded
	case acp.AgentMethodSessionNew, acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume, acp.AgentMethodSessionFork:
		text = "session opened"
	}
	if err != nil && text != turnEnded {
		text, fields = "a request was refused", []zap.Field{zap.String("method", brief(c.Method))}
	}
	if text == "" || !a.log.Core().Enabled(zapcore.InfoLevel) {
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
	if sessionid.Valid(about.SessionID) {
		fields = append(fields, zap.String("session", about.SessionID))
	}
	a.log.Info(text, append(fields, ending(began, stop, err)...)...)
}

// turnEnded is what the log says of each turn.
const turnEnded = "turn ended"

// ending is what the log says of how something ended that began then.
func ending(began time.Time, stop acp.StopReason, err *acp.RequestError) []zap.Field {
	fields := append(errorKind(err), zap.Float64("seconds", time.Since(began).Seconds()))
	if stop != "" {
		fields = append(fields, zap.String("stopReason", string(stop)))
	}
	return fields
}

// errorKind is what a log says of an error.
func errorKind(err *acp.RequestError) []zap.Field {
	if err == nil {
		return nil
	}
	fields := []zap.Field{zap.Int("code", err.Code)}
	if kind := problem.KindOf(err); kind != "" {
		fields = append(fields, zap.String("kind", kind))
	}
	return fields
}
