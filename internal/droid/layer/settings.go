package layer

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"droid-acp/internal/files"
	"droid-acp/internal/paths"
)

// servers adds the MCP servers of a file mcp.json.
func (r *reader) servers(path string) {
	values, ok := r.config(path, MCPServer)
	if !ok {
		return
	}
	servers, _ := values["mcpServers"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		server, _ := servers[name].(map[string]any)
		if off, _ := server["disabled"].(bool); off {
			continue
		}
		r.add(Item{Kind: MCPServer, Name: name, Does: serverLine(server), File: path, whole: text(servers[name])})
	}
}

// serverLine is what a server is started with, as a line for a shell, or where it is.
func serverLine(server map[string]any) string {
	if url, ok := server["url"].(string); ok {
		return url
	}
	command, _ := server["command"].(string)
	var words []string
	env, _ := server["env"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		words = append(words, name+"="+paths.Word(fmt.Sprint(env[name])))
	}
	words = append(words, paths.Word(command))
	args, _ := server["args"].([]any)
	for _, a := range args {
		words = append(words, paths.Word(fmt.Sprint(a)))
	}
	return strings.Join(words, " ")
}

// Keys of settings that decide what is asked or where text goes, and that no settings of
// a process overrule: droid puts those of a project together with them (0.99 to 0.225).
var inseparable = []string{
	"builtInToolAutonomyOverrides", "customModels", "mcpAutonomyOverrides", "mcpAutonomyUrlOverrides", "networkPolicy", "sandbox",
	"subagentAutonomyLevel",
}

// settings adds what a file of settings brings.
func (r *reader) settings(path string) {
	values, ok := r.config(path, Unread)
	if !ok {
		return
	}
	r.hooks(path, values["hooks"])
	r.autonomy(path, values)
	if list, ok := values["commandAllowlist"].([]any); ok {
		for _, c := range list {
			r.add(Item{Kind: Allowed, Name: fmt.Sprint(c), Does: fmt.Sprint(c), File: path})
		}
	} else if values["commandAllowlist"] != nil {
		r.key(Setting, path, "commandAllowlist", values["commandAllowlist"])
	}
	for _, key := range inseparable {
		if v := values[key]; v != nil {
			r.key(Setting, path, key, v)
		}
	}
	if on, ok := values["enableDroidShield"].(bool); ok && !on {
		r.key(Setting, path, "enableDroidShield", on)
	}
	for _, key := range []string{"enabledPlugins", "extraKnownMarketplaces"} {
		if v := values[key]; v != nil {
			r.key(Plugin, path, key, v)
		}
	}
}

func (r *reader) key(kind Kind, path, key string, value any) {
	r.add(Item{Kind: kind, Name: key, Does: text(value), File: path, whole: text(value)})
}

// autonomyKeys decide in which mode a session starts. They count in sessionDefaultSettings
// and beside it.
var autonomyKeys = []string{"autonomyLevel", "autonomyMode", "interactionMode"}

// cautious are the values with which droid asks before it runs or writes anything.
var cautious = map[string][]string{
	"autonomyLevel":   {"off"},
	"autonomyMode":    {"normal", "spec"},
	"interactionMode": {"auto", "spec"},
}

// autonomy adds the modes that ask less.
func (r *reader) autonomy(path string, values map[string]any) {
	of := autonomyOf(values)
	for _, key := range autonomyKeys {
		value := of[key]
		if name, _ := value.(string); value != nil && !slices.Contains(cautious[key], name) {
			r.key(Autonomy, path, key, value)
		}
	}
}

// autonomyOf are the values of autonomyKeys in a file of settings.
func autonomyOf(values map[string]any) map[string]any {
	found := make(map[string]any)
	defaults, _ := values["sessionDefaultSettings"].(map[string]any)
	for _, from := range []map[string]any{values, defaults} {
		for _, key := range autonomyKeys {
			if v := from[key]; v != nil {
				found[key] = v
			}
		}
	}
	return found
}

// hooksFile adds the hooks of a file of hooks alone.
func (r *reader) hooksFile(path string) {
	values, ok := r.config(path, Hook)
	if !ok {
		return
	}
	if inner, ok := values["hooks"]; ok {
		r.hooks(path, inner)
	}
	r.hooks(path, values)
}

// hooks adds the commands that are listed for events, in either form that droid takes:
// a list of commands, or one of matchers with lists of commands.
func (r *reader) hooks(path string, value any) {
	events, ok := value.(map[string]any)
	if !ok {
		return
	}
	for _, event := range slices.Sorted(maps.Keys(events)) {
		list, _ := events[event].([]any)
		for _, entry := range list {
			r.hookEntry(path, event, entry)
		}
	}
}

func (r *reader) hookEntry(path, event string, entry any) {
	fields, _ := entry.(map[string]any)
	commands, _ := fields["hooks"].([]any)
	if commands == nil {
		commands = []any{entry}
	}
	name := event
	if matcher, _ := fields["matcher"].(string); matcher != "" && matcher != "*" {
		name += " " + matcher
	}
	for _, c := range commands {
		command, _ := c.(map[string]any)
		line, _ := command["command"].(string)
		if line != "" {
			r.add(Item{Kind: Hook, Name: name, Does: line, File: path, whole: text(entry)})
		}
	}
}

// watcher finds the program for watching files in a repository's configuration. A file
// that is included, or one that cannot be read, may name one.
func watcher(root string) string {
	data, err := files.Read(filepath.Join(CommonGitDir(root), "config"), MaxFile)
	if err != nil {
		if isAbsent(err) {
			return ""
		}
		return err.Error()
	}
	found := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(strings.ToLower(line), "[include") {
			found = line
		}
		key, value, _ := strings.Cut(line[strings.LastIndexByte(line, ']')+1:], "=")
		value = strings.TrimSpace(value)
		if strings.EqualFold(strings.TrimSpace(key), "fsmonitor") && !isBool(value) {
			found = value
		}
	}
	return found
}

func isBool(value string) bool {
	return slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "1", "0", ""}, strings.ToLower(value))
}

// text is a value as JSON, the same for the same value.
func text(v any) string {
	data, _ := json.Marshal(v) // it was decoded from JSON
	return string(data)
}
