package serve

import (
	"fmt"

	"go.uber.org/zap"

	"droid-acp/internal/text/visible"
)

// The access log says who connects (package transport), which sessions a client opens, and what is refused to it and why. It has no tokens,
// only their names, and nothing of a message but its method and session.

// logRefusal logs that the server refused a message of the client.
func (c *Client) logRefusal(method, session, reason string) {
	c.server.metrics.count(metricRefusals, "of", "message")
	c.server.Log.Warn("refused a message", c.logFields(zap.String("method", shortLine(method)), zap.String("session", shortLine(session)), zap.String("reason", reason))...)
}

// logSession logs what the client did with a session.
func (c *Client) logSession(what string, o *session) {
	c.server.Log.Info(what, c.logFields(zap.String("session", o.id), zap.Int("agent", o.agent.pid()))...)
}

// logFields returns fields of a log line about the client: those by which it is known, and more.
func (c *Client) logFields(more ...zap.Field) []zap.Field {
	known := []zap.Field{zap.String("connection", c.options.Connection)}
	if c.options.Token != "" {
		known = append(known, zap.String("token", c.options.Token))
	}
	return append(known, more...)
}

// shortLine returns the beginning of a client's text for a line.
func shortLine(text string) string {
	return fmt.Sprintf("%.80s", visible.Line(fmt.Sprintf("%.80s", text)))
}
