package session

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/internal/updates"
	"droid-acp/internal/adapter/mcp"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
)

// errLoginTime is the error if a login takes too long.
var errLoginTime = errors.New("droid did not answer within 6 minutes")

// LogInToMCP begins the login to an MCP server. It returns, with the reply for the user, when droid has an address to open; a later event
// reports how the login ended. Older droids take no other call until they have answered this one, so the answer is not awaited after ctx
// has ended.
func (s *Session) LogInToMCP(ctx context.Context, name string) (reply string, err error) {
	name = s.servers.Resolve(name)
	client, err := s.readyDroid(ctx)
	if err != nil {
		return "", err
	}
	asked, answered := s.servers.BeginLogin(name), false
	s.mu.Go(func() {
		err = s.callWithin(ctx, mcp.LoginTime, errLoginTime, func(ctx context.Context) error { return client.AuthenticateMCP(ctx, name) })
		answered = true
	})
	given := s.mu.WaitFor(ctx, "a login", untilAddress, func() bool { return answered || asked.Reply != "" })
	if s.servers.DropLogin(asked) && wasCancelled(ctx) {
		s.cancelAuth(name)
	}
	switch {
	case given != nil: // ctx has ended
		return "", given
	case asked.Reply != "":
		return asked.Reply, nil
	case err != nil:
		return "", Failed("The login to "+name+" did not begin (`/mcp` lists the servers; `/mcp` in droid's own terminal can log in, too)", err)
	}
	return "You are logged in to the MCP server " + name + " already.", nil
}

// loginBegan shows the user where to log in.
func (s *Session) loginBegan(ev stream.MCPAuthRequired) {
	do := s.servers.LoginBegan(time.Now(), ev, s.deps.Client.URLs)
	if do.Show != nil {
		s.showLogin(do.Show)
	}
	s.update(render.Notices(do.Texts)...)
}

// showLogin asks the editor to open the address. No turn waits for the answer.
func (s *Session) showLogin(l *mcp.Login) {
	if s.ended {
		return
	}
	dialog := uuid.NewString()
	s.mu.Go(func() { s.askToLogIn(s.Context, l, dialog) })
}

// askToLogIn asks the user to log in, in a dialog of this id, and heeds what they say.
func (s *Session) askToLogIn(ctx context.Context, l *mcp.Login, dialog string) {
	params := protocol.URLElicitation{SessionID: s.out.Session(), Mode: "url", ElicitationID: dialog, URL: l.URL, Message: protocol.Text("The MCP server " + l.Server + " needs you to log in.")}
	asked := updates.SendRequest[protocol.ElicitationResult](s.out, "elicitation/create", params)
	s.servers.Shown(l, dialog, asked)
	result, err := asked.Await(context.Background())
	switch {
	case err == updates.ErrWithdrawn:
		return
	case err != nil:
		s.log.Info("the editor did not show where to log in", zap.Error(err))
	}
	text, cancel := s.servers.LoginAnswered(l, result.Action, err != nil)
	if text != "" {
		s.update(render.Notice(text))
	}
	if cancel {
		s.cancelAuth(l.Server)
	}
}

// cancelAuth makes droid stop waiting for a login.
func (s *Session) cancelAuth(server string) {
	client := s.proc.Client()
	if client == nil {
		return
	}
	s.async(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, settingsTime)
		defer cancel()
		if err := client.CancelMCPAuth(ctx, server); err != nil {
			s.deps.Log.Debug("cancelling a login", zap.Error(err))
		}
	})
}

// loginEnded says how a login ended.
func (s *Session) loginEnded(ev stream.MCPAuthCompleted) {
	if dialog := s.servers.DialogOf(ev.ServerName); dialog != "" {
		s.deps.Notify("elicitation/complete", protocol.ElicitationComplete{ElicitationID: dialog})
	}
	if text := s.servers.LoginEnded(ev); text != "" {
		s.update(render.Notice(text))
	}
}
