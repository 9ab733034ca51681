package protocol

import (
	"sync"

	"droid-acp/internal/text/paths"
)

// opening lists the path fields of the params that open a session.
var opening = "cwd additionalDirectories[] mcpServers[].command:program " + block("systemPrompt.content[]")

// block lists the path fields of a content block.
func block(at string) string { return at + ".uri:uri " + at + ".resource.uri:uri " }

// toolCall lists the path fields of a tool call or its update.
func toolCall(at string) string {
	return at + ".locations[].path " + at + ".content[].path " + block(at+".content[].content") + at + "._meta.terminal_info.cwd "
}

// pathsOf lists the path fields of ACP's messages by method, those of a result with the suffix ".result". See paths.ParsePathFields for the
// syntax.
var pathsOf = map[string]string{
	"initialize.result":          "authMethods[]._meta.terminal-auth:command",
	"session/new":                opening,
	"session/load":               opening,
	"session/resume":             opening,
	"session/fork":               opening,
	"session/list":               "cwd",
	"session/list.result":        "sessions[].cwd sessions[].additionalDirectories[]",
	"session/prompt":             block("prompt[]"),
	"session/update":             toolCall("update") + block("update.content") + block("update.content[]") + block("update.summary[]") + "update.plan.uri:uri update.cwd update.additionalDirectories[] update.outputFilePath",
	"session/request_permission": toolCall("toolCall"),
	"fs/read_text_file":          "path",
	"fs/write_text_file":         "path",
	"terminal/create":            "cwd command:program",
	"_session/steering":          block("prompt[]"),
}

var places = sync.OnceValue(func() map[string]*paths.PathFields {
	all := make(map[string]*paths.PathFields, len(pathsOf))
	for method, of := range pathsOf {
		all[method] = paths.ParsePathFields(of)
	}
	return all
})

// Places returns the fields with paths and file URIs in the params of a method, or with the suffix ".result" in its result; nil if there
// are none. Paths in titles, texts, terminal output and a tool's raw input are not covered.
func Places(method string) *paths.PathFields { return places()[method] }
