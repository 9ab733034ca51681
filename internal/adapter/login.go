package adapter

import (
	"context"
	"errors"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/accounts"
	"droid-acp/internal/diagnosis"
	"droid-acp/internal/login"
	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
	"droid-acp/internal/visible"
	"droid-acp/internal/wire"
)

// Ways to log in, beside droid's own in package login.
const (
	// loginEarlier is what the one method of earlier versions was called. Clients may
	// have stored it.
	loginEarlier = "factory-login"
	// loginTerminal is this program's login command, which the client runs in a terminal.
	loginTerminal = "droid-acp-login"
)

// LoginCommand is this program's login command, for clients that run it in a terminal.
// Without a Path there is none.
type LoginCommand struct {
	Path string            // of this program
	Args []string          // for the login, with all that it needs
	Env  map[string]string // variables to add
}

// authMethods are the ways to log in that this client can go. They are offered without
// asking droid, also where there is none.
func (a *Agent) authMethods(client protocol.ClientCapabilities) []protocol.AuthMethod {
	pairing := protocol.AuthMethod{ID: login.Pairing, Name: "Log in to Factory",
		Description: "droid opens a page in your browser, on which you confirm a code."}
	key := protocol.AuthMethod{ID: login.APIKey, Name: "Use a Factory API key",
		Description: "droid takes the key from the variable FACTORY_API_KEY of the environment in which this agent was started."}
	command := a.cfg.LoginCommand
	if client.TerminalLoginMeta && command.Path != "" {
		env := command.Env
		if env == nil {
			env = map[string]string{}
		}
		pairing.Meta = map[string]any{"terminal-auth": map[string]any{
			"label": "Log in to Factory", "command": command.Path, "args": command.Args, "env": env,
		}}
	}
	methods := []protocol.AuthMethod{pairing, key}
	if client.TerminalLogin {
		methods = append(methods, protocol.AuthMethod{Type: "terminal", ID: loginTerminal, Name: "Log in to Factory in a terminal",
			Description: "Runs this agent's login command, which shows the address to open and the code to confirm.",
			Args:        []string{"login"}})
	}
	return methods
}

// authenticate has droid log in, and answers when droid has. The login ends when the
// client cancels the request. There is one at a time.
func (a *Agent) authenticate(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		MethodID string `json:"methodId"`
	}
	if err := decode(c.Params, &params); err != nil {
		return nil, err
	}
	method := params.MethodID
	switch method {
	case login.Pairing, login.APIKey:
	case loginEarlier:
		method = login.Pairing
	case loginTerminal:
		return nil, invalidParams("the method %q is not for authenticate: run this agent with the argument \"login\" in a terminal (ACP, authentication methods)", method)
	default:
		return nil, invalidParams("unknown methodId %q; the methods are %q and %q", method, login.Pairing, login.APIKey)
	}
	result, err := a.accounts.Login(c, a.cfg.Login, method, accounts.Editor{Conn: a.conn, Client: a.client, Announce: a.announce, Log: a.log})
	if err != nil {
		return nil, loginError(method, err)
	}
	a.loggedIn(method)
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
