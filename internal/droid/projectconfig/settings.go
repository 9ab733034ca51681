package projectconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"droid-acp/internal/text/paths"
)

// servers adds the MCP servers of an mcp.json.
func (r *reader) servers(path string) {
	values, ok := r.config(path, MCPServer)
	if !ok {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		servers, isObject := values[key].(map[string]any)
		switch {
		case key == "persistentPermissions": // droid reads it from the user's file only (0.215, 0.225)
			r.key(Setting, path, key, values[key])
			continue
		case key != "mcpServers":
			r.key(UnknownKey, path, key, values[key])
			continue
		case !isObject && values[key] != nil:
			r.blind(MCPServer, path, "has servers in a form of which nothing is known", text(values[key]))
		}
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			server, _ := servers[name].(map[string]any)
			if off, _ := server["disabled"].(bool); !off {
				r.add(Item{Kind: MCPServer, Name: name, Does: serverLine(server), File: path, whole: text(servers[name])})
			}
		}
	}
}

// serverLine returns a server's command as a shell line, or its address. A server with both is started, whatever its type, except these two
// (0.99 to 0.225).
func serverLine(server map[string]any) string {
	url, _ := server["url"].(string)
	command, isCommand := server["command"].(string)
	if kind := server["type"]; kind == "http" || kind == "sse" || url != "" && !isCommand {
		return url
	}
	var words []string
	env, _ := server["env"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		words = append(words, name+"="+paths.ShellQuote(fmt.Sprint(env[name])))
	}
	words = append(words, paths.ShellQuote(command))
	args, _ := server["args"].([]any)
	for _, a := range args {
		words = append(words, paths.ShellQuote(fmt.Sprint(a)))
	}
	return strings.Join(words, " ")
}

// settings adds each key of a settings file that is not known to be harmless.
func (r *reader) settings(path string) {
	values, ok := r.config(path, Unread)
	if !ok {
		return
	}
	r.autonomy(path, values)
	r.layer.HasPolicy = r.layer.HasPolicy || policyOf(values) != nil
	for key, value := range textsOf(sessionValues(values, modelKeys)) {
		if _, nearer := r.layer.Models[key]; !nearer {
			r.layer.Models[key] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		switch isHarmless, listed := harmlessKeys[key]; {
		case value == nil, listed && isHarmless(value), slices.Contains(autonomyKeys, key):
		case key == "hooks":
			r.hooks(path, value)
		case key == "commandAllowlist" && isTexts(value):
			for _, c := range value.([]any) {
				r.add(Item{Kind: Allowed, Name: c.(string), Does: c.(string), File: path})
			}
		case key == "sessionDefaultSettings":
			r.defaults(path, value)
		case key == "enabledPlugins" || key == "extraKnownMarketplaces":
			r.key(Plugin, path, key, value)
		case slices.Contains(vocabulary, key):
			r.key(Setting, path, key, value)
		default:
			r.key(UnknownKey, path, key, value)
		}
	}
}

// defaults adds the values with which sessions start, except for their mode.
func (r *reader) defaults(path string, value any) {
	defaults, ok := value.(map[string]any)
	if !ok {
		r.key(Setting, path, "sessionDefaultSettings", value)
	}
	for _, key := range slices.Sorted(maps.Keys(defaults)) {
		if slices.Contains(autonomyKeys, key) || slices.Contains(modelKeys, key) && isText(defaults[key]) {
			continue
		}
		r.key(Setting, path, "sessionDefaultSettings."+key, defaults[key])
	}
}

// legacyModels adds the content of a config.json: a user's models in an old form, which droid also reads from a project. As with
// customModels in settings.json, such a model replaces a model of the user with the same name, even in a droid that was started elsewhere
// (0.99 to 0.225).
func (r *reader) legacyModels(path string) {
	values, ok := r.config(path, Unread)
	if !ok {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		kind := UnknownKey
		if key == "custom_models" {
			kind = Setting
		}
		r.key(kind, path, key, values[key])
	}
}

func (r *reader) key(kind Kind, path, key string, value any) {
	r.add(Item{Kind: kind, Name: key, Does: text(value), File: path, whole: text(value)})
}

// autonomyKeys determine the mode in which a session starts. They count both inside and outside of sessionDefaultSettings.
var autonomyKeys = []string{"autonomyLevel", "autonomyMode", "interactionMode"}

// cautiousValues are the values with which droid asks before it runs or writes anything.
var cautiousValues = map[string][]string{
	"autonomyLevel":   {"off"},
	"autonomyMode":    {"normal", "spec"},
	"interactionMode": {"auto", "spec"},
}

// autonomy adds modes that ask less.
func (r *reader) autonomy(path string, values map[string]any) {
	of := sessionValues(values, autonomyKeys)
	for _, key := range autonomyKeys {
		value := of[key]
		if name, _ := value.(string); value != nil && !slices.Contains(cautiousValues[key], name) {
			r.key(Autonomy, path, key, value)
		}
	}
}

// modelKeys determine the model with which a session starts. They count in the same places as autonomyKeys.
var modelKeys = []string{"model", "reasoningEffort", "specModeModel", "specModeReasoningEffort"}

// sessionValues returns the values of keys with which sessions start, from a settings file.
func sessionValues(values map[string]any, keys []string) map[string]any {
	found := make(map[string]any)
	defaults, _ := values["sessionDefaultSettings"].(map[string]any)
	for _, from := range []map[string]any{values, defaults} {
		for _, key := range keys {
			if v := from[key]; v != nil {
				found[key] = v
			}
		}
	}
	return found
}

// textsOf returns the values that are non-empty strings.
func textsOf(values map[string]any) map[string]string {
	found := make(map[string]string)
	for key, v := range values {
		if text, _ := v.(string); text != "" {
			found[key] = text
		}
	}
	return found
}

// hooksFile adds the hooks of a hooks file.
func (r *reader) hooksFile(path string) {
	values, ok := r.config(path, Hook)
	if !ok {
		return
	}
	if inner, ok := values["hooks"]; ok {
		r.hooks(path, inner)
		delete(values, "hooks")
	}
	r.hooks(path, values)
}

// hooks adds the commands listed for events, in either form that droid accepts: a list of commands, or one of matchers with lists of
// commands. A value of neither form may be a hook, too.
func (r *reader) hooks(path string, value any) {
	events, ok := value.(map[string]any)
	if !ok {
		r.blind(Hook, path, "has hooks in a form of which nothing is known", text(value))
	}
	for _, event := range slices.Sorted(maps.Keys(events)) {
		list, ok := events[event].([]any)
		_, isSwitch := events[event].(bool)
		switch {
		case isSwitch && slices.Contains([]string{"hooksDisabled", "showHookOutput"}, event):
			if event == "hooksDisabled" && events[event] == true {
				r.key(Setting, path, event, true) // the user's own settings may forbid something
			}
		case !ok && events[event] != nil:
			r.blind(Hook, path, fmt.Sprintf("has %q in a form of which nothing is known", event), text(events[event]))
		}
		for _, entry := range list {
			r.hookEntry(path, event, entry)
		}
	}
}

func (r *reader) hookEntry(path, event string, entry any) {
	fields, _ := entry.(map[string]any)
	commands, ok := fields["hooks"].([]any)
	if _, both := fields["command"]; both || !ok { // droid ignores the list of a plugin's hook if the event's first one has none (0.99 to 0.225)
		commands = append([]any{entry}, commands...)
	}
	name := event
	if matcher, _ := fields["matcher"].(string); matcher != "" && matcher != "*" {
		name += " " + matcher
	}
	for _, c := range commands {
		command, _ := c.(map[string]any)
		line, ok := command["command"].(string)
		if !ok {
			line = text(c)
		}
		r.add(Item{Kind: Hook, Name: name, Does: line, File: path, whole: text(entry)})
	}
}

// text returns a value as canonical JSON.
func text(v any) string {
	data, _ := json.Marshal(v) // it was decoded from JSON
	return string(data)
}
