package stream

import (
	"encoding/json"

	"droid-acp/internal/paths"
)

// servers are the places in the MCP servers that a session is given.
const servers = "mcpServers[].command:program "

// pathsOf are the places in the messages of droid's protocol that name files (0.99 to 0.225):
// by the method of a request, that of a result with ".result" behind it, by the type of a
// notification, and of a hook's stdin and stdout and of the settings file. See paths.Walk for
// how they are written.
var pathsOf = map[string]string{
	"droid.initialize_session":        "cwd " + servers,
	"droid.initialize_session.result": "cwd " + servers + paths.Blocks("session.messages[].content[]"),
	"droid.load_session":              servers,
	"droid.load_session.result":       "cwd " + servers + paths.Blocks("session.messages[].content[]"),
	"droid.get_rewind_info.result":    "availableFiles[].filePath createdFiles[].filePath evictedFiles[].filePath",
	"droid.execute_rewind":            "filesToRestore[].filePath filesToDelete[].filePath",
	"droid.list_skills.result":        "skills[].filePath",
	"droid.request_permission": paths.Input("toolUses[].toolUse.input@name") + "toolUses[].details.filePath " +
		"toolUses[].details.files[].filePath toolUses[].details.files[].moveTo toolUses[].details.patchContent:patch",
	"tool_call":      paths.Input("toolUse.input@name"),
	"create_message": paths.Blocks("message.content[]"),
	"hook.stdin":     "cwd transcript_path " + paths.Input("tool_input@tool_name"),
	"hook.stdout":    "hookSpecificOutput.updatedInput.file_path",
	"settings":       "mcp.mcpServers.*.command:program",
}

// Paths calls f with each path in the params of a request of either side, in a result (with
// ".result" behind the method), in a notification (by its type) or in a hook's stdin
// or stdout ("hook.stdin", "hook.stdout"), and returns them with what f returns in its place. f gets where it
// stands and what: paths.File, paths.Program or paths.Patch. What names files in words, a
// command line or a tool's result is not known here, and neither is the target of a sandbox
// violation, which may be a host.
func Paths(what string, message json.RawMessage, f func(place, kind, value string) string) json.RawMessage {
	return paths.Walk(message, pathsOf[what], f)
}
