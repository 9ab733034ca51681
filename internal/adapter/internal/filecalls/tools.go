package filecalls

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/text/patch"
	"droid-acp/internal/text/paths"
)

// At returns the input of the call with another path, for a Read.
func (j Job) At(path string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(j.Call.Input, &fields) != nil {
		return nil
	}
	fields["file_path"], _ = json.Marshal(path)
	changed, _ := json.Marshal(fields) // of an object that was just decoded
	return changed
}

// toolFiles returns the files that a call reads or changes through the editor, by absolute
// path: nil for other tools, and for an input that is not whole yet. What a patch renames
// or deletes is none of them, since ACP has no method for that.
func toolFiles(name string, input json.RawMessage, cwd string) (files []string) {
	var in struct {
		FilePath string `json:"file_path"`
		Input    string `json:"input"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	switch name {
	case "Read", "Create", "Edit", "MultiEdit":
		if in.FilePath != "" {
			files = []string{paths.Absolute(cwd, in.FilePath)}
		}
	case "ApplyPatch":
		parts, err := patch.Parse(in.Input)
		if err != nil {
			return nil
		}
		for _, p := range parts {
			if path := paths.Absolute(cwd, p.Path); p.Op != patch.Delete && p.MoveTo == "" && !slices.Contains(files, path) {
				files = append(files, path)
			}
		}
	}
	return files
}

// mayChangeFiles reports whether a call of the tool may change any file on the disk
// without saying which.
func mayChangeFiles(name string) bool {
	switch name {
	case "Read", "Create", "Edit", "MultiEdit", "ApplyPatch", "LS", "Glob", "Grep", "TodoWrite", "AskUser",
		"ExitSpecMode", "FetchUrl", "WebSearch", "ToolSearch", "Skill":
		return false
	}
	return true // Execute, Task, the tools of MCP servers, and unknown ones
}
