package projectconfig

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"droid-acp/internal/droid/config"
)

// User has the user's own settings for the things that are excluded of a project.
type User struct {
	Servers  map[string]json.RawMessage // their MCP servers by name, including disabled ones
	Others   bool                       // they may have further MCP servers: from plugins, or from their organisation
	Managed  bool                       // their organisation may have settings for them on this machine
	Hooks    bool                       // they have hooks, or an unreadable file that may have some
	Unread   bool                       // a file that only droid reads may have hooks
	Lines    []string                   // the command lines of their hooks
	Policy   []string                   // what their own policy for MCP servers allows, nil if they have none
	Allowed  []string                   // their commandAllowlist
	Autonomy map[string]string          // the mode in which their sessions start: all of autonomyKeys
	Models   map[string]string          // the models with which they start: those of modelKeys that are set
}

// ReadUser reads the user's files below home. An error names a file that could not be read, without which the user's settings are unknown.
func ReadUser(home string) (User, error) {
	u := User{Servers: map[string]json.RawMessage{}, Models: map[string]string{}, Autonomy: startMode(nil)}
	for _, f := range config.UserFiles(home, config.MCP, config.Settings, config.LocalSettings) { // for each key the last file wins
		var values map[string]any
		into := any(&values)
		if f.Name == config.MCP {
			into = &struct {
				Servers *map[string]json.RawMessage `json:"mcpServers"`
			}{&u.Servers}
		}
		if _, err := f.Decode(into); err != nil {
			return u, fmt.Errorf("%s: %w", f.Path, err)
		}
		if list, ok := values["commandAllowlist"].([]any); ok {
			u.Allowed = nil
			for _, c := range list {
				u.Allowed = append(u.Allowed, fmt.Sprint(c))
			}
		}
		if values["mcpPolicy"] != nil {
			u.Policy = policyOf(values)
		}
		u.Others = u.Others || values["enabledPlugins"] != nil
		mode, models := sessionValues(values, autonomyKeys), sessionValues(values, modelKeys)
		if len(mode) > 0 || len(models) > 0 || values["sessionDefaultSettings"] != nil {
			u.Autonomy, u.Models = startMode(mode), textsOf(models)
		}
	}
	mayBe := func(path string) bool {
		_, err := os.Stat(path)
		return !config.IsAbsent(err)
	}
	u.Managed = slices.ContainsFunc(config.OrganizationFiles(home), mayBe)
	u.Others = u.Others || u.Managed || mayBe(filepath.Join(home, ".factory", "plugins", "installed_plugins.json"))
	r := reader{layer: Layer{Models: map[string]string{}}}
	for _, f := range config.UserFiles(home, config.Names...) {
		readers[f.Name](&r, f.Path)
	}
	u.Hooks, u.Unread = r.layer.Has(Hook, Unread), r.layer.Has(Unread)
	for _, hook := range r.layer.Of(Hook) {
		u.Lines = append(u.Lines, hook.Does)
	}
	return u, nil
}

// policyOf returns what the policy for MCP servers in a settings file allows, nil if there is none.
func policyOf(values map[string]any) []string {
	policy, _ := values["mcpPolicy"].(map[string]any)
	if on, _ := policy["enabled"].(bool); !on {
		return nil
	}
	return texts(policy["allowlist"])
}

// texts returns the strings in a list, without its other elements.
func texts(v any) []string {
	found := []string{}
	list, _ := v.([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			found = append(found, s)
		}
	}
	return found
}

// startMode completes the values of autonomyKeys as droid interprets them: autonomyMode counts only if none of the others is set. Unknown
// values mean the strictest.
func startMode(of map[string]any) map[string]string {
	level, interaction := "off", "auto"
	mode, _ := of["autonomyMode"].(string)
	givenLevel, hasLevel := of["autonomyLevel"].(string)
	givenInteraction, hasInteraction := of["interactionMode"].(string)
	switch {
	case hasLevel || hasInteraction:
		if slices.Contains([]string{"low", "medium", "high"}, givenLevel) {
			level = givenLevel
		}
		if givenInteraction != "" {
			interaction = givenInteraction
		}
	case mode == "spec":
		interaction = "spec"
	case slices.Contains([]string{"auto-low", "auto-medium", "auto-high"}, mode):
		level = mode[len("auto-"):]
	}
	mode = "normal"
	switch {
	case interaction == "spec":
		mode = "spec"
	case level != "off":
		mode = "auto-" + level
	}
	return map[string]string{"autonomyLevel": level, "autonomyMode": mode, "interactionMode": interaction}
}

// NotOwn says why an MCP server is not only the user's, "" if it is: their file names it, and no project file that is read for a session in
// cwd does. An error means that this cannot be determined.
func NotOwn(cwd, home, server string) (why string, err error) {
	user, err := ReadUser(home)
	if err != nil {
		return "", err
	}
	project := Project(cwd, home)
	named := slices.ContainsFunc(project.Of(MCPServer), func(i Item) bool { return i.Name == server })
	_, own := user.Servers[server]
	switch {
	case named:
		return "it is the project's (a change would be copied into your own file, and start it in every project)", nil
	case !own:
		return "your own file, " + filepath.Join(home, ".factory", "mcp.json") + ", does not name it", nil
	case project.HidesServers() || project.Has(Unread):
		return "the project has files of which nobody can tell whether they name such a server, too", nil
	}
	return "", nil
}

// ServerPrograms returns the programs of the MCP servers in the files of a project and of the user, by the servers' names. It omits servers
// that run no program, look for it in their own PATH, or are named twice.
func ServerPrograms(cwd, home string) map[string]string {
	programs, twice := make(map[string]string), make(map[string]bool)
	add := func(name string, raw []byte) {
		var server struct {
			Command string            `json:"command"`
			Env     map[string]string `json:"env"`
		}
		if _, there := programs[name]; there {
			twice[name] = true
		}
		if json.Unmarshal(raw, &server) == nil && server.Command != "" && server.Env["PATH"] == "" {
			programs[name] = server.Command
		}
	}
	for _, i := range Project(cwd, home).Of(MCPServer) {
		add(i.Name, []byte(i.whole))
	}
	user, _ := ReadUser(home) // what cannot be read has no names
	for name, raw := range user.Servers {
		add(name, raw)
	}
	for name := range twice {
		delete(programs, name)
	}
	return programs
}
