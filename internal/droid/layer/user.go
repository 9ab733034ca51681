package layer

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// User is what a user's own files say of what is left out of a project's.
type User struct {
	Servers  map[string]json.RawMessage // their MCP servers by name, those that are off included
	Hooks    bool                       // they have hooks, or a file that may and that cannot be read
	Policy   bool                       // they have a policy for MCP servers themself
	Allowed  []string                   // their commandAllowlist
	Autonomy map[string]string          // the mode in which their sessions start: all of autonomyKeys
}

// ReadUser reads the user's files below home. An error says which of them, without which
// it is not known what the user wants, could not be looked at.
func ReadUser(home string) (User, error) {
	u := User{Servers: map[string]json.RawMessage{}}
	factory := filepath.Join(home, ".factory")
	var mcp struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := ReadConfig(filepath.Join(factory, "mcp.json"), &mcp); err != nil && !isAbsent(err) {
		return u, fmt.Errorf("%s: %w", filepath.Join(factory, "mcp.json"), err)
	}
	maps.Copy(u.Servers, mcp.Servers)
	all := make(map[string]any)
	for _, name := range []string{"settings.json", "settings.local.json"} { // the second wins
		var values map[string]any
		path := filepath.Join(factory, name)
		if err := ReadConfig(path, &values); err != nil && !isAbsent(err) {
			return u, fmt.Errorf("%s: %w", path, err)
		}
		list, _ := values["commandAllowlist"].([]any)
		for _, c := range list {
			u.Allowed = append(u.Allowed, fmt.Sprint(c))
		}
		policy, _ := values["mcpPolicy"].(map[string]any)
		on, _ := policy["enabled"].(bool)
		u.Policy = u.Policy || on
		maps.Copy(all, autonomyOf(values))
	}
	u.Autonomy = startMode(all)
	r := reader{}
	r.folder(home)
	u.Hooks = r.layer.Has(Hook)
	return u, nil
}

// startMode completes the values of autonomyKeys as droid understands them: autonomyMode
// counts only where none of the others is there. What it does not know asks most.
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
