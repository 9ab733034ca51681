package droid

import (
	"encoding/json"
	"errors"
	"strings"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
)

// envSettings names a settings file that droid puts on top of the user's own
// for one process alone (0.99 to 0.225, where its help calls it --settings).
// droid reads it again with each session that it opens, and does not start when
// it cannot (0.225).
const envSettings = "FACTORY_RUNTIME_SETTINGS_PATH"

// settingsFile is the file that envSettings names. Nothing of it is left once it is
// closed.
type settingsFile struct {
	path    string
	replace func(data []byte) error
	close   func()
}

// mcpSettings are settings with nothing but these MCP servers. Headers are an
// object here, so of several values of a header only the last counts.
func mcpSettings(servers []stream.MCPServer) ([]byte, error) {
	type server struct {
		Type    string            `json:"type"`
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	all := make(map[string]server, len(servers))
	for _, s := range servers {
		headers := make(map[string]string, len(s.Headers))
		for _, h := range s.Headers {
			headers[h.Name] = h.Value
		}
		all[s.Name] = server{s.Kind(), s.Command, s.Args, s.Env, s.URL, headers}
	}
	return json.Marshal(map[string]any{"mcp": map[string]any{"mcpServers": all}})
}

// addSettings adds a settings file to env. It returns a nil file where that cannot be
// done: the user has one of their own, or none can be made.
func addSettings(env []string, log *zap.Logger) ([]string, *settingsFile) {
	for _, v := range env {
		if strings.HasPrefix(v, envSettings+"=") {
			log.Info("MCP servers go to droid with the session alone: $" + envSettings + " is set already")
			return env, nil
		}
	}
	f, err := openSettingsFile([]byte("{}"))
	if err != nil {
		log.Warn("MCP servers go to droid with the session alone: no settings file can be made", zap.Error(err))
		return env, nil
	}
	return append(env[:len(env):len(env)], envSettings+"="+f.path), f
}

// TakesMCPServers reports whether SetMCPServers works.
func (c *Client) TakesMCPServers() bool { return c.proc != nil && c.proc.settings != nil }

// SetMCPServers gives the process MCP servers in place of those it was given
// before. droid starts them with the next Initialize or Load, which does not wait
// for them, and tells their status (0.99 to 0.225). Their names are unique and
// consist of letters, digits, "-" and "_".
//
// MCP servers passed with Initialize or Load are ignored before 0.215; since then
// droid waits for each, up to 30 s, and tells nothing of them.
func (c *Client) SetMCPServers(servers []stream.MCPServer) error {
	if !c.TakesMCPServers() {
		return errors.New("droid: the process was not started to take MCP servers")
	}
	data, err := mcpSettings(servers)
	if err != nil {
		return err
	}
	return c.proc.settings.replace(data)
}
