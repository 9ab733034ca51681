package droid

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"droid-acp/internal/droid/layer"
	"droid-acp/internal/droid/stream"
)

// A process can be started without what a project brings to run. droid has no switch for
// that: its headless modes take all of a project's files (0.99 to 0.225). What it does
// have are settings of one process, which win over the project's (measured on 0.99.0,
// 0.117.0, 0.215.0 and 0.225.2):
//
//   - mcpPolicy refuses each MCP server whose command, arguments or host have none of the
//     texts of a list in them. It also refuses servers that a file names later on.
//   - An MCP server of the same name takes the place of the project's.
//   - hooks.hooksDisabled turns off all hooks, the user's too. Before 0.215 the hooks of the
//     process replace all others event by event, so there the user's can be put in.
//   - commandDenylist has droid ask about a command that a commandAllowlist allows.
//   - sessionDefaultSettings, and the same keys beside it, have the mode in which a session
//     starts.

// LeftOutError says that a process cannot be started without what the project brings.
type LeftOutError struct{ Why string }

func (e *LeftOutError) Error() string { return e.Why }

// strictest are the settings of a process that waits for its session in this layer: no MCP
// server of anybody starts, and no hook runs. The rest stays as it is when the session is
// opened: 0.99 reads it only once.
func strictest(home string, without layer.Layer) ([]byte, error) {
	user, err := layer.ReadUser(home)
	if err != nil {
		return nil, unreadable(err)
	}
	settings := map[string]any{"mcpPolicy": map[string]any{"enabled": true, "allowlist": []string{}}, "hooks": map[string]any{"hooksDisabled": true}}
	askAsBefore(settings, user, without)
	return json.Marshal(settings)
}

func unreadable(err error) error {
	return &LeftOutError{Why: "your own settings are needed for that and cannot be read: " + err.Error() + "."}
}

// askAsBefore has droid ask as it would without the layer.
func askAsBefore(settings map[string]any, user layer.User, without layer.Layer) {
	var deny []string
	for _, i := range without.Of(layer.Allowed) {
		if !slices.Contains(user.Allowed, i.Does) {
			deny = append(deny, i.Does)
		}
	}
	if len(deny) > 0 {
		settings["commandDenylist"] = deny
	}
	if without.Has(layer.Autonomy) {
		settings["sessionDefaultSettings"] = user.Autonomy
		for key, value := range user.Autonomy { // a project's keys beside that object count, too
			settings[key] = value
		}
	}
}

// hookEvents are the events for which droid runs hooks (0.99 to 0.225).
var hookEvents = []string{
	"Notification", "PostToolUse", "PreCompact", "PreToolUse", "SessionEnd", "SessionStart", "Stop", "SubagentStop", "UserPromptSubmit",
}

// noHook is a hook that replaces a list of others and is never run: no tool and no event
// has such a name.
var noHook = json.RawMessage(`{"matcher":"^-$","hooks":[{"type":"command","command":"exit 0"}]}`)

// withoutLayer completes the settings of a process so that the layer is left out. hooks
// are those of the process, if it gets any.
func (c *Client) withoutLayer(settings map[string]any, servers map[string]any, r Runtime) error {
	if !c.Version().Has(stream.LeavesLayerOut) {
		return &LeftOutError{Why: c.Version().Lacks(stream.LeavesLayerOut)}
	}
	user, err := layer.ReadUser(Home(c.env))
	if err != nil {
		return unreadable(err)
	}
	for _, i := range r.Without.Of(layer.MCPServer) {
		if _, ours := servers[i.Name]; ours {
			continue
		}
		servers[i.Name] = map[string]any{"type": "stdio", "command": "false", "disabled": true}
		if own, ok := user.Servers[i.Name]; ok {
			servers[i.Name] = own
		}
	}
	if !user.Policy { // theirs holds, and ours would take its place
		settings["mcpPolicy"] = map[string]any{"enabled": true, "allowlist": allowlist(r.MCPServers, user.Servers)}
	}
	askAsBefore(settings, user, *r.Without)
	return c.withoutHooks(settings, user, r)
}

// withoutHooks leaves the project's hooks out. The process's own, if settings has any,
// stay where the version can do that.
func (c *Client) withoutHooks(settings map[string]any, user layer.User, r Runtime) error {
	if !r.Without.Has(layer.Hook, layer.Plugin) {
		return nil
	}
	if c.Version().Has(stream.AddsHooks) {
		if user.Hooks {
			return &LeftOutError{Why: "this droid can leave out the project's hooks only together with your own in ~/.factory, which may forbid something."}
		}
		settings["hooks"] = map[string]any{"hooksDisabled": true}
		return nil
	}
	hooks, _ := settings["hooks"].(hooksByEvent)
	users, err := homeHooks(Home(c.env), hookEvents)
	if err != nil {
		return &LeftOutError{Why: "your own hooks would be left out, too, as they cannot be read: " + err.Error()}
	}
	all := make(hooksByEvent)
	for _, event := range hookEvents {
		all[event] = append(users[event], hooks[event]...)
		if len(all[event]) == 0 {
			all[event] = []json.RawMessage{noHook}
		}
	}
	settings["hooks"] = all
	return nil
}

// allowlist has a text of each server that is to start. droid compares the letters and
// digits of a command or an argument, or a host.
func allowlist(servers []stream.MCPServer, users map[string]json.RawMessage) []string {
	list := []string{} // an empty one refuses all
	for _, s := range servers {
		list = append(list, mark(s.Command, s.Args, s.URL))
	}
	for _, raw := range users {
		var s struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
			URL     string   `json:"url"`
		}
		if json.Unmarshal(raw, &s) == nil { // else droid does not take it either
			list = append(list, mark(s.Command, s.Args, s.URL))
		}
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(s string) bool { return s == "" })
}

// mark is the longest text by which a server can be known: the less a text says, the more
// servers have it.
func mark(command string, args []string, address string) string {
	if address != "" {
		u, err := url.Parse(address)
		if err != nil {
			return ""
		}
		return u.Hostname()
	}
	best, most := "", 0
	for _, word := range append([]string{command}, args...) {
		if n := len(strings.Join(strings.FieldsFunc(word, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "")); n > most {
			best, most = word, n
		}
	}
	return best
}

// withoutWatcher adds a variable that overrules core.fsmonitor for git, behind those that
// are set in this way already (git, "GIT_CONFIG_COUNT").
func withoutWatcher(env []string) []string {
	count := 0
	for _, v := range env { // the last one counts
		if text, ok := strings.CutPrefix(v, "GIT_CONFIG_COUNT="); ok {
			count, _ = strconv.Atoi(text) // git takes no other; then none of them counts
		}
	}
	count = max(count, 0)
	return append(env[:len(env):len(env)], fmt.Sprintf("GIT_CONFIG_COUNT=%d", count+1),
		fmt.Sprintf("GIT_CONFIG_KEY_%d=core.fsmonitor", count), fmt.Sprintf("GIT_CONFIG_VALUE_%d=false", count))
}

// noSettings is why a process with this environment cannot be started to leave a layer out.
func noSettings(env []string) error {
	for _, v := range env {
		if path, set := strings.CutPrefix(v, envSettings+"="); set {
			return &LeftOutError{Why: fmt.Sprintf("$%s is set to %s, so droid takes no settings from this program.", envSettings, path)}
		}
	}
	return &LeftOutError{Why: "no settings file can be made for droid; the log says why."}
}

// StartedWithout is what the process was started without, see Command.
func (c *Client) StartedWithout() *layer.Layer { return c.started }

// Without is what of a project the process was told to leave out, nil for nothing.
func (c *Client) Without() *layer.Layer { return c.without.Load() }
