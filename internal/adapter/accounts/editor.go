package accounts

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

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
	// Announce shows the user something that belongs to no session: a title in one line to a
	// client that shows notices, else the text.
	Announce func(title, text string)
	Log      *zap.Logger
}

// shown is the part of one authenticate request that the editor shows.
type shown struct {
	Editor
	accounts *Accounts
	attempt  *attempt
	request  json.RawMessage         // the id of the request
	end      context.CancelCauseFunc // of the login
	shows    context.Context         // until it ends the address is shown

	dialogs sync.WaitGroup // goroutines of asksToOpen
}

// link shows the address that droid opens: a client that has URL elicitation asks its user, all others get it in words.
func (s *shown) link(address string) {
	s.accounts.mu.Lock()
	s.attempt.address = address
	s.accounts.mu.Unlock()
	s.log("to log in to Factory, open " + address)
	if s.Client.URLs {
		s.dialogs.Go(func() { s.asksToOpen(address) })
	} else {
		s.inWords(address)
	}
}

// asksToOpen makes the client ask its user to open the page, and withdraws the question at the end. A user who only closes the question may
// already be in the browser, so that is no refusal.
func (s *shown) asksToOpen(address string) {
	ctx, id := s.shows, uuid.NewString()
	result, err := wire.Request[protocol.ElicitationResult](ctx, s.Conn, "elicitation/create", protocol.LoginElicitation{
		RequestID: s.request, Mode: "url", ElicitationID: id, URL: address,
		Message: "Log in to Factory: confirm the code in the browser. droid opens the page, too, where it can.",
	})
	switch {
	case ctx.Err() != nil && err != nil: // it is taken back
		return
	case err != nil:
		s.Log.Info("the editor did not show where to log in", zap.Error(err))
		s.inWords(address)
		return
	case result.Action == "decline":
		s.end(login.ErrDeclined)
	}
	<-ctx.Done()
	s.notify("elicitation/complete", protocol.ElicitationComplete{ElicitationID: id})
}

func (s *shown) inWords(address string) {
	s.Announce("Log in to Factory: open "+address, "To log in to Factory, confirm the code in the browser. If no page has opened there, open "+address)
}

// log writes to stderr, which some editors show.
func (s *shown) log(text string) { s.Log.Warn(text) }

// tell sends a notification, and as text what a client would drop.
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

// say puts a message of droid's into words.
func (s *shown) say(params json.RawMessage) {
	words := visible.Text(login.PlainText(params))
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
