package mcp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

func loginAt(url string) stream.MCPAuthRequired {
	return stream.MCPAuthRequired{ServerName: "safe", AuthURL: url, Message: "Please."}
}

// ready are servers of a process whose logins can be done.
func ready() *Servers {
	s := new(Servers)
	s.DroidStarted(begin, newest())
	return s
}

// dialog counts how often the editor's dialog was withdrawn.
type dialog int

func (d *dialog) Withdraw() bool {
	*d++
	return true
}

// shown returns a login that the editor shows, and a count of its withdrawals.
func shown(t *testing.T, s *Servers) (l *Login, takenBack *dialog) {
	do := s.LoginBegan(begin, loginAt("https://example.com/login"), true)
	require.NotNil(t, do.Show)
	require.Empty(t, do.Texts)
	takenBack = new(dialog)
	s.Shown(do.Show, "dialog", takenBack)
	require.Equal(t, "dialog", s.DialogOf("safe"))
	return do.Show, takenBack
}

// The user's answer and the outcome of the login are reported once each.
func TestLogin(t *testing.T) {
	for _, tc := range []struct {
		action  string
		failed  bool
		outcome string
		answer  string
		cancel  bool
		end     string
	}{
		{"accept", false, "success", "", false, "You are logged in to the MCP server safe."},
		{"accept", false, "error", "", false, "The login to the MCP server safe failed: It broke. `/mcp login safe` starts it again."},
		{"decline", false, "cancelled", "You did not log in to the MCP server safe. `/mcp login safe` starts it again.", true, ""},
		{"_later", false, "success", "You did not log in to the MCP server safe. `/mcp login safe` starts it again.", true, "You are logged in to the MCP server safe."},
		{"", true, "success", "The MCP server safe needs you to log in: https://example.com/login\nPlease.", false, "You are logged in to the MCP server safe."},
	} {
		s := ready()
		l, takenBack := shown(t, s)
		text, cancel := s.LoginAnswered(l, tc.action, tc.failed)
		require.Equal(t, tc.answer, text)
		require.Equal(t, tc.cancel, cancel)
		require.Equal(t, tc.cancel, s.DialogOf("safe") == "")
		require.Equal(t, tc.end, s.LoginEnded(stream.MCPAuthCompleted{ServerName: "safe", Outcome: tc.outcome, Message: "It broke."}))
		require.EqualValues(t, 1, *takenBack)
		require.False(t, s.LogsIn(begin))
		text, cancel = s.LoginAnswered(l, "decline", false)
		require.Empty(t, text, "it is over")
		require.False(t, cancel)
	}
}

// A dialog is withdrawn by a newer address, and at the end of its login, process or session.
func TestLoginIsTakenBack(t *testing.T) {
	for name, end := range map[string]func(s *Servers){
		"by a newer address": func(s *Servers) { s.LoginBegan(begin, loginAt("https://example.com/newer"), true) },
		"with the process":   func(s *Servers) { s.DroidExited() },
		"with the session":   func(s *Servers) { s.EndLogins() },
		"at its end":         func(s *Servers) { s.LoginEnded(stream.MCPAuthCompleted{ServerName: "safe"}) },
	} {
		s := ready()
		_, takenBack := shown(t, s)
		end(s)
		require.EqualValues(t, 1, *takenBack, name)
		s.EndLogins()
		require.EqualValues(t, 1, *takenBack, name)
	}
}

// Without a dialog the user gets the address, once; an address that is none of the
// web stays hidden.
func TestLoginWithoutDialog(t *testing.T) {
	for _, tc := range []struct {
		address string
		dialogs bool
		want    string
	}{
		{"https://example.com/login", false, "The MCP server safe needs you to log in: https://example.com/login\nPlease."},
		{"http://127.0.0.1:1", false, "The MCP server safe needs you to log in: http://127.0.0.1:1\nPlease."},
		{"javascript:alert(1)", true, "The MCP server safe needs you to log in\nPlease."},
		{"file:///etc/passwd", true, "The MCP server safe needs you to log in\nPlease."},
		{"https:", true, "The MCP server safe needs you to log in\nPlease."},
	} {
		s := ready()
		do := s.LoginBegan(begin, loginAt(tc.address), tc.dialogs)
		require.Nil(t, do.Show)
		require.Equal(t, []string{tc.want}, do.Texts)
		require.Empty(t, s.LoginBegan(begin, loginAt(tc.address), tc.dialogs).Texts)
	}
}

// "/mcp login" is answered with the address or with a word on the dialog, and once.
func TestAskedLogin(t *testing.T) {
	for dialogs, want := range map[bool]string{
		true:  "Your editor asks you to log in to the MCP server safe.",
		false: "The MCP server safe needs you to log in: https://example.com/login\nPlease.",
	} {
		s := new(Servers)
		s.DroidStarted(begin, Abilities{}) // before 0.215 an address has a login behind it when it was asked for
		asked := s.BeginLogin("safe")
		do := s.LoginBegan(begin, loginAt("https://example.com/login"), dialogs)
		require.Equal(t, dialogs, do.Show != nil)
		require.Empty(t, do.Texts)
		require.Equal(t, want, asked.Reply)
		require.False(t, s.DropLogin(asked), "it has its address")
		s.LoginBegan(begin, loginAt("https://example.com/again"), dialogs)
		require.Equal(t, want, asked.Reply)
	}
	s := ready()
	asked := s.BeginLogin("safe")
	s.LoginBegan(begin, stream.MCPAuthRequired{ServerName: "other"}, true)
	require.Empty(t, asked.Reply)
	require.True(t, s.DropLogin(asked))
	require.False(t, s.DropLogin(asked))
	first, second := s.BeginLogin("a"), s.BeginLogin("b")
	require.False(t, s.DropLogin(first))
	require.True(t, s.DropLogin(second))
}

// Before 0.215 an address without a login request leads nowhere.
func TestLoginOfAnOldDroid(t *testing.T) {
	s := new(Servers)
	s.DroidStarted(begin, Abilities{})
	do := s.LoginBegan(begin, loginAt("https://example.com/login"), true)
	require.Equal(t, Began{Texts: []string{loginHint("safe")}}, do)
	require.False(t, s.LogsIn(begin))
	require.Empty(t, s.LoginBegan(begin, loginAt("https://example.com/login"), true).Texts)
}

// A login that was begun may still be done for LoginTime.
func TestLogsIn(t *testing.T) {
	s := ready()
	require.False(t, s.LogsIn(begin))
	s.LoginBegan(begin, loginAt("https://example.com/login"), false)
	require.True(t, s.LogsIn(begin.Add(LoginTime-1)))
	require.False(t, s.LogsIn(begin.Add(LoginTime)))
	require.False(t, s.LogsIn(begin.Add(time.Hour)))
}
