package droid

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"droid-acp/internal/droid/stream"
)

// ContextStats is how full the context window is, in tokens.
type ContextStats struct {
	Used     int64  `json:"used"`
	Limit    int64  `json:"limit"`
	Accuracy string `json:"accuracy"` // "estimated" was observed
}

// ContextStats asks how full the context window is (since 0.215).
func (c *Client) ContextStats(ctx context.Context) (s ContextStats, err error) {
	err = c.Call(ctx, "droid.get_context_stats", nil, &s)
	return s, err
}

// ContextBreakdown is the use of the context window, in tokens.
type ContextBreakdown struct {
	Model      string `json:"modelDisplayName"`
	Budget     int64  `json:"contextBudget"`
	Used       int64  `json:"usedTokens"`
	Free       int64  `json:"freeTokens"`
	Categories []struct {
		Name   string `json:"name"`
		Tokens int64  `json:"tokens"`
	} `json:"categories"`
}

// ContextBreakdown asks what fills the context window (since 0.215).
func (c *Client) ContextBreakdown(ctx context.Context) (b ContextBreakdown, err error) {
	err = c.Call(ctx, "droid.get_context_breakdown", nil, &b)
	return b, err
}

// Rename sets the session's title (since 0.215). droid first makes a model generate a title, and answers after 6 to 14 s without a network.
func (c *Client) Rename(ctx context.Context, title string) error {
	return c.Call(ctx, "droid.rename_session", map[string]string{"title": title}, nil)
}

// Compact makes a new session with a summary of this one, and returns its ID and how many messages the summary replaces. 0.99 needs a
// Factory login for it. The process stays in the old session; Load switches to the new one (0.99 to 0.225).
func (c *Client) Compact(ctx context.Context, instructions string) (sessionID string, removed int, err error) {
	params := map[string]string{}
	if instructions != "" {
		params["customInstructions"] = instructions
	}
	var r struct {
		NewSessionID string `json:"newSessionId"`
		RemovedCount int    `json:"removedCount"`
	}
	if err := c.Call(ctx, "droid.compact_session", params, &r); err != nil {
		return "", 0, err
	}
	return r.NewSessionID, r.RemovedCount, checkID("compact_session", r.NewSessionID)
}

// RewindInfo describes what rewinding to a message would do to files. Its entries are sent back to droid unchanged.
type RewindInfo struct {
	Available []json.RawMessage `json:"availableFiles"` // can be restored
	Created   []json.RawMessage `json:"createdFiles"`   // did not exist then
	Evicted   []json.RawMessage `json:"evictedFiles"`   // droid no longer has their old content
}

// RewindInfo returns what rewinding to before a user message would do.
func (c *Client) RewindInfo(ctx context.Context, sessionID, messageID string) (r RewindInfo, err error) {
	err = c.Call(ctx, "droid.get_rewind_info", map[string]string{"sessionId": sessionID, "messageId": messageID}, &r)
	return r, err
}

// RewindResult describes what Rewind did. The process stays in the old session.
type RewindResult struct {
	NewSessionID   string `json:"newSessionId"`
	Restored       int    `json:"restoredCount"`
	Deleted        int    `json:"deletedCount"`
	FailedRestores int    `json:"failedRestoreCount"`
	FailedDeletes  int    `json:"failedDeleteCount"`
}

// Rewind makes a new session from what came before a user message, and restores and deletes the files in info (0.99 to 0.225).
func (c *Client) Rewind(ctx context.Context, sessionID, messageID, title string, info RewindInfo) (r RewindResult, err error) {
	err = c.Call(ctx, "droid.execute_rewind", map[string]any{
		"sessionId": sessionID, "messageId": messageID, "forkTitle": title,
		"filesToRestore": append([]json.RawMessage{}, info.Available...), // null is refused
		"filesToDelete":  append([]json.RawMessage{}, info.Created...),
	}, &r)
	if err == nil {
		err = checkID("execute_rewind", r.NewSessionID)
	}
	return r, err
}

// CustomCommand is a command of the user or the project.
type CustomCommand struct {
	Name         string `json:"name"`
	Description  string `json:"description"`
	ArgumentHint string `json:"argumentHint"`
}

// Commands lists the custom commands, which droid expands in a prompt that
// begins with "/name" (both since 0.215).
func (c *Client) Commands(ctx context.Context) ([]CustomCommand, error) {
	var r struct {
		Commands []CustomCommand `json:"commands"`
	}
	err := c.Call(ctx, "droid.list_commands", nil, &r)
	return r.Commands, err
}

// Skill is a skill of the user, the project or droid. Since 0.215 droid expands "/name" in a prompt if UserInvocable.
type Skill struct {
	Name          string `json:"name"`
	Description   string `json:"description"`
	Location      string `json:"location"` // "builtin", "personal", "project"
	FilePath      string `json:"filePath"` // of its SKILL.md
	Enabled       *bool  `json:"enabled"`
	UserInvocable *bool  `json:"userInvocable"`
}

// Skills lists the skills (0.99 to 0.225). The list must not be modified: while droid's answer stays the same, the same list is returned
// without decoding the answer again, which contains the text of every skill (0.225.2: 0.7 MB).
func (c *Client) Skills(ctx context.Context) ([]Skill, error) {
	r := skillsResult{known: &c.skills}
	err := c.Call(ctx, "droid.list_skills", nil, &r)
	return r.list, err
}

// SwitchSkill enables or disables a skill in all of the user's projects: droid stores that in the user's settings. It ignores the name of a
// skill that does not exist (0.215, 0.225; see stream.SwitchesSkills).
func (c *Client) SwitchSkill(ctx context.Context, name string, on bool) error {
	return c.Call(ctx, "droid.set_skill_disabled", struct {
		Name     string `json:"skillName"`
		Disabled bool   `json:"disabled"`
		Level    string `json:"settingsLevel"`
	}{name, !on, "user"}, nil)
}

// skillsResult is an answer that lists skills.
type skillsResult struct {
	known *skillList
	list  []Skill
}

// UnmarshalJSON reuses the known list if the answer is the same.
func (r *skillsResult) UnmarshalJSON(raw []byte) (err error) {
	r.list, err = r.known.decode(raw)
	return err
}

// skillList caches the last list of skills.
type skillList struct {
	mu   sync.Mutex
	seed maphash.Seed
	sum  uint64 // of the answer that list was decoded from
	list []Skill
}

// decode returns the list in an answer.
func (s *skillList) decode(raw json.RawMessage) ([]Skill, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.seed = maphash.MakeSeed()
	}
	sum := maphash.Bytes(s.seed, raw)
	if s.list != nil && sum == s.sum {
		return s.list, nil
	}
	var r struct {
		Skills []Skill `json:"skills"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, err
	}
	s.sum, s.list = sum, r.Skills
	return r.Skills, nil
}

// MCPServers lists the MCP servers of droid's configuration, including those of Client.SetRuntime but not those passed to Initialize or
// Load (0.99 to 0.225). While one of them connects, 0.99 does not answer, for up to a minute.
func (c *Client) MCPServers(ctx context.Context) ([]stream.MCPServerStatus, error) {
	var r struct {
		Servers []stream.MCPServerStatus `json:"servers"`
	}
	err := c.Call(ctx, "droid.list_mcp_servers", nil, &r)
	return r.Servers, err
}

// SwitchMCPServer starts or stops an MCP server of the user's own file, in this process and in all later ones: droid stores that in the
// file. It would copy a project's server there, to run everywhere; so never pass one. (0.99 to 0.225)
func (c *Client) SwitchMCPServer(ctx context.Context, name string, on bool) error {
	return c.Call(ctx, "droid.toggle_mcp_server", struct {
		Name    string `json:"serverName"`
		Enabled bool   `json:"enabled"`
		Level   string `json:"settingsLevel"`
	}{name, on, "user"}, nil)
}

// ForgetMCPLogin removes the login to an MCP server over HTTP. droid refuses any other server (0.99 to 0.225).
func (c *Client) ForgetMCPLogin(ctx context.Context, name string) error {
	return c.Call(ctx, "droid.clear_mcp_auth", struct {
		Name string `json:"serverName"`
	}{name}, nil)
}

// MCPTool is a tool of an MCP server.
type MCPTool struct {
	Name       string `json:"name"`
	ServerName string `json:"serverName"`
}

// MCPTools lists the tools of all running MCP servers.
func (c *Client) MCPTools(ctx context.Context) ([]MCPTool, error) {
	var r struct {
		Tools []MCPTool `json:"tools"`
	}
	err := c.Call(ctx, "droid.list_mcp_tools", nil, &r)
	return r.Tools, err
}

// toolPatience are the waits before each request for droid's list of MCP tools: after 3, 10 and 25 seconds.
var toolPatience = [...]time.Duration{3 * time.Second, 7 * time.Second, 15 * time.Second}

// AwaitTools waits until droid lists tools of the named servers, and returns the names of those that have offered none by then; none if
// droid exits or ctx ends.
func (c *Client) AwaitTools(ctx context.Context, names []string) (silent []string, err error) {
	for _, wait := range toolPatience {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, nil
		case <-c.Exited():
			return nil, nil
		}
		found, err := c.serversWithTools(ctx)
		if err != nil {
			return nil, err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return found[name] })
		if len(names) == 0 {
			return nil, nil
		}
	}
	return names, nil
}

// toolsTime is how long droid may take to list its MCP tools.
const toolsTime = 10 * time.Second

// serversWithTools returns the names of the servers with MCP tools. The session's servers are among them, although list_mcp_servers omits
// these (0.215 to 0.225).
func (c *Client) serversWithTools(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, toolsTime)
	defer cancel()
	tools, err := c.MCPTools(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, t := range tools {
		found[t.ServerName] = true
	}
	return found, nil
}

// AuthenticateMCP starts the login to an MCP server. droid reports the address by MCPAuthRequired, and answers when the login has ended, up
// to minutes later, together with MCPAuthCompleted (0.99 to 0.225). Before 0.215 other calls wait for this one: cancel ctx once the address
// is known, which does not end the login.
func (c *Client) AuthenticateMCP(ctx context.Context, server string) error {
	return c.Call(ctx, "droid.authenticate_mcp_server", map[string]string{"serverName": server}, nil)
}

// CancelMCPAuth cancels a login to an MCP server.
func (c *Client) CancelMCPAuth(ctx context.Context, server string) error {
	return c.Call(ctx, "droid.cancel_mcp_auth", map[string]string{"serverName": server}, nil)
}
