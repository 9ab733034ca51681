package adapter

import (
	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/accounts"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/jsonrpc"
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
	result, err := a.Accounts.Login(c, a.cfg.Login, method, accounts.Editor{Conn: a.Conn, Client: a.Client, Announce: a.announce, Log: a.Log})
	if err != nil {
		return nil, acperr.Login(method, err)
	}
	for _, s := range a.Sessions.List() {
		s.LoggedIn()
	}
	a.Launcher.Spare.Renew()
	if protocol.Fields(result) == nil {
		return struct{}{}, nil
	}
	return result, nil
}

// announce shows the user something that belongs to no session, in each session that is
// open: a title in one line to a client that shows notices, else the text as a message.
func (a *Agent) announce(title, text string) {
	for _, s := range a.Sessions.List() {
		s.Announce(title, text)
	}
}
