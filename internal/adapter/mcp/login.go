package mcp

import (
	"net/url"
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
)

// LoginTime is how long a login may take. droid itself gives up after minutes.
const LoginTime = 6 * time.Minute

// Login is a login to an MCP server that has begun: the user is to open URL, which
// ends at a port of droid's.
type Login struct {
	Server string
	URL    string

	message string
	began   time.Time
	dialog  string // the id of the editor's dialog, "" while the editor was not asked
	asked   Dialog // that dialog
}

// Text says, for a user who gets no dialog, where to log in. It leaves out an address that
// no browser should be sent to.
func (l *Login) Text() string {
	text := "The MCP server " + l.Server + " needs you to log in"
	if isWebAddress(l.URL) {
		text += ": " + l.URL
	}
	if l.message != "" {
		text += "\n" + l.message
	}
	return text
}

// loginHint says how to log in to a server that requires it.
func loginHint(server string) string {
	return "The MCP server " + server + " needs you to log in: type " + loginCommand(server) + "."
}

func loginCommand(server string) string { return "`/mcp login " + server + "`" }

// isWebAddress reports whether a browser may be sent there.
func isWebAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// PendingLogin is a "/mcp login" that waits for droid's address.
type PendingLogin struct {
	Reply string // answers the user; "" until the address is known

	server string
}

// BeginLogin records that the user wants to log in to a server. It replaces the PendingLogin before.
func (s *Servers) BeginLogin(server string) *PendingLogin {
	s.pending = &PendingLogin{server: server}
	return s.pending
}

// DropLogin removes a PendingLogin. It reports whether that still waited for an address.
func (s *Servers) DropLogin(a *PendingLogin) (waited bool) {
	if s.pending != a {
		return false
	}
	s.pending = nil
	return true
}

// Began lists the actions of a session when a login has begun, in this order.
type Began struct {
	Show  *Login   // the editor is to be asked to open its address; nil for not
	Texts []string // to show to the user
}

// LoginBegan takes the address of a login, which the "/mcp login" that asked for it replies with. dialogs is whether
// the editor can ask the user to open one. A login to the same server that began before is over.
func (s *Servers) LoginBegan(now time.Time, ev stream.MCPAuthRequired, dialogs bool) (do Began) {
	asked := s.pending
	if asked != nil && toolPrefix(asked.server) == toolPrefix(ev.ServerName) {
		s.pending = nil
	} else {
		asked = nil
	}
	if asked == nil && !s.process.Version.Supports(stream.KeepsLoginsOpen) {
		do.Texts = s.once(loginHint(ev.ServerName)) // its address leads nowhere
		return do
	}
	s.endLogin(ev.ServerName) // the address before leads nowhere now
	l := &Login{Server: ev.ServerName, URL: ev.AuthURL, message: ev.Message, began: now}
	if s.logins == nil {
		s.logins = make(map[string]*Login)
	}
	s.logins[l.Server] = l
	text := l.Text()
	if dialogs && isWebAddress(l.URL) {
		text = "Your editor asks you to log in to the MCP server " + l.Server + "."
		do.Show = l
	} else if asked == nil {
		do.Texts = s.once(text)
	}
	if asked != nil {
		asked.Reply = text
	}
	return do
}

// Dialog is a question that the editor has, and that can be taken back.
type Dialog interface{ Withdraw() bool }

// Shown says that the editor was asked to open the address of a login, in a dialog
// of this id, which is withdrawn once at most.
func (s *Servers) Shown(l *Login, dialog string, asked Dialog) { l.dialog, l.asked = dialog, asked }

// LoginAnswered handles the user's answer to the dialog of a login: an action of ACP's elicitation, or an error if the editor did not show
// it. It returns the text for the user, "" for none, and whether droid must stop waiting for the login.
func (s *Servers) LoginAnswered(l *Login, action string, failed bool) (text string, cancel bool) {
	switch {
	case s.logins[l.Server] != l:
		return "", false
	case failed:
		return l.Text(), false
	case action == "accept":
		return "", false
	}
	s.endLogin(l.Server)
	return "You did not log in to the MCP server " + l.Server + ". " + loginCommand(l.Server) + " starts it again.", true
}

// DialogOf returns the id of the dialog that asks the user to log in to a server,
// "" when there is none.
func (s *Servers) DialogOf(server string) string {
	if l := s.logins[server]; l != nil {
		return l.dialog
	}
	return ""
}

// LoginEnded handles the end of a login, and withdraws its dialog. It returns the text for the user, "" for none: a login that the user
// declined is no news.
func (s *Servers) LoginEnded(ev stream.MCPAuthCompleted) (text string) {
	l := s.logins[ev.ServerName]
	s.endLogin(ev.ServerName)
	switch {
	case ev.Outcome == "success":
		text = "You are logged in to the MCP server " + ev.ServerName + "."
	case l != nil:
		text = "The login to the MCP server " + ev.ServerName + " failed: " + strings.TrimSuffix(ev.Message, ".") +
			". " + loginCommand(ev.ServerName) + " starts it again."
	}
	return text
}

// endLogin forgets a login and takes its dialog back.
func (s *Servers) endLogin(server string) {
	l := s.logins[server]
	if l == nil {
		return
	}
	delete(s.logins, server)
	if l.asked != nil {
		l.asked.Withdraw()
	}
}

// EndLogins forgets all logins and takes their dialogs back.
func (s *Servers) EndLogins() {
	for server := range s.logins {
		s.endLogin(server)
	}
}

// LogsIn reports whether the user may be about to log in to a server.
func (s *Servers) LogsIn(now time.Time) bool {
	for _, l := range s.logins {
		if now.Before(l.began.Add(LoginTime)) {
			return true
		}
	}
	return false
}
