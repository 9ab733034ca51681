package protocol

import (
	"sync"

	"droid-acp/internal/text/paths"
)

// openParams lists the path fields of the params that open a session.
var openParams = "cwd additionalDirectories[] mcpServers[].command:program " + block("systemPrompt.content[]")

// block lists the path fields of a content block.
func block(at string) string { return at + ".uri:uri " + at + ".resource.uri:uri " }

// toolCall lists the path fields of a tool call or its update.
func toolCall(at string) string {
	return at + ".locations[].path " + at + ".content[].path " + block(at+".content[].content") + at + "._meta.terminal_info.cwd "
}

// pathFieldLists lists the path fields of ACP's messages by method, those of a result with the suffix ".result". See paths.ParsePathFields
// for the syntax.
var pathFieldLists = map[string]string{
	"initialize.result":          "authMethods[]._meta.terminal-auth:command",
	"session/new":                openParams,
	"session/load":               openParams,
	"session/resume":             openParams,
	"session/fork":               openParams,
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

var pathFields = sync.OnceValue(func() map[string]*paths.PathFields {
	all := make(map[string]*paths.PathFields, len(pathFieldLists))
	for method, of := range pathFieldLists {
		all[method] = paths.ParsePathFields(of)
	}
	return all
})

// PathFields returns the fields with paths and file URIs in the params of a method, or with the suffix ".result" in its result; nil if there
// are none. Paths in titles, texts, terminal output and a tool's raw input are not covered.
func PathFields(method string) *paths.PathFields { return pathFields()[method] }
