// Package command implements the slash commands of this agent. Each has a row in All and its function in NAME.go, which calls methods of
// the session and words the reply. The package keeps no state.
package command

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// All returns the table of all commands of this agent, as the editor lists
// them. A custom command with one of these names wins, but for those with TakesBack.
func All() []session.Command {
	return slices.Concat([]session.Command{
		{Name: "status", Description: "Show versions, ids and paths, for bug reports", Run: statusCommand, Kind: turns.Here},
		{Name: "help", Description: "Show these commands", Run: helpCommand, Kind: turns.Here},
		{Name: "login", Description: "Show how to log in to Factory", Run: loginCommand, Kind: turns.Here},
		{Name: "rename", Description: "Give the session a title", Hint: "title", Form: anything, Run: renameCommand, Kind: turns.Here},
		{Name: "fork", Description: "Copy the session as it is now, or as it was before it was compacted or rewound", Hint: "[before | ID]", Form: `\S+`, Run: forkCommand, Kind: turns.Here},
		{Name: "rewind", Description: "Go back to before one of your prompts, with files or without", Hint: "[N [files]]", Form: `\d+(\s+files)?`, Run: rewindCommand, Kind: turns.Here},
	}, settingCommands(), []session.Command{
		{Name: "compact", Description: "Replace the conversation by a summary of it", Hint: "what the summary must keep", Form: anything, Run: compactCommand, Kind: turns.Here},
		{Name: "context", Description: "Show what fills the context window", Run: contextCommand, Kind: turns.Here},
		{Name: "usage", Description: "Show the tokens used", Run: usageCommand, Kind: turns.Here},
		{Name: "mcp", Description: "Show MCP servers and tools, or log in, log out, enable, disable or reconnect one", Hint: "login, logout, enable, disable or reconnect, and the SERVER", Form: `(login|logout|enable|disable|reconnect)\s.+`, Run: mcpCommand, Kind: turns.Here, TakesBack: `(disable|logout)\s.+`},
		{Name: "skills", Description: "Show droid's skills, or switch one on or off", Hint: "enable or disable, and the SKILL", Form: `(enable|disable)\s.+`, Run: skillsCommand, Kind: turns.Here, TakesBack: `disable\s.+`},
		{Name: "background", Description: "Show the commands that droid runs in the background, or stop one", Hint: "stop NUMBER", Form: `stop\s+\d+`, Run: backgroundCommand, Kind: turns.Here},
		{Name: "sessions", Description: "List the latest sessions", Run: sessionsCommand, Kind: turns.Here},
		{Name: "search", Description: "Search the stored conversations of this project", Hint: "words; \"all-projects\" before them searches those of all", Form: anything, Run: searchCommand, Kind: turns.Here},
		{Name: "permissions", Description: "Show what is allowed, asked about and blocked for good, take a permission back, or see what lets a command run", Hint: "why COMMAND, or forget ENTRY", Form: `(?s)(why|forget)\s.+`, Run: permissionsCommand, Kind: turns.Here, TakesBack: `(?s)forget\s.+`},
		{Name: "export", Description: "Write the conversation to one HTML file", Hint: "file; \"with-directory\" before it names the session's directory in it", Form: anything, Run: exportCommand, Kind: turns.Here},
		{Name: "report", Description: "Write what a bug report needs to a file, without prompts and texts of files", Hint: "file; \"with-texts\" before it adds the conversation", Form: anything, Run: reportCommand, Kind: turns.Here},
		{Name: "trust", Description: "Show what this project brings to run, let it run, or take that back", Hint: "yes or no", Form: `(?i)yes|no`, Run: trustCommand, Kind: turns.Here, TakesBack: `(?i)no`},
		{Name: session.ShellCommand, Description: "Run a shell command yourself, as !COMMAND does; droid is told with your next prompt", Hint: "command", Form: anything, Run: shellCommand, Kind: turns.Process},
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

// notChanged returns the error of a command, as the user typed it, that was to change something of droid's: text says that it did not, and sought
// what is so if it did. err may be nil.
func notChanged(err error, text, sought, command string) error {
	if err == nil {
		return nil
	}
	unknown, ok := errors.AsType[*session.UnknownOutcome](err)
	if !ok {
		return session.Failed(text, err)
	}
	again := ". Send " + markdown.Code(visible.Line(command)) + " once more to be sure"
	return session.Failed("Whether "+sought+" is not known", errors.New(strings.TrimSuffix(session.Plainly(unknown.Why).Error(), ".")+again))
}

// anything is the form of arguments that are a text, or that the command checks.
const anything = `(?s).*`
