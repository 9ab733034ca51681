package droid

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/stream"
)

// A process can be started without a project's executable configuration. droid has no switch for that: its headless modes read all of a
// project's files (0.99 to 0.225). But it has settings for one process, which override the project's (measured on 0.99.0, 0.215.0 and
// 0.225.2):
//
//   - mcpPolicy refuses each MCP server whose command, arguments or host contain none of the
//     texts of a list. It also refuses servers that a file names later on.
//   - An MCP server of the same name takes the place of the project's.
//   - hooks.hooksDisabled turns off all hooks, the user's too. Before 0.215 the hooks of the
//     process replace all others event by event, so there the user's can be put in.
//   - commandDenylist makes droid ask about a command that a commandAllowlist allows.
//   - sessionDefaultSettings, and the same keys at the top level, set the mode in which a
//     session starts, and its model.
//
// A process that was started in an empty directory reads nothing of the project before the session is opened.
//
// If nothing is excluded, because a project has nothing known or is trusted, those settings that restrict neither the user nor anything
// trusted are set anyway, for files that appear before droid reads them.

// ExcludeError means that a process cannot be started without the project's configuration.
type ExcludeError struct{ Why string }

func (e *ExcludeError) Error() string { return e.Why }

// settings returns the settings that the process is started with. If Alone, they allow no MCP servers and hooks until they are replaced.
// The rest stays the same when the session is opened: 0.99 reads it only once. An error means that the process must not be started.
func (c Command) settings(home string) ([]byte, error) {
	settings := make(map[string]any)
	if c.limited() {
		user, err := projectconfig.ReadUser(home)
		switch {
		case err == nil:
			c.limit(settings, user)
		case c.RequiresSettings():
			return nil, unreadable(err)
		}
	}
	addModels(settings, c.CustomModels, home, c.Project)
	return json.Marshal(settings)
}

// limit adds the restrictions to settings.
func (c Command) limit(settings map[string]any, user projectconfig.User) {
	keepModel(settings, user, c.Project)
	switch {
	case c.Alone:
		settings["mcpPolicy"], settings["hooks"] = policy(), map[string]any{"hooksDisabled": true}
		if c.Excluded != nil {
			restoreQuestions(settings, user, *c.Excluded)
		}
		return
	case c.Excluded != nil:
		setStartMode(settings, user)
	}
	limitServers(settings, user, nil, c.trusted())
}

// limited reports whether the process needs its own settings because of the project.
func (c Command) limited() bool { return c.Alone || c.Excluded != nil || c.Project != nil }

// trusted returns the part of the project that the process may run.
func (c Command) trusted() projectconfig.Layer {
	if c.Excluded != nil || c.Project == nil {
		return projectconfig.Layer{}
	}
	return *c.Project
}

// RequiresSettings reports whether the process must not be started without its settings: in an ordinary directory, where droid finds no
// project files, they are only a precaution.
func (c Command) RequiresSettings() bool {
	return c.Alone || c.Excluded != nil && (c.Excluded.Found || len(c.Excluded.Items) > 0)
}

func unreadable(err error) error {
	return &ExcludeError{Why: "your own settings are needed for that and cannot be read: " + err.Error() + "."}
}

// policy returns an MCP policy that allows servers that contain one of these texts.
func policy(allowed ...string) map[string]any {
	return map[string]any{"enabled": true, "allowlist": append([]string{}, allowed...)} // an empty list refuses all
}

// limitServers prevents unknown MCP servers from starting, if that excludes none of the user's or of the trusted project's: if there may be
// servers that this program does not know of, or that no text distinguishes from others, none is refused.
func limitServers(settings map[string]any, user projectconfig.User, servers []stream.MCPServer, trusted projectconfig.Layer) {
	marks := marksOf(servers, slices.Collect(maps.Values(user.Servers)), trusted.Servers())
	switch {
	case trusted.HasPolicy: // droid obeys it
	case user.Policy != nil:
		settings["mcpPolicy"] = policy(user.Policy...) // and no project's
	case !user.Others && !trusted.HidesServers() && !slices.Contains(marks, ""):
		settings["mcpPolicy"] = policy(marks...)
	}
}

// limitHooks does the same for hooks.
func (c *Client) limitHooks(settings map[string]any, user projectconfig.User, trusted projectconfig.Layer) {
	own, _ := settings["hooks"].(hooksByEvent)
	switch {
	case c.Version().IsZero() || user.Others || trusted.HidesHooks():
	case !c.Version().Supports(stream.AddsHooks):
		users, err := homeHooks(Home(c.env), hookEvents)
		if err != nil {
			return
		}
		for event := range own { // the user's are among these, see allHooks
			delete(users, event)
		}
		settings["hooks"] = hooksForEveryEvent(users, own)
	case len(own) == 0 && !user.Hooks:
		settings["hooks"] = map[string]any{"hooksDisabled": true}
	}
}

// hooksForEveryEvent returns the user's hooks and those of the process for each existing event, so that no others run: before 0.215 the
// hooks of a process replace all others of the event.
func hooksForEveryEvent(users, own hooksByEvent) hooksByEvent {
	all := make(hooksByEvent)
	for _, event := range hookEvents {
		all[event] = append(users[event], own[event]...)
		if len(all[event]) == 0 {
			all[event] = []json.RawMessage{noHook}
		}
	}
	return all
}

// restoreQuestions makes droid ask as it would without the layer, and without what the user has allowed permanently: such a command ("make
// test") may run the project's programs.
func restoreQuestions(settings map[string]any, user projectconfig.User, without projectconfig.Layer) {
	deny := slices.Clone(user.Allowed)
	for _, i := range without.Of(projectconfig.Allowed) {
		deny = append(deny, i.Does)
	}
	slices.Sort(deny)
	if len(deny) > 0 {
		settings["commandDenylist"] = slices.Compact(deny)
	}
	setStartMode(settings, user)
}

// setStartMode makes sessions start in the user's mode.
func setStartMode(settings map[string]any, user projectconfig.User) {
	setSessionDefaults(settings, user.Autonomy)
}

// setSessionDefaults adds values to the defaults of sessions.
func setSessionDefaults(settings map[string]any, values map[string]string) {
	defaults, _ := settings["sessionDefaultSettings"].(map[string]string)
	if defaults == nil {
		defaults = make(map[string]string)
		settings["sessionDefaultSettings"] = defaults
	}
	for key, value := range values { // a project's keys outside that object count, too
		settings[key], defaults[key] = value, value
	}
}

// namesModel reports whether the project chooses the model of its sessions.
func namesModel(project *projectconfig.Layer) bool { return project != nil && len(project.Models) > 0 }

// keepModel makes sessions start with the user's model if the project names one, which may be of another provider. If the user has none for
// spec mode, their normal model is used there: nothing else overrides the project's.
func keepModel(settings map[string]any, user projectconfig.User, project *projectconfig.Layer) {
	if !namesModel(project) {
		return
	}
	own := make(map[string]string)
	for key := range project.Models {
		if value := user.Models[key]; value != "" {
			own[key] = value
		}
	}
	if own["specModeModel"] == "" && project.Models["specModeModel"] != "" && user.Models["model"] != "" {
		own["specModeModel"] = user.Models["model"]
	}
	setSessionDefaults(settings, own)
}

// hookEvents are the events for which droid runs hooks (0.99 to 0.225).
var hookEvents = []string{
	"Notification", "PostToolUse", "PreCompact", "PreToolUse", "SessionEnd", "SessionStart", "Stop", "SubagentStop", "UserPromptSubmit",
}

// noHook is a hook that replaces a list of others and never runs: no tool or event has such a name.
var noHook = json.RawMessage(`{"matcher":"^-$","hooks":[{"type":"command","command":"exit 0"}]}`)

// exclude completes the settings of a process so that the layer is excluded. hooks are those of the process, if any.
func (c *Client) exclude(settings map[string]any, servers map[string]any, r Runtime) error {
	user, err := projectconfig.ReadUser(Home(c.env))
	if r.Excluded == nil || len(r.Excluded.Items) == 0 {
		trusted := Command{Project: r.Project, Excluded: r.Excluded}.trusted()
		switch {
		case err == nil:
			limitServers(settings, user, r.MCPServers, trusted)
			c.limitHooks(settings, user, trusted)
			if r.Excluded != nil {
				setStartMode(settings, user)
			}
		case r.Excluded != nil && r.Excluded.Found:
			return unreadable(err)
		}
		return nil
	}
	if err != nil {
		return unreadable(err)
	}
	if !c.Version().Supports(stream.ExcludesProjectFiles) {
		return &ExcludeError{Why: c.Version().UnsupportedText(stream.ExcludesProjectFiles)}
	}
	for _, i := range r.Excluded.Of(projectconfig.MCPServer) {
		if _, ours := servers[i.Name]; ours || !projectconfig.SafeName(i.Name) {
			continue
		}
		servers[i.Name] = map[string]any{"type": "stdio", "command": "false", "disabled": true}
		if own, ok := user.Servers[i.Name]; ok && isServer(own) {
			servers[i.Name] = own
		}
	}
	switch {
	case r.Excluded.HidesServers(): // one of them may have the name or the command line of one of the user's
		settings["mcpPolicy"] = policy()
	case user.Policy != nil:
		settings["mcpPolicy"] = policy(user.Policy...) // the user's own decides, not the project's
	default:
		settings["mcpPolicy"] = policy(slices.DeleteFunc(marksOf(r.MCPServers, slices.Collect(maps.Values(user.Servers))), func(s string) bool { return s == "" })...)
	}
	restoreQuestions(settings, user, *r.Excluded)
	return c.excludeHooks(settings, user, r)
}

// replacesHooks reports whether droid must run no hooks but the user's and those of the process.
func (r Runtime) replacesHooks() bool {
	return r.Excluded != nil && (r.Excluded.HidesHooks() || r.Excluded.Has(projectconfig.Preload))
}

// noTask is a hook before the Task tool that refuses it. A subagent of droid 0.99 is another droid, which is started in the project's
// directory and runs what a Preload names.
var noTask = Hook{Event: "PreToolUse", Matcher: "^Task$",
	Command: "echo 'droid-acp: no subagent can start while bunfig.toml of this project is not trusted. The user can type /trust yes.' >&2; exit 2"}

// excludeHooks excludes the project's hooks. The process's own hooks, if settings has any, stay if the version supports that.
func (c *Client) excludeHooks(settings map[string]any, user projectconfig.User, r Runtime) error {
	if !r.replacesHooks() {
		return nil
	}
	if c.Version().Supports(stream.AddsHooks) {
		if user.Hooks {
			return &ExcludeError{Why: "this droid can leave out the project's hooks only together with your own in ~/.factory, which may forbid something."}
		}
		settings["hooks"] = map[string]any{"hooksDisabled": true}
		return nil
	}
	users, err := homeHooks(Home(c.env), hookEvents)
	if err != nil {
		return &ExcludeError{Why: "your own hooks would be left out, too, as they cannot be read: " + err.Error()}
	}
	own, _ := settings["hooks"].(hooksByEvent)
	all := hooksForEveryEvent(users, own)
	if r.Excluded.Has(projectconfig.Preload) {
		entry, err := noTask.entry()
		if err != nil {
			return &ExcludeError{Why: err.Error()}
		}
		all[noTask.Event] = append(all[noTask.Event], entry)
	}
	settings["hooks"] = all
	return nil
}

// marksOf returns a text of each server that may start. droid compares the letters and digits of a command or an argument, or a host.
func marksOf(servers []stream.MCPServer, files ...[]json.RawMessage) (list []string) {
	for _, s := range servers {
		list = append(list, longestMark(s.Command, s.Args, s.URL))
	}
	for _, raw := range slices.Concat(files...) {
		var s struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
			URL     string   `json:"url"`
		}
		if json.Unmarshal(raw, &s) == nil { // otherwise droid does not accept it either
			list = append(list, longestMark(s.Command, s.Args, s.URL))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// isServer reports whether droid accepts a value as a server. If one value in the settings of a process has an invalid form, droid ignores
// all of them.
func isServer(raw json.RawMessage) bool {
	var s struct {
		Type, Command, URL string
		Args               []string
		Env, Headers       map[string]string
		Disabled           bool
	}
	return json.Unmarshal(raw, &s) == nil && slices.Contains([]string{"", "stdio", "http", "sse"}, s.Type) && (s.Command != "" || s.URL != "")
}

// longestMark returns the longest text that identifies a server: the shorter it is, the more servers contain it.
func longestMark(command string, args []string, address string) string {
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

// gitSettings prevent the git commands that droid itself and the model run from starting programs of a repository, where that has no cost.
// status and diff ask core.fsmonitor for changed files, and log makes gpg.program check signatures. With safe.bareRepository (git 2.38) no
// directory inside a clone is used as a repository. With one thread git reads an index in order, as projectconfig does, and not by a table in
// it. Other programs that a repository's configuration can make git run are a projectconfig.GitProgram.
var gitSettings = [][2]string{{"core.fsmonitor", "false"}, {"log.showSignature", "false"}, {"safe.bareRepository", "explicit"}, {"index.threads", "1"}}

// withoutPrograms adds environment variables with gitSettings, which override a repository's configuration, after those that are already
// set in this way (git, "GIT_CONFIG_COUNT"). Without optional locks status writes no index, so no hook sees a change.
func withoutPrograms(env []string) []string {
	count := 0
	for _, v := range env { // the last one counts
		if text, ok := strings.CutPrefix(v, "GIT_CONFIG_COUNT="); ok {
			count, _ = strconv.Atoi(text) // git ignores all of them if the number is invalid
		}
	}
	count = max(count, 0)
	env = append(env[:len(env):len(env)], "GIT_OPTIONAL_LOCKS=0", fmt.Sprintf("GIT_CONFIG_COUNT=%d", count+len(gitSettings)))
	for i, s := range gitSettings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count+i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count+i, s[1]))
	}
	return env
}

// Relevant returns the part of a layer that affects this droid.
func (c *Client) Relevant(l projectconfig.Layer) projectconfig.Layer {
	return l.Except(ignoredKinds(c.Version())...)
}

// ignoredKinds returns the kinds of items that this version of droid ignores.
func ignoredKinds(v stream.Version) (kinds []projectconfig.Kind) {
	if v.HasVocabulary() {
		kinds = append(kinds, projectconfig.UnknownKey)
	}
	if v.Supports(stream.PreloadsNothing) {
		kinds = append(kinds, projectconfig.Preload)
	}
	return kinds
}

// checkSettingsFree returns why a process with this environment cannot be started with a layer excluded.
func checkSettingsFree(env []string) error {
	for _, v := range env {
		if path, set := strings.CutPrefix(v, EnvSettings+"="); set {
			return &ExcludeError{Why: fmt.Sprintf("$%s is set to %s, so droid takes no settings from this program.", EnvSettings, path)}
		}
	}
	return &ExcludeError{Why: "no settings file can be made for droid; the log says why."}
}

// Given returns the project's content when the process got its settings, including what was excluded. It is empty if the project was not
// read.
func (c *Client) Given() projectconfig.Layer {
	if given := c.given.Load(); given != nil {
		return *given
	}
	return projectconfig.Layer{}
}

// ProjectModels returns the models and efforts that the project's files name and the user's do not, by the keys of settings.
func (c *Client) ProjectModels() map[string]string {
	if wants := c.projectModels.Load(); wants != nil {
		return *wants
	}
	return nil
}

// HasStaleTexts reports whether the process has outdated commands or skills: it has read them at its start, and watches no files. A droid
// before 0.215 has no commands, and is never stale.
func (c *Client) HasStaleTexts(now projectconfig.Layer) bool {
	given := c.given.Load()
	return c.own != nil && given != nil && given.Texts != now.Texts && c.Version().Supports(stream.ExpandsCommands)
}

// StartedExcluding returns what the process was started without, see Command.Excluded.
func (c *Client) StartedExcluding() *projectconfig.Layer { return c.started }

// Excluded returns the part of a project that the process excludes, nil for nothing. A guarded process excludes nothing known.
func (c *Client) Excluded() *projectconfig.Layer { return c.without.Load() }
