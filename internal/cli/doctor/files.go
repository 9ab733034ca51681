package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"droid-acp/internal/droid/config"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/sys/subprocess"
)

// ownModel is an entry of "customModels". Its key is never shown.
type ownModel struct {
	Model, DisplayName, Provider string
	OldName                      string `json:"model_display_name"` // in config.json
}

// checkSettings reads the files that determine the available models. Files that it may not read are reported by the check of own files.
func checkSettings(p *inspection, _ context.Context) Check {
	var own, old []ownModel
	var read []string
	copies := map[string][]byte{}
	for _, f := range config.UserFiles(filepath.Dir(p.factory), config.Settings, config.LocalSettings, config.OldModels) {
		var values map[string]any
		var models struct {
			Own []ownModel `json:"customModels"`
			Old []ownModel `json:"custom_models"`
		}
		found, err := f.Decode(&models)
		if found && err == nil {
			_, err = f.Decode(&values)
		}
		if found && err == nil {
			copies[f.Name], err = withoutSecrets(values)
		}
		switch {
		case err != nil:
			return p.unread(f.Path, err)
		case !found:
			continue
		case f.Name == config.OldModels:
			old = models.Old
		case models.Own != nil: // droid uses the last ones (0.99 to 0.225)
			own = models.Own
		}
		read = append(read, f.Path)
	}
	names, facts := []string{}, []any{}
	for _, m := range append(own, old...) {
		name := cmp.Or(m.DisplayName, m.OldName, m.Model)
		facts = append(facts, map[string]any{"name": name, "provider": m.Provider})
		names = append(names, fmt.Sprintf("%s (%s)", name, m.Provider))
	}
	found := list(read) + " can be read; you have no models of your own."
	switch {
	case len(names) > 0:
		found = list(read) + " can be read; your own: " + some(names, "model") + "."
	case read == nil:
		found = "There is no " + filepath.Join(p.factory, config.Settings) + ": droid's defaults hold, and you have no models of your own."
	}
	return Check{Result: OK, Found: found, Facts: map[string]any{"models": facts}, tells: func(p *inspection) {
		p.copies, p.models = copies, len(names)
	}}
}

// unread returns the check for a settings file that cannot be read.
func (p *inspection) unread(file string, err error) Check {
	if errors.Is(err, fs.ErrPermission) {
		return Check{Result: Skipped, Found: `Not looked at, because of "own files" above.`, tells: func(p *inspection) { p.blocked["settings"] = "own files" }}
	}
	return Check{Result: Failure, Found: file + " cannot be read: " + errorText(err), ToDo: "Correct it there; droid passes over the whole file, with the models in it."}
}

// errorText returns the text of an error about a file that was named before, without the file's content.
func errorText(err error) string {
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		err = file.Err
	}
	return diagnosis.Sentence(err)
}

// all returns the files with these names: the user's own, and the project's.
func (p *inspection) all(names ...string) []config.File {
	home := filepath.Dir(p.factory)
	return append(config.UserFiles(home, names...), config.ProjectFiles(p.Dir, home, names...)...)
}

// reportedElsewhere reports whether another check reports this error of reading a file.
func (p *inspection) reportedElsewhere(f config.File, err error) bool {
	return f.Dir == filepath.Dir(p.factory) && (errors.Is(err, fs.ErrPermission) || err != nil && f.Name == config.Settings)
}

// mcpServer is an entry of "mcpServers". Its environment and headers are not read.
type mcpServer struct {
	Command  string
	Disabled bool
}

func checkMCP(p *inspection, _ context.Context) (check Check) {
	var words, faults, todo []string
	facts := []any{}
	defer p.noteExcluded(&check, &words)
	for _, f := range p.all(config.MCP) {
		var values struct {
			MCPServers map[string]mcpServer `json:"mcpServers"`
		}
		found, err := f.Decode(&values)
		if err == nil && !found || p.reportedElsewhere(f, err) {
			continue
		}
		if err != nil {
			faults, todo = append(faults, f.Path+" cannot be read: "+errorText(err)), append(todo, "Correct it there; droid passes over the file.")
			continue
		}
		names := slices.Sorted(maps.Keys(values.MCPServers))
		words = append(words, fmt.Sprintf("%s in %s: %s", counted(len(names), "server"), f.Path, some(names, "server")))
		for _, name := range names {
			server := values.MCPServers[name]
			facts = append(facts, map[string]any{"name": name, "file": f.Path, "disabled": server.Disabled})
			if server.Command != "" && !server.Disabled && !runs(server.Command, f.Dir) {
				faults = append(faults, fmt.Sprintf("The command %q of the server %q is not there.", withoutArguments(server.Command), name))
				if len(todo) < maxNames {
					todo = append(todo, fmt.Sprintf("Install %s, or correct it in %s.", withoutArguments(server.Command), f.Path))
				}
			}
		}
	}
	if words == nil && faults == nil {
		return Check{Result: OK, Found: "None are set up for droid here; those of your editor come with a session.", Facts: map[string]any{"servers": facts}}
	}
	return warningCheck(words, faults, todo, map[string]any{"servers": facts})
}

// noteExcluded adds to a check with findings in files of the project, whose words name these files, that they do not run until the user has
// allowed it.
func (p *inspection) noteExcluded(check *Check, words *[]string) {
	own := filepath.Join(p.factory, "") + string(filepath.Separator)
	if p.Trust == "" || !slices.ContainsFunc(*words, func(w string) bool { return !strings.Contains(w, own) }) {
		return
	}
	check.Found += " What the project brings is left out: nobody has said yes to it."
	check.ToDo = strings.TrimSpace(check.ToDo + " To let it run: " + p.Trust + ".")
}

// warningCheck returns a check whose faults do not prevent work.
func warningCheck(words, faults, todo []string, facts map[string]any) Check {
	if more := len(faults) - maxNames; more > 0 {
		faults = append(faults[:maxNames:maxNames], "And "+counted(more, "more fault")+".")
	}
	check := Check{Result: OK, ToDo: strings.Join(todo, " "), Facts: facts}
	if len(words) > 0 {
		check.Found = strings.Join(words, "; ") + "."
	}
	if len(faults) > 0 {
		check.Result = Warning
		check.Found = strings.TrimSpace(check.Found + " " + strings.Join(faults, " "))
	}
	return check
}

// withoutArguments returns a command without anything that may be a key: some users put arguments or variables into the field for the
// program. A path may contain spaces.
func withoutArguments(command string) string {
	end := strings.IndexByte(command, '=')
	if dash := strings.Index(command, " -"); end < 0 || dash >= 0 && dash < end {
		end = dash
	}
	if space := strings.IndexAny(command, " \t\n"); space >= 0 && (end < 0 || space < end) && !filepath.IsAbs(command) {
		end = space
	}
	if end < 0 {
		return command
	}
	return command[:end] + "…"
}

// runs reports whether a command exists, as seen from a directory.
func runs(command, dir string) bool {
	if strings.Contains(command, "$") {
		return true // it is known only at run time
	}
	if strings.ContainsAny(command, `/\`) && !filepath.IsAbs(command) {
		command = filepath.Join(dir, command)
	}
	_, err := subprocess.LookPath(command)
	return err == nil
}

func checkHooks(p *inspection, _ context.Context) (check Check) {
	var words, faults, todo []string
	facts := map[string]any{}
	defer p.noteExcluded(&check, &words)
	for _, f := range p.all(config.Settings, config.Hooks, config.NestedHooks) {
		byEvent, err := f.Hooks()
		var events []string
		for _, event := range slices.Sorted(maps.Keys(byEvent)) {
			var value any
			_ = json.Unmarshal(byEvent[event], &value) // it was decoded before
			switch value.(type) {
			case []any:
				events = append(events, event)
			case nil, bool: // hooksDisabled, showHookOutput
			default:
				err = fmt.Errorf("%q is no list", event)
			}
		}
		switch {
		case err == nil && events == nil, p.reportedElsewhere(f, err):
			continue
		case err != nil:
			faults, todo = append(faults, f.Path+" cannot be read: "+errorText(err)), append(todo, "Correct it there; files stay on the disk, and an older droid runs no hooks of it.")
			continue
		}
		facts[f.Path] = events
		words = append(words, "for "+some(events, "event")+" in "+f.Path)
	}
	if words == nil && faults == nil {
		return Check{Result: OK, Found: "You have none.", Facts: facts}
	}
	return warningCheck(words, faults, todo, facts)
}
