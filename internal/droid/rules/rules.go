// Package rules reads what users of droid and their projects have allowed, denied and blocked permanently, determines which of these rules
// match a command, and removes permissions of the user. Its main type is Rule; the adapter's command /permissions uses it. It never writes
// a project's file.
package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"droid-acp/internal/droid/config"
)

// Kind is the effect of a rule.
type Kind int

// Kinds of rules. Blocked overrides Denied, which overrides Allowed, whatever the file (0.215, 0.225).
const (
	Allowed Kind = iota // matching commands run without a question
	Denied              // droid asks before matching commands, and does not offer to allow them permanently
	Blocked             // matching commands never run, without a question
	MCP                 // matching tools of MCP servers run without a question
)

// Owner is the owner of a rule's file.
type Owner int

// Owners of rules.
const (
	User    Owner = iota // ~/.factory
	Project              // .factory/settings.json of the project
	Local                // .factory/settings.local.json of the project
	Process              // the settings of one droid process
)

// Rule is one entry of a list.
type Rule struct {
	Kind  Kind
	Text  string // the entry as written; "server: tool" or "server: all tools" for MCP
	Owner Owner
	File  string // "" if this program sets it for its droids

	keys    []string // the path of object keys that leads to it
	element bool     // it is an element of the list at keys, otherwise the last of keys
}

// lists are the settings keys with commands (0.99 to 0.225; droid before 0.215 may know fewer).
var lists = []struct {
	key  string
	kind Kind
}{{"commandAllowlist", Allowed}, {"commandDenylist", Denied}, {"commandBlocklist", Blocked}}

// grants is the key in mcp.json of what the user has allowed for MCP servers (0.225.2).
const grants = "persistentPermissions"

// Read reads the rules that apply in a directory: those of the user, with the home directory home, of the project, and of the file that
// $FACTORY_RUNTIME_SETTINGS_PATH names, "" for none. A list in settings.local.json replaces the one in settings.json in the same directory
// (0.99 to 0.225). unread joins the errors of files that could not be read.
func Read(cwd, home, runtime string) (rules []Rule, unread error) {
	var failed []error
	listed := make(map[string]bool) // by directory and key
	read := func(f config.File, owner Owner) {
		var values map[string]json.RawMessage
		_, err := f.Decode(&values)
		var found []Rule
		if err == nil && f.Name == config.MCP {
			found, err = granted(f.Path, values[grants])
		} else if err == nil {
			found, err = commands(f, owner, values, listed)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", f.Path, err))
		}
		rules = append(rules, found...)
	}
	for _, f := range config.UserFiles(home, config.LocalSettings, config.Settings, config.MCP) {
		read(f, User)
	}
	for _, f := range config.ProjectFiles(cwd, home, config.LocalSettings, config.Settings) {
		read(f, map[string]Owner{config.Settings: Project, config.LocalSettings: Local}[f.Name])
	}
	if runtime != "" {
		read(config.File{Path: runtime}, Process)
	}
	return rules, errors.Join(failed...)
}

// commands returns the rules in the values of a settings file, except for lists already in listed.
func commands(f config.File, owner Owner, values map[string]json.RawMessage, listed map[string]bool) (found []Rule, err error) {
	for _, l := range lists {
		var entries []any
		if raw := values[l.key]; raw != nil && json.Unmarshal(raw, &entries) != nil {
			err = fmt.Errorf("%s is no list", l.key)
		}
		key := filepath.Join(f.Dir, l.key)
		if listed[key] {
			continue
		}
		listed[key] = entries != nil
		for _, e := range entries {
			if text, ok := e.(string); ok {
				found = append(found, Rule{Kind: l.kind, Text: text, Owner: owner, File: f.Path, keys: []string{l.key}, element: true})
			}
		}
	}
	return found, err
}

// granted returns the rules in the user's mcp.json, from its value of grants.
func granted(path string, value json.RawMessage) (found []Rule, err error) {
	var given struct {
		Tools   map[string]map[string]json.RawMessage
		Servers map[string]json.RawMessage
	}
	if value != nil && json.Unmarshal(value, &given) != nil {
		return nil, fmt.Errorf("%s has a form of which nothing is known", grants)
	}
	add := func(text string, keys ...string) {
		found = append(found, Rule{Kind: MCP, Text: text, File: path, keys: append([]string{grants}, keys...)})
	}
	for _, server := range slices.Sorted(maps.Keys(given.Servers)) {
		add(server+": all tools", "servers", server)
	}
	for _, server := range slices.Sorted(maps.Keys(given.Tools)) {
		for _, tool := range slices.Sorted(maps.Keys(given.Tools[server])) {
			add(server+": "+tool, "tools", server, tool)
		}
	}
	return found, nil
}
