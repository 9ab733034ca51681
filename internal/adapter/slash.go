package adapter

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// The commands of this agent. Each has a row here and its function in slash_NAME.go, which calls exported methods of the session alone
// and words the reply.

// slashCommands is the table of all commands of this agent, as the editor lists
// them. A custom command of the user with one of these names wins.
func slashCommands() []Command {
	return slices.Concat([]Command{
		{"status", "Show versions, ids and paths, for bug reports", "", "", statusCommand, turns.Here},
		{"help", "Show these commands", "", "", helpCommand, turns.Here},
		{"login", "Show how to log in to Factory", "", "", loginCommand, turns.Here},
		{"rename", "Give the session a title", "title", anything, renameCommand, turns.Here},
		{"fork", "Copy the session as it is now, or as it was before it was compacted or rewound", "[before | ID]", `\S+`, forkCommand, turns.Here},
		{"rewind", "Go back to before one of your prompts, with files or without", "[N [files]]", `\d+(\s+files)?`, rewindCommand, turns.Here},
	}, settingCommands(), []Command{
		{"compact", "Replace the conversation by a summary of it", "what the summary must keep", anything, compactCommand, turns.Here},
		{"context", "Show what fills the context window", "", "", contextCommand, turns.Here},
		{"usage", "Show the tokens used", "", "", usageCommand, turns.Here},
		{"mcp", "Show MCP servers and tools, or log in, log out, enable, disable or reconnect one", "login, logout, enable, disable or reconnect, and the SERVER", `(login|logout|enable|disable|reconnect)\s.+`, mcpCommand, turns.Here},
		{"skills", "Show droid's skills, or switch one on or off", "enable or disable, and the SKILL", `(enable|disable)\s.+`, skillsCommand, turns.Here},
		{"background", "Show the commands that droid runs in the background, or stop one", "stop NUMBER", `stop\s+\d+`, backgroundCommand, turns.Here},
		{"sessions", "List the latest sessions", "", "", sessionsCommand, turns.Here},
		{"permissions", "Show what is allowed, asked about and blocked for good, take a permission back, or see what lets a command run", "why COMMAND, or forget ENTRY", `(?s)(why|forget)\s.+`, permissionsCommand, turns.Here},
		{"export", "Write the conversation to one HTML file", "file; \"with-directory\" before it names the session's directory in it", anything, exportCommand, turns.Here},
		{"report", "Write what a bug report needs to a file, without prompts and texts of files", "file; \"with-texts\" before it adds the conversation", anything, reportCommand, turns.Here},
		{"trust", "Show what this project brings to run, let it run, or take that back", "yes or no", `(?i)yes|no`, trustCommand, turns.Here},
		{commandShell, "Run a shell command yourself, as !COMMAND does; droid is told with your next prompt", "command", anything, shellCommand, turns.Process},
	})
}

// cutWord parts the first word of the arguments from the others.
func cutWord(args string) (word, others string) {
	at := strings.IndexFunc(args, unicode.IsSpace)
	if at < 0 {
		return args, ""
	}
	return args[:at], strings.TrimSpace(args[at:])
}

// notChanged is the error of a command, as the user typed it, that was to change something of droid's: text says that it did not, and sought
// what is so if it did. err may be nil.
func notChanged(err error, text, sought, command string) error {
	if err == nil {
		return nil
	}
	unknown, ok := errors.AsType[*unknownOutcome](err)
	if !ok {
		return failed(text, err)
	}
	again := ". Send " + markdown.Code(visible.Line(command)) + " once more to be sure"
	return failed("Whether "+sought+" is not known", errors.New(strings.TrimSuffix(plainly(unknown.why).Error(), ".")+again))
}
