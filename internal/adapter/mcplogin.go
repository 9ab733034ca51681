package adapter

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/wire"
)

// loginTime is how long a login may take. droid itself gives up after minutes.
const loginTime = 6 * time.Minute

// login is a login to an MCP server that has begun: the user is to open url, which
// ends at droid.
type login struct {
	server  string
	url     string
	message string
	began   time.Time
	id      string             // of the elicitation, "" while the editor was not asked
	cancel  context.CancelFunc // takes the elicitation back from the editor
}

// loginCommand is a "/mcp login" that waits for the address.
type loginCommand struct {
	server string
	run    *commandRun
}

// errLoginTime is why a login was given up.
var errLoginTime = errors.New("droid did not answer within 6 minutes")

// beginLogin is "/mcp login NAME". It ends when droid has an address to open; how
// the login then ends is an event. Older droids take no other call until it has an
// outcome, so it is given up with the prompt.
func (s *Session) beginLogin(r *commandRun, name string) {
	if own := toolPrefix(name); slices.Contains(serverNames(s.servers), own) {
		name = own
	}
	r.droid(func(client *droid.Client) {
		command := &loginCommand{name, r}
		s.loggingIn = command
		r.beside(loginTime, errLoginTime, func(ctx context.Context) error {
			return client.AuthenticateMCP(ctx, name)
		}, func(err error) {
			if s.loggingIn == command {
				s.loggingIn = nil
				if r.cancelled() {
					s.cancelAuth(name)
				}
			}
			if err != nil {
				r.fail("The login to "+name+" did not begin (`/mcp` lists the servers; `/mcp` in droid's own terminal can log in, too)", err)
				return
			}
			r.reply("The MCP server " + name + " takes you as logged in.")
		})
	})
}

// loginBegan shows the user where to log in.
func (s *Session) loginBegan(ev stream.MCPAuthRequired) {
	var asked *commandRun
	if c := s.loggingIn; c != nil && toolPrefix(c.server) == toolPrefix(ev.ServerName) {
		asked, s.loggingIn = c.run, nil
	}
	if asked == nil && s.client != nil && !s.client.Version().Has(stream.KeepsLoginsOpen) {
		s.reportOnce(loginHint(ev.ServerName))
		return
	}
	s.endLogin(ev.ServerName) // the address before leads nowhere now
	l := &login{server: ev.ServerName, url: ev.AuthURL, message: ev.Message, began: time.Now()}
	if s.logins == nil {
		s.logins = map[string]*login{}
	}
	s.logins[l.server] = l
	text := l.text()
	if s.agent.client.URLs && isWebAddress(l.url) {
		text = "Your editor asks you to log in to the MCP server " + l.server + "."
		s.showLogin(l)
	} else if asked == nil {
		s.reportOnce(text)
	}
	if asked != nil {
		asked.reply(text)
	}
}

// text is what a user without a dialog needs.
func (l *login) text() string {
	text := "The MCP server " + l.server + " needs you to log in"
	if isWebAddress(l.url) {
		text += ": " + l.url
	}
	if l.message != "" {
		text += "\n" + l.message
	}
	return text
}

// loginHint tells how to log in to a server that wants it.
func loginHint(server string) string {
	return "The MCP server " + server + " needs you to log in: type `/mcp login " + server + "`."
}

// isWebAddress reports whether a browser may be sent there.
func isWebAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// showLogins shows the logins that began before the editor knew the session.
func (s *Session) showLogins() {
	for _, l := range s.logins {
		if l.id == "" && s.agent.client.URLs && isWebAddress(l.url) {
			s.showLogin(l)
		}
	}
}

// showLogin asks the editor to open the address. No turn waits for the answer.
func (s *Session) showLogin(l *login) {
	if !s.registered {
		return // register does it
	}
	l.id = uuid.NewString()
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(s.ctx)
	params := protocol.URLElicitation{SessionID: s.id, Mode: "url", ElicitationID: l.id, URL: l.url, Message: "The MCP server " + l.server + " needs you to log in."}
	s.do(func(context.Context) {
		result, err := wire.Request[protocol.ElicitationResult](ctx, s.agent.conn, "elicitation/create", params)
		if ctx.Err() == nil {
			s.post(func() { s.loginAnswered(l, result.Action, err) })
		}
	})
}

// loginAnswered takes what the user said to the address.
func (s *Session) loginAnswered(l *login, action string, err error) {
	switch {
	case s.logins[l.server] != l:
		return
	case err != nil:
		s.log.Info("the editor did not show where to log in", zap.Error(err))
		s.report(l.text())
	case action != "accept":
		s.endLogin(l.server)
		s.report("You did not log in to the MCP server " + l.server + ". `/mcp login " + l.server + "` starts it again.")
		s.cancelAuth(l.server)
	}
}

// cancelAuth has droid no longer wait for a login.
func (s *Session) cancelAuth(server string) {
	client := s.client
	if client == nil {
		return
	}
	s.do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, settingsTime)
		defer cancel()
		if err := client.CancelMCPAuth(ctx, server); err != nil {
			s.agent.log.Debug("cancelling a login", zap.Error(err))
		}
	})
}

// loginEnded tells how a login ended. One that the user declined is no news.
func (s *Session) loginEnded(ev stream.MCPAuthCompleted) {
	l := s.logins[ev.ServerName]
	if l != nil && l.id != "" {
		s.write("elicitation/complete", protocol.ElicitationComplete{ElicitationID: l.id})
	}
	s.endLogin(ev.ServerName)
	switch {
	case ev.Outcome == "success":
		s.report("You are logged in to the MCP server " + ev.ServerName + ".")
	case l != nil:
		s.report("The login to the MCP server " + ev.ServerName + " failed: " + strings.TrimSuffix(ev.Message, ".") +
			". `/mcp login " + ev.ServerName + "` starts it again.")
	}
}

// endLogin forgets a login and takes its dialog back.
func (s *Session) endLogin(server string) {
	if l := s.logins[server]; l != nil {
		if l.cancel != nil {
			l.cancel()
		}
		delete(s.logins, server)
	}
}

// endLogins ends all: droid, where they lead, is gone.
func (s *Session) endLogins() {
	for server := range s.logins {
		s.endLogin(server)
	}
}

// logsIn reports whether the user may be about to log in to a server.
func (s *Session) logsIn(now time.Time) bool {
	for _, l := range s.logins {
		if now.Before(l.began.Add(loginTime)) {
			return true
		}
	}
	return false
}
