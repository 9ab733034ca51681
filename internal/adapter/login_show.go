package adapter

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/login"
	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
	"droid-acp/internal/visible"
	"droid-acp/internal/wire"
)

// loginShown is what the editor is shown of one authenticate request.
type loginShown struct {
	agent   *Agent
	request json.RawMessage // the id of the request

	mu      sync.Mutex
	dialogs []string // ids of the elicitations that the user has accepted
}

// listener passes on to the editor what droid tells and asks.
func (l *loginShown) listener() login.Listener {
	return login.Listener{Capabilities: l.agent.client.Raw, Link: l.link, Tell: l.tell, Ask: l.ask}
}

// linkWords tell where to log in.
const linkWords = "To log in to Factory, confirm the code in the browser. If no page has opened there, open "

// link shows the address that droid opens: a client that has URL elicitation asks its
// user, all others get it in words. A user who only closes the question may be in the
// browser already, so that is no refusal.
func (l *loginShown) link(ctx context.Context, address string) bool {
	l.log(address)
	if !l.agent.client.URLs {
		l.agent.announce("Log in to Factory: open "+address, linkWords+address)
		return true
	}
	dialog := uuid.NewString()
	result, err := wire.Request[protocol.ElicitationResult](ctx, l.agent.conn, "elicitation/create", protocol.LoginElicitation{
		RequestID: l.request, Mode: "url", ElicitationID: dialog, URL: address,
		Message: "Log in to Factory: confirm the code in the browser. droid opens the page, too, where it can.",
	})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		l.agent.log.Info("the editor did not show where to log in", zap.Error(err))
		l.agent.announce("Log in to Factory: open "+address, linkWords+address)
	case result.Action == "decline":
		return false
	case result.Action == "accept":
		l.mu.Lock()
		defer l.mu.Unlock()
		l.dialogs = append(l.dialogs, dialog)
	}
	return true
}

// log tells on stderr, which some editors show, where to log in.
func (l *loginShown) log(address string) {
	l.agent.log.Warn("to log in to Factory, open " + address)
}

// end takes back what the editor still shows.
func (l *loginShown) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, dialog := range l.dialogs {
		l.agent.notify("elicitation/complete", protocol.ElicitationComplete{ElicitationID: dialog})
	}
}

// tell passes on a notification, and says in words what a client would drop.
func (l *loginShown) tell(method string, params json.RawMessage) {
	if strings.HasPrefix(method, "$/") {
		return // about droid's own requests
	}
	if method == "elicitation/complete" && !l.agent.client.URLs {
		return // the client was shown the address in words
	}
	if method != "session/update" { // of a session that the editor does not know
		l.agent.notify(method, params)
	}
	if method != "elicitation/complete" {
		l.say(params)
	}
}

// say tells in words what a message of droid's says.
func (l *loginShown) say(params json.RawMessage) {
	words := visible.Text(login.Words(params))
	if words == "" {
		return
	}
	l.log("what droid says: " + strings.ReplaceAll(words, "\n", ", "))
	l.agent.announce("droid says: "+strings.ReplaceAll(words, "\n", ", "), "droid says, while it logs in:\n"+words)
}

// ask passes on a request. An elicitation of an address that the client cannot show is
// shown in words; the user, who asked for the login, may go there or not.
func (l *loginShown) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *login.Error) {
	if method == "elicitation/create" {
		var mode struct{ Mode, URL string }
		_ = json.Unmarshal(params, &mode) // of another form: the client refuses it
		if mode.Mode == "url" && !l.agent.client.URLs && login.IsLink(mode.URL) {
			l.say(params)
			return json.RawMessage(`{"action":"accept"}`), nil
		}
		if mode.Mode != "url" && !l.agent.client.Forms {
			return nil, &login.Error{Code: -32601, Message: "the editor has no forms"}
		}
		params = l.scoped(params)
	}
	result, err := wire.Request[json.RawMessage](ctx, l.agent.conn, method, params)
	if err != nil {
		return nil, clientError(err)
	}
	return result, nil
}

// scoped makes an elicitation of droid's one of the authenticate request, since the
// editor knows neither droid's request nor a session of this droid.
func (l *loginShown) scoped(params json.RawMessage) json.RawMessage {
	fields := protocol.Fields(params)
	if fields == nil {
		return params
	}
	delete(fields, "sessionId")
	delete(fields, "toolCallId")
	fields["requestId"] = l.request
	encoded, err := json.Marshal(fields)
	if err != nil {
		return params
	}
	return encoded
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
