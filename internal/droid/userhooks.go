package droid

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"droid-acp/internal/droid/config"
)

// userHooks returns the user's own hooks for these events in a session in cwd, as a droid applies them that replaces them by the settings
// file of one process (0.99): for each event the first non-empty list of the files. In one directory hooks/hooks.json, which has only the
// lists, precedes settings.json. These versions read no hooks from hooks.json and settings.local.json in the same directory.
//
// droid skips a file that it cannot read or parse. Here it is an error: droid may be able to parse what this program cannot.
func userHooks(cwd, home string, events []string) (hooksByEvent, error) {
	if !filepath.IsAbs(cwd) || !filepath.IsAbs(home) {
		return nil, fmt.Errorf("the session's directory %q or the user's %q is not known", cwd, home)
	}
	if _, err := filepath.EvalSymlinks(cwd); err != nil {
		return nil, err
	}
	return firstHooks(append(config.ProjectFiles(cwd, home, hookFiles...), config.UserFiles(home, hookFiles...)...), events)
}

// hookFiles are the files of a directory in the order in which droid 0.99 uses them.
var hookFiles = []string{config.NestedHooks, config.Settings}

// homeHooks returns the hooks in the user's own directory.
func homeHooks(home string, events []string) (hooksByEvent, error) {
	if !filepath.IsAbs(home) {
		return nil, fmt.Errorf("the user's directory %q is not known", home)
	}
	return firstHooks(config.UserFiles(home, hookFiles...), events)
}

// firstHooks returns for each event the first list in the files.
func firstHooks(of []config.File, events []string) (hooksByEvent, error) {
	found := make(hooksByEvent)
	for _, f := range of {
		byEvent, err := f.Hooks()
		for _, event := range events {
			var list []json.RawMessage
			if err == nil && byEvent[event] != nil {
				list, err = entries(byEvent[event])
			}
			if len(found[event]) == 0 {
				found[event] = list
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return found, nil
}

// entries returns the elements of an event's list. One that droid does not accept invalidates all hooks of the event.
func entries(list json.RawMessage) (all []json.RawMessage, err error) {
	var known []struct {
		Matcher string `json:"matcher"`
		Hooks   []struct {
			Type    string  `json:"type"`
			Command string  `json:"command"`
			Timeout float64 `json:"timeout"`
		} `json:"hooks"`
	}
	return all, cmp.Or(json.Unmarshal(list, &all), json.Unmarshal(list, &known))
}

// Home returns the user's directory for a droid with this environment, "" if unknown. The last value of a variable counts.
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

// envHome names a directory that droid uses as the user's home.
const envHome = "FACTORY_HOME_OVERRIDE"
