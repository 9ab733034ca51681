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

// A process can be started without what a project brings to run. droid has no switch for
// that: its headless modes take all of a project's files (0.99 to 0.225). What it does
// have are settings of one process, which win over the project's (measured on 0.99.0,
// 0.215.0 and 0.225.2):
//
//   - mcpPolicy refuses each MCP server whose command, arguments or host have none of the
//     texts of a list in them. It also refuses servers that a file names later on.
//   - An MCP server of the same name takes the place of the project's.
//   - hooks.hooksDisabled turns off all hooks, the user's too. Before 0.215 the hooks of the
//     process replace all others event by event, so there the user's can be put in.
//   - commandDenylist has droid ask about a command that a commandAllowlist allows.
//   - sessionDefaultSettings, and the same keys beside it, have the mode in which a session
//     starts, and its model.
//
// A process that was started in a directory of its own reads nothing of the project before
// the session is opened.
//
// Where nothing is left out, because a project brings nothing that anybody knows of or is trusted, those of the settings
// that take nothing from the user or from what is trusted are set all the same, for what appears before droid reads it.

// ExcludeError says that a process cannot be started without what the project brings.
type ExcludeError struct{ Why string }

func (e *ExcludeError) Error() string { return e.Why }

// settings are those that the process is started with. Alone, it runs no MCP server of anybody
// and no hook until it has others. The rest stays as it is when the session is opened: 0.99
// reads it only once. An error says that it must not start.
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
	return json.Marshal(settings)
}

// limit completes settings for a limited process.
func (c Command) limit(settings map[string]any, user projectconfig.User) {
	keepModel(settings, user, c.Project)
	switch {
	case c.Alone:
		settings["mcpPolicy"], settings["hooks"] = policy(), map[string]any{"hooksDisabled": true}
		if c.Without != nil {
			restoreQuestions(settings, user, *c.Without)
		}
		return
	case c.Without != nil:
		setStartMode(settings, user)
	}
	limitServers(settings, user, nil, c.trusted())
}

// limited reports whether the process has settings of its own because of the project.
func (c Command) limited() bool { return c.Alone || c.Without != nil || c.Project != nil }

// trusted is what the project brings that the process is to run.
func (c Command) trusted() projectconfig.Layer {
	if c.Without != nil || c.Project == nil {
		return projectconfig.Layer{}
	}
	return *c.Project
}

// RequiresSettings reports whether the process is not to start without its settings: in an ordinary
// directory, in which droid looks for nothing of a project, they are only a precaution.
func (c Command) RequiresSettings() bool {
	return c.Alone || c.Without != nil && (c.Without.Found || len(c.Without.Items) > 0)
}

func unreadable(err error) error {
	return &ExcludeError{Why: "your own settings are needed for that and cannot be read: " + err.Error() + "."}
}

// policy lets those MCP servers start that have one of these texts in them.
func policy(allowed ...string) map[string]any {
	return map[string]any{"enabled": true, "allowlist": append([]string{}, allowed...)} // an empty list refuses all
}

// limitServers keeps MCP servers from starting that nobody has seen, where that takes none from the user or from what is
// trusted of the project: where there may be servers of which this program does not know, or that no text tells from
// others, none is refused.
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
	case !c.Version().Has(stream.AddsHooks):
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

// hooksForEveryEvent are the user's hooks and those of the process for each event there is, so that
// no other runs: before 0.215 the hooks of a process replace all others of the event.
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

// restoreQuestions has droid ask as it would without the layer, and without what the user has allowed for good: such a command
// ("make test") may run what the project brings.
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

// setStartMode has sessions start in the user's mode.
func setStartMode(settings map[string]any, user projectconfig.User) {
	setSessionDefaults(settings, user.Autonomy)
}

// setSessionDefaults has sessions start with values.
func setSessionDefaults(settings map[string]any, values map[string]string) {
	defaults, _ := settings["sessionDefaultSettings"].(map[string]string)
	if defaults == nil {
		defaults = make(map[string]string)
		settings["sessionDefaultSettings"] = defaults
	}
	for key, value := range values { // a project's keys beside that object count, too
		settings[key], defaults[key] = value, value
	}
}

// namesModel reports whether sessions of a project are to start with a model of its choice.
func namesModel(project *projectconfig.Layer) bool { return project != nil && len(project.Models) > 0 }

// keepModel has sessions start with the user's model where the project names one, which may be of another provider. Where
// the user has none for spec mode, it is their only one: nothing else overrules the project's.
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

// noHook is a hook that replaces a list of others and is never run: no tool and no event
// has such a name.
var noHook = json.RawMessage(`{"matcher":"^-$","hooks":[{"type":"command","command":"exit 0"}]}`)

// exclude completes the settings of a process so that the layer is left out. hooks
// are those of the process, if it gets any.
func (c *Client) exclude(settings map[string]any, servers map[string]any, r Runtime) error {
	user, err := projectconfig.ReadUser(Home(c.env))
	if r.Without == nil || len(r.Without.Items) == 0 {
		trusted := Command{Project: r.Project, Without: r.Without}.trusted()
		switch {
		case err == nil:
			limitServers(settings, user, r.MCPServers, trusted)
			c.limitHooks(settings, user, trusted)
			if r.Without != nil {
				setStartMode(settings, user)
			}
		case r.Without != nil && r.Without.Found:
			return unreadable(err)
		}
		return nil
	}
	if err != nil {
		return unreadable(err)
	}
	if !c.Version().Has(stream.ExcludesProjectFiles) {
		return &ExcludeError{Why: c.Version().Lacks(stream.ExcludesProjectFiles)}
	}
	for _, i := range r.Without.Of(projectconfig.MCPServer) {
		if _, ours := servers[i.Name]; ours || !projectconfig.SafeName(i.Name) {
			continue
		}
		servers[i.Name] = map[string]any{"type": "stdio", "command": "false", "disabled": true}
		if own, ok := user.Servers[i.Name]; ok && isServer(own) {
			servers[i.Name] = own
		}
	}
	switch {
	case r.Without.HidesServers(): // one of them may be called as one of the user's, or have its command line
		settings["mcpPolicy"] = policy()
	case user.Policy != nil:
		settings["mcpPolicy"] = policy(user.Policy...) // theirs decides, and not one of the project's
	default:
		settings["mcpPolicy"] = policy(slices.DeleteFunc(marksOf(r.MCPServers, slices.Collect(maps.Values(user.Servers))), func(s string) bool { return s == "" })...)
	}
	restoreQuestions(settings, user, *r.Without)
	return c.excludeHooks(settings, user, r)
}

// replacesHooks reports whether droid is to run no hooks but the user's and those of the process.
func (r Runtime) replacesHooks() bool {
	return r.Without != nil && (r.Without.HidesHooks() || r.Without.Has(projectconfig.Preload))
}

// noTask is a hook before the Task tool that refuses it. A subagent of droid 0.99 is another droid,
// which is started in the project's directory and runs what a Preload names.
var noTask = Hook{Event: "PreToolUse", Matcher: "^Task$",
	Command: "echo 'droid-acp: no subagent can start while bunfig.toml of this project is not trusted. The user can type /trust yes.' >&2; exit 2"}

// excludeHooks leaves the project's hooks out. The process's own, if settings has any,
// stay where the version can do that.
func (c *Client) excludeHooks(settings map[string]any, user projectconfig.User, r Runtime) error {
	if !r.replacesHooks() {
		return nil
	}
	if c.Version().Has(stream.AddsHooks) {
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
	if r.Without.Has(projectconfig.Preload) {
		entry, err := noTask.entry()
		if err != nil {
			return &ExcludeError{Why: err.Error()}
		}
		all[noTask.Event] = append(all[noTask.Event], entry)
	}
	settings["hooks"] = all
	return nil
}

// marksOf has a text of each server that is to start. droid compares the letters and
// digits of a command or an argument, or a host.
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
		if json.Unmarshal(raw, &s) == nil { // else droid does not take it either
			list = append(list, longestMark(s.Command, s.Args, s.URL))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// isServer reports whether droid takes a value for a server. Of settings of a process in which
// one thing has another form, it takes nothing at all.
func isServer(raw json.RawMessage) bool {
	var s struct {
		Type, Command, URL string
		Args               []string
		Env, Headers       map[string]string
		Disabled           bool
	}
	return json.Unmarshal(raw, &s) == nil && slices.Contains([]string{"", "stdio", "http", "sse"}, s.Type) && (s.Command != "" || s.URL != "")
}

// longestMark is the longest text by which a server can be known: the less a text says, the more
// servers have it.
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

// gitSettings keep the git commands that droid itself runs, and the model's, from programs of a repository where that costs
// nobody anything. status and diff ask core.fsmonitor for changed files, and log has gpg.program look at signatures. With
// safe.bareRepository (git 2.38) no directory of files that a clone brings is a repository. What else a repository's
// configuration may have git start is a projectconfig.GitProgram.
var gitSettings = [][2]string{{"core.fsmonitor", "false"}, {"log.showSignature", "false"}, {"safe.bareRepository", "explicit"}}

// withoutPrograms adds variables that overrule a repository's configuration by gitSettings, behind those that are set in
// this way already (git, "GIT_CONFIG_COUNT"). Without optional locks status writes no index, so no hook sees it change.
func withoutPrograms(env []string) []string {
	count := 0
	for _, v := range env { // the last one counts
		if text, ok := strings.CutPrefix(v, "GIT_CONFIG_COUNT="); ok {
			count, _ = strconv.Atoi(text) // git takes no other; then none of them counts
		}
	}
	count = max(count, 0)
	env = append(env[:len(env):len(env)], "GIT_OPTIONAL_LOCKS=0", fmt.Sprintf("GIT_CONFIG_COUNT=%d", count+len(gitSettings)))
	for i, s := range gitSettings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count+i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count+i, s[1]))
	}
	return env
}

// Relevant is what of a layer this droid does anything with.
func (c *Client) Relevant(l projectconfig.Layer) projectconfig.Layer {
	return l.Except(ignoredKinds(c.Version())...)
}

// ignoredKinds are the kinds of things that this version of droid does nothing with.
func ignoredKinds(v stream.Version) (kinds []projectconfig.Kind) {
	if v.HasVocabulary() {
		kinds = append(kinds, projectconfig.UnknownKey)
	}
	if v.Has(stream.PreloadsNothing) {
		kinds = append(kinds, projectconfig.Preload)
	}
	return kinds
}

// checkSettingsFree is why a process with this environment cannot be started to leave a layer out.
func checkSettingsFree(env []string) error {
	for _, v := range env {
		if path, set := strings.CutPrefix(v, EnvSettings+"="); set {
			return &ExcludeError{Why: fmt.Sprintf("$%s is set to %s, so droid takes no settings from this program.", EnvSettings, path)}
		}
	}
	return &ExcludeError{Why: "no settings file can be made for droid; the log says why."}
}

// Given is what the project brought when the process got its settings, also what was left
// out of it. It is empty where nobody looked.
func (c *Client) Given() projectconfig.Layer {
	if given := c.given.Load(); given != nil {
		return *given
	}
	return projectconfig.Layer{}
}

// ProjectModels are the models, and their efforts, that the project's files name and the user's do not, by the keys of settings.
func (c *Client) ProjectModels() map[string]string {
	if wants := c.projectModels.Load(); wants != nil {
		return *wants
	}
	return nil
}

// HasStaleTexts reports whether the process does not know of a command or a skill as it is now: it has read
// them at its start, and watches no files. One before 0.215 has no commands, and goes on.
func (c *Client) HasStaleTexts(now projectconfig.Layer) bool {
	given := c.given.Load()
	return c.own != nil && given != nil && given.Texts != now.Texts && c.Version().Has(stream.ExpandsCommands)
}

// StartedExcluding is what the process was started without, see Command.
func (c *Client) StartedExcluding() *projectconfig.Layer { return c.started }

// Without is what of a project the process was told to leave out, nil for nothing. A process
// that is guarded leaves out nothing that is known.
func (c *Client) Without() *projectconfig.Layer { return c.without.Load() }
