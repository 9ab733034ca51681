package protocol

import (
	"sync"

	"droid-acp/internal/text/paths"
)

// opening are the places in the params that open a session.
var opening = "cwd additionalDirectories[] mcpServers[].command:program " + block("systemPrompt.content[]")

// block are the places in a content block.
func block(at string) string { return at + ".uri:uri " + at + ".resource.uri:uri " }

// toolCall are the places in a tool call, or in what is new of one.
func toolCall(at string) string {
	return at + ".locations[].path " + at + ".content[].path " + block(at+".content[].content") + at + "._meta.terminal_info.cwd "
}

// pathsOf are the places in ACP's messages that name files, by method, that of a result
// with ".result" behind it. See paths.NewPlaces for how they are written.
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

var places = sync.OnceValue(func() map[string]*paths.Places {
	all := make(map[string]*paths.Places, len(pathsOf))
	for method, of := range pathsOf {
		all[method] = paths.NewPlaces(of)
	}
	return all
})

// Places are the places of paths and file URIs in the params of a message, or in its result
// with ".result" behind the method; nil where there are none. What names files in words
// (titles, texts, terminals' output) is not known here, nor is a tool's raw input.
func Places(method string) *paths.Places { return places()[method] }
