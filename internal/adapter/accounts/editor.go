package accounts

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/droid/login"
	"droid-acp/internal/text/visible"
)

// Editor is where the user is shown a login.
type Editor struct {
	Conn   *wire.Conn
	Client protocol.ClientCapabilities
	// Announce tells the user something that belongs to no session: a title in one line to a
	// client that shows notices, else the text.
	Announce func(title, text string)
	Log      *zap.Logger
}

// shown is what the editor is shown of one authenticate request.
type shown struct {
	Editor
	request json.RawMessage // the id of the request
	decline func()          // ends the login

	dialogs []dialog // the elicitations
}

type dialog struct {
	id    string
	asked *wire.Pending
}

// link shows the address that droid opens: a client that has URL elicitation asks its
// user, all others get it in words. A user who only closes the question may be in the
// browser already, so that is no refusal.
func (s *shown) link(address string) {
	s.log("to log in to Factory, open " + address)
	inWords := func() {
		s.Announce("Log in to Factory: open "+address, "To log in to Factory, confirm the code in the browser. If no page has opened there, open "+address)
	}
	if !s.Client.URLs {
		inWords()
		return
	}
	id := uuid.NewString()
	asked := wire.Ask(s.Conn, "elicitation/create", protocol.LoginElicitation{
		RequestID: s.request, Mode: "url", ElicitationID: id, URL: address,
		Message: "Log in to Factory: confirm the code in the browser. droid opens the page, too, where it can.",
	}, func(result protocol.ElicitationResult, err error) {
		switch {
		case err != nil:
			s.Log.Info("the editor did not show where to log in", zap.Error(err))
			inWords()
		case result.Action == "decline":
			s.decline()
		}
	})
	s.dialogs = append(s.dialogs, dialog{id, asked})
}

// log tells on stderr, which some editors show.
func (s *shown) log(text string) { s.Log.Warn(text) }

// end takes back what the editor still shows.
func (s *shown) end() {
	for _, d := range s.dialogs {
		if !d.asked.Withdraw() {
			s.notify("elicitation/complete", protocol.ElicitationComplete{ElicitationID: d.id})
		}
	}
}

// tell passes on a notification, and says in words what a client would drop.
func (s *shown) tell(method string, params json.RawMessage) {
	if strings.HasPrefix(method, "$/") {
		return // about droid's own requests
	}
	if method == "elicitation/complete" && !s.Client.URLs {
		return // the client was shown the address in words
	}
	if method != "session/update" { // of a session that the editor does not know
		s.notify(method, params)
	}
	if method != "elicitation/complete" {
		s.say(params)
	}
}

func (s *shown) notify(method string, params any) {
	if err := s.Conn.Notify(method, params); err != nil {
		s.Log.Error("a notification could not be encoded", zap.String("method", method), zap.Error(err))
	}
}

// say tells in words what a message of droid's says.
func (s *shown) say(params json.RawMessage) {
	words := visible.Text(login.Words(params))
	if words == "" {
		return
	}
	line := "droid says: " + strings.ReplaceAll(words, "\n", ", ")
	s.log("to log in to Factory, " + line)
	s.Announce(line, "droid says, while it logs in:\n"+words)
}

// ask passes on a request. An elicitation of an address that the client cannot show is
// shown in words; the user, who asked for the login, may go there or not.
func (s *shown) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == "elicitation/create" {
		var mode struct{ Mode, URL string }
		_ = json.Unmarshal(params, &mode) // of another form: the client refuses it
		if mode.Mode == "url" && !s.Client.URLs && login.IsLink(mode.URL) {
			s.say(params)
			return json.RawMessage(`{"action":"accept"}`), nil
		}
		if mode.Mode != "url" && !s.Client.Forms {
			return nil, &login.Error{Code: -32601, Message: "the editor has no forms"}
		}
		params = s.scoped(params)
	}
	return s.Conn.Request(ctx, method, params)
}

// scoped makes an elicitation of droid's one of the authenticate request, since the
// editor knows neither droid's request nor a session of this droid.
func (s *shown) scoped(params json.RawMessage) json.RawMessage {
	fields := protocol.Fields(params)
	if fields == nil {
		return params
	}
	delete(fields, "sessionId")
	delete(fields, "toolCallId")
	fields["requestId"] = s.request
	encoded, err := json.Marshal(fields)
	if err != nil {
		return params
	}
	return encoded
}
