package adapter

import (
	"os"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/gateway"
	"droid-acp/internal/jsonrpc"
)

// listProviders answers with the one provider that a client can set.
func (a *Agent) listProviders(*wire.Call) (any, *jsonrpc.Error) {
	return protocol.ProvidersResult{Providers: []protocol.ProviderInfo{a.Provider.Info()}}, nil
}

// setProvider sets the gateway whose models droids get in addition to the user's own. It answers when the gateway has listed them. Droids
// that are idle end at once, the others after their turns.
func (a *Agent) setProvider(c *wire.Call) (any, *jsonrpc.Error) {
	var p protocol.SetProviderParams
	if err := acperr.Decode(c.Params, &p); err != nil {
		return nil, err
	}
	if p.ProviderID != gateway.ProviderID {
		return nil, acperr.InvalidParams("unknown providerId; the only one is %q", gateway.ProviderID)
	}
	return a.useGateway(c, p)
}

// useGateway sets the gateway.
func (a *Agent) useGateway(c *wire.Call, p protocol.SetProviderParams) (any, *jsonrpc.Error) {
	g, err := gateway.New(p.APIType, p.BaseURL, p.Headers)
	if err != nil {
		return nil, acperr.InvalidParams("%v", err)
	}
	if err := droid.ModelsTakeSettings(os.Environ()); err != nil {
		return nil, acperr.Internal("provider_refused", "The provider was not set: "+err.Error()+" Start the agent without that variable, and write its settings into ~/.factory/settings.json.")
	}
	change := a.Provider.Begin()
	defer change.End()
	c.Async()
	changed, notice, err := change.Set(c.Context, g)
	if err != nil && c.Context.Err() != nil {
		return nil, acperr.Cancelled()
	}
	if err != nil {
		return nil, acperr.Internal("provider_refused", "The provider was not set: "+err.Error()+".")
	}
	a.Log.Info("the client has set a provider", zap.String("host", g.Host()), zap.String("apiType", g.APIType), zap.Bool("changed", changed))
	if changed {
		a.Accounts.Revoke()
	}
	change.End()
	if changed {
		a.replaceDroids()
	}
	if notice != "" {
		a.announce("The provider has no models", notice)
	}
	return protocol.NewNoticeResult(notice), nil
}

// authenticateGateway sets the gateway that an authenticate request has, as clients did before providers/set.
func (a *Agent) authenticateGateway(c *wire.Call, apiType string) (any, *jsonrpc.Error) {
	p, ok := protocol.GatewayOf(c.Params)
	if !ok {
		return nil, acperr.InvalidParams("_meta.gateway is missing; it is an object with baseUrl and headers")
	}
	p.APIType = apiType
	return a.useGateway(c, p)
}

// disableProvider makes droids start without the gateway.
func (a *Agent) disableProvider(c *wire.Call) (any, *jsonrpc.Error) {
	var p struct {
		ProviderID string `json:"providerId"`
	}
	if err := acperr.Decode(c.Params, &p); err != nil {
		return nil, err
	}
	if p.ProviderID != gateway.ProviderID {
		return struct{}{}, nil // as ACP wants it
	}
	if _, err := a.dropGateway(c); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

// dropGateway forgets the gateway and its keys. It reports whether there was one.
func (a *Agent) dropGateway(c *wire.Call) (was bool, _ *jsonrpc.Error) {
	change := a.Provider.Begin()
	defer change.End()
	c.Async()
	was, changed, err := change.Disable(c.Context)
	if err != nil {
		return false, acperr.Cancelled()
	}
	if was {
		a.Log.Info("the provider of the client is no longer set")
	}
	if changed {
		a.Accounts.Revoke()
		change.End()
		a.replaceDroids()
	}
	return was, nil
}

// replaceDroids ends droids that have another provider than a new one would get: idle ones now, others after their turns.
func (a *Agent) replaceDroids() {
	a.Launcher.ForgetPreview()
	for _, s := range a.Sessions.List() {
		s.ProviderChanged()
	}
	a.Launcher.Spare.Renew()
}

// logoutText is the part of logout's answer that names the login which stays.
const logoutText = "droid's own login is not this agent's to end: start `droid` and type /logout."

// logout forgets the keys that the client has given. droid keeps its own login.
func (a *Agent) logout(c *wire.Call) (any, *jsonrpc.Error) {
	was, err := a.dropGateway(c)
	if err != nil {
		return nil, err
	}
	text := "No keys were given to this agent. " + logoutText
	if was {
		text = "The keys that were given to this agent are forgotten, and the provider is no longer set. " + logoutText
	}
	a.announce("Logged out of the provider, not of Factory", text)
	return protocol.NewNoticeResult(text), nil
}

// authStatus answers with what is known of logins. droid cannot be asked, so before a turn has shown it, it is not known.
func (a *Agent) authStatus(*wire.Call) (any, *jsonrpc.Error) {
	result := protocol.AuthStatusResult{State: protocol.UnknownAuth}
	switch status := a.Accounts.Status(); status.Kind {
	case "":
	case "none":
		result.State = protocol.Unauthenticated
	default:
		result.State = protocol.Authenticated
		result.Accounts = append(result.Accounts, protocol.AuthAccount{Label: status.Label, Active: true})
	}
	if account, keys, ok := a.Provider.Account(); ok { // sessions start with its models
		result.Accounts = append(result.Accounts, account)
		if result.State != protocol.Authenticated && !keys {
			result.State = protocol.NotRequired
		} else {
			result.State = protocol.Authenticated
		}
	}
	return result, nil
}
