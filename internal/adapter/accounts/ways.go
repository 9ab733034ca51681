package accounts

import (
	"fmt"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/gateway"
	"droid-acp/internal/droid/login"
)

// Ways to log in, besides droid's own in package login.
const (
	// loginEarlier is the name of the only method of earlier versions. Clients may
	// have stored it.
	loginEarlier = "factory-login"
	// loginTerminal is this program's login command, which the client runs in a terminal.
	loginTerminal = "droid-acp-login"
)

// gateways are the methods by which a client sets a gateway to models, with the API that it then has.
var gateways = []struct{ id, apiType, name string }{
	{"gateway", gateway.OpenAI, "Use a gateway with an API as OpenAI's"},
	{"gateway-anthropic", gateway.Anthropic, "Use a gateway with an API as Anthropic's"},
}

// GatewayType returns the API of the gateway that a method sets, "" for other methods.
func GatewayType(method string) string {
	for _, g := range gateways {
		if g.id == method {
			return g.apiType
		}
	}
	return ""
}

// Command is this program's login command, for clients that run it in a terminal. Without a
// Path there is none.
type Command struct {
	Path string            // of this program
	Args []string          // for the login, with all that it needs
	Env  map[string]string // variables to add
}

// Ways returns the ways to log in that this client can go. They are offered without asking
// droid, also where there is none.
func Ways(client protocol.ClientCapabilities, command Command) []protocol.AuthMethod {
	pairing := protocol.AuthMethod{ID: login.Pairing, Name: "Log in to Factory",
		Description: "droid opens a page in your browser, on which you confirm a code."}
	key := protocol.AuthMethod{ID: login.APIKey, Name: "Use a Factory API key",
		Description: "droid takes the key from the variable FACTORY_API_KEY of the environment in which this agent was started."}
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
	if client.TerminalLogin && pairing.Meta == nil { // else the client runs the login command already
		methods = append(methods, protocol.AuthMethod{Type: "terminal", ID: loginTerminal, Name: "Log in to Factory in a terminal",
			Description: "Runs this agent's login command, which shows the address to open and the code to confirm.",
			Args:        []string{"login"}})
	}
	for _, g := range gateways {
		if client.Gateways {
			methods = append(methods, protocol.AuthMethod{ID: g.id, Name: g.name, Description: "The editor gives the address and the headers; no login to Factory is needed.",
				Meta: map[string]any{"gateway": map[string]any{"protocol": g.apiType}}})
		}
	}
	return methods
}

// MethodOf returns the method of droid's by which a client is to be logged in that has chosen this way.
func MethodOf(way string) (string, error) {
	switch way {
	case login.Pairing, login.APIKey:
		return way, nil
	case loginEarlier:
		return login.Pairing, nil
	case loginTerminal:
		return "", fmt.Errorf("the method %q is not for authenticate: run this agent with the argument \"login\" in a terminal (ACP, authentication methods)", way)
	}
	return "", fmt.Errorf("unknown methodId %q; the methods are %q and %q", way, login.Pairing, login.APIKey)
}
