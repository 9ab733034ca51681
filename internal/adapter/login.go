package adapter

import (
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/accounts"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/droid"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
)

// authenticate has droid log in, and answers when droid has. The login ends when the
// client cancels the request. There is one at a time. Droids from before a login are replaced:
// those that rest at once, the others before their next prompt.
func (a *Agent) authenticate(c *wire.Call) (any, *jsonrpc.Error) {
	var params struct {
		MethodID string `json:"methodId"`
	}
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	if apiType := accounts.GatewayType(params.MethodID); apiType != "" {
		return a.authenticateGateway(c, apiType)
	}
	method, err := accounts.MethodOf(params.MethodID)
	if err != nil {
		return nil, acperr.InvalidParams("%v", err)
	}
	result, err := a.accounts.Login(c, a.cfg.Login, method, accounts.Editor{Conn: a.conn, Client: a.client, Announce: a.announce, Log: a.log})
	if err != nil {
		return nil, acperr.Login(method, err)
	}
	for _, s := range a.sessions.List() {
		s.mu.Post(s.renewIdle)
	}
	a.opener.Spare.Renew()
	if protocol.Fields(result) == nil {
		return struct{}{}, nil
	}
	return result, nil
}

// notify queues a notification that belongs to no session.
func (d *Deps) notify(method string, params any) {
	if err := d.conn.Notify(method, params); err != nil {
		d.log.Error("a notification could not be encoded", zap.String("method", method), zap.Error(err))
	}
}

// announce shows the user something that belongs to no session, in each session that is
// open: a title in one line to a client that shows notices, else the text as a message.
func (a *Agent) announce(title, text string) {
	for _, s := range a.sessions.List() {
		s.mu.Post(func() {
			if s.out.Opened() {
				s.update(render.Announcement{Title: title, Text: text})
			}
		})
	}
}

// renewIdle ends a droid from before the last login, if the session rests. The next
// prompt starts another one. A droid that has a process running in the background, or
// lets the user log in to an MCP server, is kept for now.
func (s *Session) renewIdle() {
	client := s.proc.Client()
	if client == nil || s.ended || !s.prompts.Idle() || s.questions.IsOpen() {
		return
	}
	if s.mustRenew(client) && !(s.deps.accounts.Revoked(client) && s.worksAside(client)) {
		s.endDroid(replaced, "it is from before the last login, or has another provider")
	}
}

// mustRenew reports whether a droid is to be replaced before it gets another prompt: it
// has no login, or another provider, or it is from before the last login and nothing would be lost.
func (s *Session) mustRenew(client *droid.Client) bool {
	old, lacks := s.deps.accounts.Age(client)
	return lacks || old && !s.worksAside(client)
}

// worksAside reports whether a droid does something for which no prompt is there.
func (s *Session) worksAside(client *droid.Client) bool {
	return s.proc.Working() || client.HasChildren() || s.proc.SubagentsWork() || s.servers.LogsIn(time.Now())
}

// OffersLogin reports whether the client offers the user to log in.
func (s *Session) OffersLogin() bool { return s.deps.client.OffersLogin }
