package adapter

import (
	"context"
	"errors"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/accounts"
	"droid-acp/internal/diagnosis"
	"droid-acp/internal/droid"
	"droid-acp/internal/login"
	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
	"droid-acp/internal/visible"
	"droid-acp/internal/wire"
)

// authenticate has droid log in, and answers when droid has. The login ends when the
// client cancels the request. There is one at a time. Droids from before a login are replaced:
// those that rest at once, the others before their next prompt.
func (a *Agent) authenticate(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		MethodID string `json:"methodId"`
	}
	if err := decode(c.Params, &params); err != nil {
		return nil, err
	}
	method, err := accounts.MethodOf(params.MethodID)
	if err != nil {
		return nil, invalidParams("%v", err)
	}
	result, err := a.accounts.Login(c, a.cfg.Login, method, accounts.Editor{Conn: a.conn, Client: a.client, Announce: a.announce, Log: a.log})
	if err != nil {
		return nil, loginError(method, err)
	}
	for _, s := range a.sessions.List() {
		s.post(s.renewIdle)
	}
	a.spare.Renew()
	if protocol.Fields(result) == nil {
		return struct{}{}, nil
	}
	return result, nil
}

// loginError explains why droid did not log in. What droid says itself keeps its code.
func loginError(method string, err error) *acp.RequestError {
	var refused *login.Error
	var died *login.DiedError
	var underWay *accounts.UnderWayError
	remedy := login.Remedy(method, err)
	text := diagnosis.Sentence(err) + " " + remedy
	switch {
	case errors.As(err, &refused):
		line := strings.Join(strings.Fields(text), " ")
		return &acp.RequestError{Code: refused.Code, Message: visible.Line(line), Data: wire.Details(text)}
	case errors.As(err, &underWay):
		return invalidRequest(err.Error())
	case errors.Is(err, wire.ErrGone):
		return errEnding()
	case errors.Is(err, context.Canceled):
		return requestCancelled()
	case diagnosis.IsStart(err):
		return startError(err)
	case errors.As(err, &died):
		return internalError("droid_crashed", text)
	case errors.Is(err, login.ErrTime), errors.Is(err, login.ErrStartTime):
		return internalError("login_timed_out", text)
	case errors.Is(err, login.ErrDeclined):
		return internalError("login_declined", text)
	}
	return internalError("login_failed", text)
}

// notify queues a notification that belongs to no session.
func (a *Agent) notify(method string, params any) {
	if err := a.conn.Notify(method, params); err != nil {
		a.log.Error("a notification could not be encoded", zap.String("method", method), zap.Error(err))
	}
}

// announce tells the user something that belongs to no session, in each session that is
// open: a title in one line to a client that shows notices, else the text as a message.
func (a *Agent) announce(title, text string) {
	for _, s := range a.sessions.List() {
		s.post(func() {
			if s.out.Known() {
				s.tell(show.Announcement{Title: title, Text: text})
			}
		})
	}
}

// renewIdle ends a droid from before the last login, if the session rests. The next
// prompt starts another one. A droid that has a process running in the background, or
// lets the user log in to an MCP server, is kept for now.
func (s *Session) renewIdle() {
	client := s.proc.client()
	if client == nil || s.ended || s.busy() || !s.prompts.machine.Idle() || s.line.Wanted(needCalls) || s.dialog.isOpen() {
		return
	}
	if s.mustRenew(client) {
		s.log.Info("droid was started before the last login and ends")
		s.leave()
	}
}

// mustRenew reports whether a droid is to be replaced before it gets another prompt: it
// has no login, or it is from before the last login and nothing would be lost.
func (s *Session) mustRenew(client *droid.Client) bool {
	old, lacks := s.agent.accounts.Age(client)
	return lacks || old && !client.HasChildren() && !s.servers.LogsIn(time.Now())
}

// renewed calls then when the droid of a prompt that begins is not one that must be
// replaced.
func (s *Session) renewed(then func()) {
	client := s.proc.client()
	if client == nil || s.proc.dying() || !s.mustRenew(client) {
		then()
		return
	}
	s.when("the prompt", func() {
		if s.proc.client() == client && !s.proc.dying() {
			s.log.Info("droid does not know of a login and is replaced")
			s.leave()
		}
		then()
	}, needCalls)
}
