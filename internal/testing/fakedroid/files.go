package fakedroid

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// changesFiles reports whether a tool changes the file that it names. droid runs those in one message strictly one after the other,
// including hooks (0.99 to 0.225).
func changesFiles(tool string) bool {
	return tool == "Edit" || tool == "Create" || tool == "MultiEdit" || tool == "ApplyPatch"
}

// work executes a tool with Works on the disk. It returns the result, which is t.Result unless that is empty.
func (d *Droid) work(t Tool, input Fields) (result string, isError bool) {
	if !t.Works {
		return t.Result, t.IsError
	}
	text := func(name string) string { s, _ := input[name].(string); return s }
	path := text("file_path")
	var err error
	switch {
	case t.Do != nil:
		err = t.Do(input)
	case t.Name == "Read":
		var data []byte
		data, err = os.ReadFile(path)
		result = strings.TrimRight(string(data), "\n")
	case t.Name == "Create":
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = d.write(path, text("content"))
		}
	case t.Name == "Edit":
		err = d.edit(path, text("old_str"), text("new_str"))
	default:
		err = fmt.Errorf("the fake droid cannot do %s", t.Name)
	}
	if err != nil {
		return "Error: " + err.Error(), true
	}
	if t.Name != "Read" {
		told, _ := json.Marshal(Fields{"success": true, "file_path": path}) // strings and booleans can always be encoded
		result = string(told)
	}
	if t.Result != "" {
		result = t.Result
	}
	return result, false
}

func (d *Droid) edit(path, from, to string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if from == "" || !strings.Contains(string(data), from) {
		return errors.New("the text to replace was not found in the file")
	}
	return d.write(path, strings.Replace(string(data), from, to, 1))
}

// write writes a file as droid does: in place before 0.215, by renaming another file since then.
func (d *Droid) write(path, text string) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if !d.version.modern() {
		return os.WriteFile(path, []byte(text), mode)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	other := path + ".fake-droid"
	if err := os.WriteFile(other, []byte(text), mode); err != nil {
		return err
	}
	return os.Rename(other, path)
}
