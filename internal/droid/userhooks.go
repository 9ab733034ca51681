package droid

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxSettings is how large a settings file of the user may be, in bytes.
const maxSettings = 4 << 20

// userHooks returns the user's own hooks for these events in a session in the directory
// cwd, as a droid has them that takes the settings file of one process in their place
// (0.99, 0.117): for each event the list of the first file that has one which is not
// empty. It takes no other file. hooks.json and settings.local.json are not read by
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
	found := make(hooksByEvent)
	for _, dir := range append(projectDirs(cwd), home) {
		hooks, err := readHooks(filepath.Join(dir, ".factory", "settings.json"), events)
		if err != nil {
			return nil, err
		}
		for event, list := range hooks {
			if len(found[event]) == 0 {
				found[event] = list
			}
		}
	}
	return found, nil
}

// projectDirs are cwd and its parents up to the root of the git repository that it is in,
// the nearest first; cwd alone where it is in none.
func projectDirs(cwd string) []string {
	var dirs []string
	for dir := filepath.Clean(cwd); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dirs
		}
		if dir == filepath.Dir(dir) {
			return dirs[:1]
		}
	}
}

// readHooks returns the hooks for these events in a settings file, none if there is no
// such file.
func readHooks(path string, events []string) (hooksByEvent, error) {
	data, err := readSettings(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	hooks, err := parseHooks(data, events)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return hooks, nil
}

// readSettings reads a file that must be regular, as reading another one may take for
// ever.
func readSettings(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case info.Size() > maxSettings:
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxSettings)
	}
	return os.ReadFile(path)
}

// parseHooks returns the hooks for these events in the text of a settings file.
func parseHooks(data []byte, events []string) (hooksByEvent, error) {
	var settings, byEvent map[string]json.RawMessage // of a key that is there twice the last counts, as for droid
	if err := json.Unmarshal(withoutComments(data), &settings); err != nil {
		return nil, err
	}
	if settings["hooks"] == nil {
		return nil, nil
	}
	if err := json.Unmarshal(settings["hooks"], &byEvent); err != nil {
		return nil, fmt.Errorf("hooks: %w", err)
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

// homeOf is the user's directory for a process with this environment, "" when it is not
// known. The last value of a variable counts.
func homeOf(env []string) string {
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
