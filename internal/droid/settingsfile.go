package droid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

// EnvSettings names a settings file that overrides the user's own for one process (0.99 to 0.225, whose help calls it --settings). It is
// needed for MCP servers, since those passed with a session are ignored before 0.215 (quirk 24). droid reads it again with each session
// that it opens, and does not start if it is unreadable (0.225).
const EnvSettings = "FACTORY_RUNTIME_SETTINGS_PATH"

// runtimeSettings returns settings with only these MCP servers and hooks, and what complete adds. own are variables for servers that do not
// set them themselves. Headers are an object here, so of several values of a header only the last one counts.
func runtimeSettings(servers []stream.MCPServer, own map[string]string, hooks hooksByEvent, complete func(settings, servers map[string]any) error) ([]byte, error) {
	type server struct {
		Type    string            `json:"type"`
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	all := make(map[string]any, len(servers))
	for _, s := range servers {
		headers := make(map[string]string, len(s.Headers))
		for _, h := range s.Headers {
			headers[h.Name] = h.Value
		}
		env := s.Env
		if s.Command != "" && len(own) > 0 {
			env = maps.Clone(own)
			maps.Copy(env, s.Env)
		}
		all[s.Name] = server{s.Kind(), s.Command, s.Args, env, s.URL, headers}
	}
	settings := map[string]any{"mcp": map[string]any{"mcpServers": all}}
	if len(hooks) > 0 {
		settings["hooks"] = hooks
	}
	if err := complete(settings, all); err != nil {
		return nil, err
	}
	return json.Marshal(settings)
}

// addSettings adds a settings file to env. It returns a nil file if that is impossible: the user has set one, or none can be created.
func addSettings(env []string, content []byte, log *zap.Logger) ([]string, *files.PrivateFile) {
	if givesSettings(env) {
		log.Info("droid gets MCP servers with the session alone, and no hooks: $" + EnvSettings + " is set already")
		return env, nil
	}
	f, err := files.NewPrivateFile("settings", content)
	if err != nil {
		log.Warn("droid gets MCP servers with the session alone, and no hooks: no settings file can be made", zap.Error(err))
		return env, nil
	}
	return append(env[:len(env):len(env)], EnvSettings+"="+f.Path), f
}

// givesSettings reports whether the user's environment names a settings file.
func givesSettings(env []string) bool {
	return slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, EnvSettings+"=") })
}

// Runtime are the settings of one process in addition to the user's.
type Runtime struct {
	// MCPServers have unique names, which consist of letters, digits, "-" and "_".
	MCPServers []stream.MCPServer
	Hooks      []Hook
	// CWD is the directory of the session that is opened next, absolute. The user's own hooks depend on it. It is used only if there are
	// Hooks.
	CWD string
	// Project is the current content of the project's files, see Command.Project.
	Project *projectconfig.Layer
	// Excluded is the part of a project that the process must exclude, see Command.Excluded. The process must have been started with it.
	Excluded *projectconfig.Layer
}

// TakesRuntime reports whether SetRuntime works.
func (c *Client) TakesRuntime() bool { return c.settings != nil }

// HasHooks reports whether the last SetRuntime gave the process hooks.
func (c *Client) HasHooks() bool { return c.hooked.Load() }

// SetRuntime replaces the MCP servers and hooks of the process. They take effect with the next Initialize or Load (0.99 to 0.225).
//
// droid starts the MCP servers during that call, which does not wait for them, and reports their status. MCP servers passed with Initialize
// or Load are ignored before 0.215; since then droid waits for each, up to 30 s, and reports nothing about them.
//
// An ErrHooks error means that droid has the MCP servers and no hooks; after another error it is unknown what droid has. Call AwaitStart
// before. With hooks, the handling of the user's own hooks depends on the version; if that is unknown, the error is ErrHooks.
func (c *Client) SetRuntime(r Runtime) error {
	if !c.TakesRuntime() {
		return errors.New("droid: the process was not started to take MCP servers and hooks")
	}
	if r.Excluded != nil {
		r.Excluded = new(c.Relevant(*r.Excluded))
		if r.Excluded.AllGranted() { // other droids handle what nobody has allowed
			r.Excluded = nil
		}
	}
	c.projectModels.Store(nil)
	hooks, noHooks := c.allHooks(r)
	data, err := runtimeSettings(r.MCPServers, c.own, hooks, func(settings, servers map[string]any) error {
		if namesModel(r.Project) {
			user, _ := projectconfig.ReadUser(Home(c.env)) // if this fails, droid cannot read a model there either
			keepModel(settings, user, r.Project)
			wants := maps.Clone(r.Project.Models)
			maps.DeleteFunc(wants, func(key, value string) bool { return value == user.Models[key] })
			c.projectModels.Store(&wants)
		}
		addModels(settings, c.models, Home(c.env), r.Project)
		if r.Excluded == nil && r.Project == nil {
			return nil
		}
		return c.exclude(settings, servers, r)
	})
	if err != nil {
		return err
	}
	if err := c.settings.set(data, r.MCPServers); err != nil {
		return err
	}
	if len(hooks) > 0 && r.Excluded != nil && c.Version().Supports(stream.AddsHooks) && r.Excluded.HidesHooks() {
		noHooks = fmt.Errorf("%w: those of a project that is not trusted are left out, and with them all others", ErrHooks)
	}
	c.hooked.Store(len(r.Hooks) > 0 && noHooks == nil)
	var checks *processChecks
	var without *projectconfig.Layer
	if r.Excluded != nil {
		checks = &processChecks{home: Home(c.env), hooks: []string{noTask.Command}}
		for _, h := range r.Hooks {
			checks.hooks = append(checks.hooks, h.Command)
		}
		if len(r.Excluded.Items) > 0 {
			without = r.Excluded
		}
	}
	c.checks.Store(checks) // in one step, as the reader uses them concurrently
	c.given.Store(r.Project)
	c.without.Store(without)
	return noHooks
}

// methodVersion is a method that no droid has (0.99 to 0.225). Its refusal contains the version.
const methodVersion = "droid.get_version"

// AwaitVersion returns the version of droid's protocol. If droid has not written a line yet, it sends a request: some versions write
// nothing before that. It returns the zero Version if ctx ends or droid exits first. droid answers 0.3 s (0.225) to 1 s (0.99) after its
// start.
func (c *Client) AwaitVersion(ctx context.Context) stream.Version {
	if c.Version().IsZero() {
		_ = c.Call(ctx, methodVersion, nil, nil) // any answer has the version
	}
	return c.Version()
}

// AwaitStart returns the version as AwaitVersion does, once SetRuntime does not conflict with droid's start: 0.99 looks for MCP servers a
// few milliseconds after it has reported its version, 0.4 s on a busy machine, and reports them.
func (c *Client) AwaitStart(ctx context.Context) stream.Version {
	v := c.AwaitVersion(ctx)
	if v.IsZero() || v.Supports(stream.LooksForServersLate) {
		return v
	}
	ctx, cancel := context.WithTimeout(ctx, c.bounds.look)
	defer cancel()
	select {
	case <-c.serversSeen:
	case <-c.readDone:
	case <-ctx.Done():
		c.log.Warn("droid has not reported its MCP servers at its start; those of the session may be missing")
	}
	return v
}
