package droid

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"droid-acp/internal/droid/layer"
	"droid-acp/internal/sys/files"
)

// userHooks returns the user's own hooks for these events in a session in the directory
// cwd, as a droid has them that takes the settings file of one process in their place
// (0.99): for each event the list of the first file that has one which is not
// empty. In one directory hooks/hooks.json, which has nothing but the lists, comes before
// settings.json. hooks.json beside them and settings.local.json are not read for hooks by
// these versions.
//
// droid passes over a file that it cannot read or understand. Here it is an error: what
// this program fails to understand, droid may have understood.
func userHooks(cwd, home string, events []string) (hooksByEvent, error) {
	if !filepath.IsAbs(cwd) || !filepath.IsAbs(home) {
		return nil, fmt.Errorf("the session's directory %q or the user's %q is not known", cwd, home)
	}
	cwd, err := filepath.EvalSymlinks(cwd) // as droid does, whatever the links lead through
	if err != nil {
		return nil, err
	}
	return firstHooks(append(layer.ProjectDirs(cwd), home), events)
}

// homeHooks are those that stand in the user's own directory.
func homeHooks(home string, events []string) (hooksByEvent, error) {
	if !filepath.IsAbs(home) {
		return nil, fmt.Errorf("the user's directory %q is not known", home)
	}
	return firstHooks([]string{home}, events)
}

// firstHooks returns for each event the first list that one of the directories has.
func firstHooks(dirs, events []string) (hooksByEvent, error) {
	found := make(hooksByEvent)
	for _, dir := range dirs {
		for _, name := range []string{filepath.Join("hooks", "hooks.json"), "settings.json"} {
			hooks, err := readHooks(filepath.Join(dir, ".factory", name), events)
			if err != nil {
				return nil, err
			}
			for event, list := range hooks {
				if len(found[event]) == 0 {
					found[event] = list
				}
			}
		}
	}
	return found, nil
}

// readHooks returns the hooks for these events in a settings file, none if there is no
// such file.
func readHooks(path string, events []string) (hooksByEvent, error) {
	data, err := files.Read(path, layer.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	hooks, err := parseHooks(data, events, filepath.Base(path) == "hooks.json")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return hooks, nil
}

// parseHooks returns the hooks for these events in the text of a settings file, or of one
// that has them alone.
func parseHooks(data []byte, events []string, alone bool) (hooksByEvent, error) {
	var settings, byEvent map[string]json.RawMessage // of a key that is there twice the last counts, as for droid
	if err := json.Unmarshal(layer.WithoutComments(data), &settings); err != nil {
		return nil, err
	}
	switch {
	case alone:
		byEvent = settings
	case settings["hooks"] == nil:
		return nil, nil
	default:
		if err := json.Unmarshal(settings["hooks"], &byEvent); err != nil {
			return nil, fmt.Errorf("hooks: %w", err)
		}
	}
	hooks := make(hooksByEvent)
	for _, event := range events {
		if byEvent[event] == nil {
			continue
		}
		var list []json.RawMessage
		if err := json.Unmarshal(byEvent[event], &list); err != nil {
			return nil, fmt.Errorf("hooks.%s: %w", event, err)
		}
		for i, entry := range list {
			if err := checkEntry(entry); err != nil {
				return nil, fmt.Errorf("hooks.%s[%d]: %w", event, i, err)
			}
		}
		hooks[event] = list
	}
	return hooks, nil
}

// checkEntry reports what makes an element of the list for an event one that droid does
// not take. One such element costs droid all hooks of the event.
func checkEntry(entry json.RawMessage) error {
	var e struct {
		Matcher string `json:"matcher"`
		Hooks   []struct {
			Type    string  `json:"type"`
			Command string  `json:"command"`
			Timeout float64 `json:"timeout"`
		} `json:"hooks"`
	}
	return json.Unmarshal(entry, &e)
}

// Home is the user's directory for a droid with this environment, "" when it is not
// known. The last value of a variable counts.
func Home(env []string) string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	home, override := "", ""
	for _, v := range env {
		key, value, _ := strings.Cut(v, "=")
		switch {
		case strings.EqualFold(key, name) && (key == name || runtime.GOOS == "windows"):
			home = value
		case key == envHome:
			override = value
		}
	}
	if override != "" {
		return override
	}
	return home
}

// envHome is a directory that droid takes for the user's.
const envHome = "FACTORY_HOME_OVERRIDE"
