package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// agentKind decides whether clients share an agent: how the agent is started, and what the client declares.
type agentKind struct {
	attachParams AttachParams
	program      fileID // identifies hello.Program when a session was last opened
	caps         protocol.ClientCapabilities
	abilities    string // all of caps that an agent acts on
	provider     provider
}

// ignoredVariables are variables that may differ between equivalent environments: no program acts on them. Sessions name their directory
// themselves.
var ignoredVariables = []string{"_", "OLDPWD", "PWD", "SHLVL", "WINDOWID"}

// isLike reports whether agents of both kinds would open sessions alike.
func (k agentKind) isLike(other agentKind) bool {
	return k.attachParams.Program == other.attachParams.Program && k.program == other.program && slices.Equal(k.attachParams.Args, other.attachParams.Args) &&
		k.abilities == other.abilities && k.provider.kind() == other.provider.kind() && len(differing(k.attachParams.Env, other.attachParams.Env)) == 0
}

// differing returns the sorted names of variables that differ between two environments.
func differing(one, other []string) (names []string) {
	has := map[string]string{}
	for _, v := range one {
		name, value, _ := strings.Cut(v, "=")
		has[name] = value
	}
	for _, v := range other {
		name, value, _ := strings.Cut(v, "=")
		if was, known := has[name]; !known || was != value {
			names = append(names, name)
		}
		delete(has, name)
	}
	for name := range has {
		names = append(names, name)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(ignoredVariables, name) })
	slices.Sort(names)
	return slices.Compact(names)
}

// canonical returns JSON that does not depend on the order of fields.
func canonical(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	text, _ := json.Marshal(v) // decoded JSON can be encoded
	return string(text)
}

// mostNames limits the names of variables in a note.
const mostNames = 5

// compareAgents compares the agent that a client would get with the agent of the session that it joins. A client whose own agent would
// allow less is refused; others get a note about what does not apply to them.
func (c *Client) compareAgents(o *session) (refusal *jsonrpc.Error, note string) {
	has := o.agent.agentKind
	if c.joinsOnly() || o.subscriber(c) != nil || has.isLike(c.agentKind) {
		return nil, ""
	}
	var settings []string
	if compare := c.server.Compare; compare != nil {
		var stricter string
		if stricter, settings = compare(has.attachParams, c.attachParams); stricter != "" {
			return jsonrpc.PlainError(jsonrpc.CodeInvalidParams, "The session cannot be opened: its agent was not started with "+stricter+", as this window's would be; "+
				"close the session in each window, or end it by "+c.server.Command("stop", o.id)+", then open it here"), ""
		}
	}
	if has.attachParams.Program != c.attachParams.Program || has.program != c.program {
		settings = append(settings, "another version of the program")
	}
	variables := differing(has.attachParams.Env, c.attachParams.Env)
	for i, name := range variables {
		if i == mostNames {
			settings = append(settings, fmt.Sprintf("%d more variables", len(variables)-i))
			break
		}
		settings = append(settings, markdown.Code("$"+visible.Line(name)))
	}
	if has.provider.kind() != c.provider.kind() {
		settings = append(settings, "no provider, as the editor that opened it has set one")
	}
	settings = append(settings, extraAbilities(c.caps, has.caps)...)
	if len(settings) == 0 {
		return nil, ""
	}
	return nil, "\n\nThe agent of this session was started otherwise, and does not use of this window: " + strings.Join(settings, ", ") +
		". To change that, close the session in each window, then open it here.\n\n"
}
