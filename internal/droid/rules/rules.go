// Package rules reads what users of droid and their projects have allowed, denied and blocked for good, says which of
// that a command meets, and takes a permission of the user's back. It never writes a project's file.
package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"droid-acp/internal/droid/layer"
)

// Kind is what a rule does.
type Kind int

// The kinds. Blocked beats Denied beats Allowed, whatever the file (0.215, 0.225).
const (
	Allowed Kind = iota // its commands run without a question
	Denied              // droid asks before its commands, and offers no lasting yes
	Blocked             // its commands never run, and nobody is asked
	MCP                 // its tools of MCP servers run without a question
)

// Owner is whose file a rule stands in.
type Owner int

// The owners.
const (
	User    Owner = iota // ~/.factory
	Project              // .factory/settings.json of the project
	Local                // .factory/settings.local.json of the project
	Process              // the settings of one droid process
)

// Rule is one entry.
type Rule struct {
	Kind  Kind
	Text  string // the entry as it stands; "server: tool" or "server: all tools" of MCP
	Owner Owner
	File  string // "" where this program gives it to its droids

	keys    []string // the objects that lead to it
	element bool     // it is an element of the list at keys, else the last of keys
}

// lists are the keys of settings with commands (0.99 to 0.225; droid before 0.215 may know fewer).
var lists = []struct {
	key  string
	kind Kind
}{{"commandAllowlist", Allowed}, {"commandDenylist", Denied}, {"commandBlocklist", Blocked}}

// grants is the key of mcp.json with what the user has allowed of MCP servers (0.225.2).
const grants = "persistentPermissions"

// Read reads the rules that count in a directory: those of the user, whose directory is home, of the project, and of
// the file that $FACTORY_RUNTIME_SETTINGS_PATH names, "" for none. Each file that could not be read is in unread.
func Read(cwd, home, runtime string) (rules []Rule, unread error) {
	var failed []error
	read := func(path string, find func(path string) ([]Rule, error)) {
		found, err := find(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, fmt.Errorf("%s: %w", path, err))
		}
		rules = append(rules, found...)
	}
	of := func(owner Owner) func(string) ([]Rule, error) {
		return func(path string) ([]Rule, error) { return commands(path, owner) }
	}
	factory := filepath.Join(home, ".factory")
	read(filepath.Join(factory, "settings.json"), of(User))
	read(filepath.Join(factory, "settings.local.json"), of(User))
	read(filepath.Join(factory, "mcp.json"), granted)
	for _, dir := range layer.ProjectDirs(cwd) {
		if dir != home {
			read(filepath.Join(dir, ".factory", "settings.json"), of(Project))
			read(filepath.Join(dir, ".factory", "settings.local.json"), of(Local))
		}
	}
	if runtime != "" {
		read(runtime, of(Process))
	}
	return rules, errors.Join(failed...)
}

// commands are the rules in a file of settings.
func commands(path string, owner Owner) (found []Rule, err error) {
	var values map[string]json.RawMessage
	if err := layer.ReadConfig(path, &values); err != nil {
		return nil, err
	}
	for _, l := range lists {
		var entries []any
		if raw := values[l.key]; raw != nil && json.Unmarshal(raw, &entries) != nil {
			err = fmt.Errorf("%s is no list", l.key)
		}
		for _, e := range entries {
			if text, ok := e.(string); ok {
				found = append(found, Rule{Kind: l.kind, Text: text, Owner: owner, File: path, keys: []string{l.key}, element: true})
			}
		}
	}
	return found, err
}

// granted are the rules in the user's mcp.json.
func granted(path string) (found []Rule, err error) {
	var values map[string]json.RawMessage
	if err := layer.ReadConfig(path, &values); err != nil || values[grants] == nil {
		return nil, err
	}
	var given struct {
		Tools   map[string]map[string]json.RawMessage
		Servers map[string]json.RawMessage
	}
	if err := json.Unmarshal(values[grants], &given); err != nil {
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
