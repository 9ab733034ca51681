package adapter

import (
	"slices"

	"droid-acp/internal/commands"
	"droid-acp/internal/options"
	"droid-acp/internal/prompt"
	"droid-acp/internal/protocol"
)

// slashCommand is a command of this agent: "/name args" as a prompt, which droid
// does not see. Each has a file of its own, command_NAME.go, and a row below.
type slashCommand struct {
	name        string
	description string
	hint        string // of the arguments; "" when it takes none
	run         func(r *commandRun, args string)
}

// slashCommands is the table of all commands of this agent, as the editor lists
// them. A custom command of the user with one of these names wins.
func slashCommands() []slashCommand {
	return []slashCommand{
		{"compact", "Replace the conversation by a summary of it", "what the summary must keep", compactCommand},
		{"rename", "Give the session a title", "title", renameCommand},
		{"fork", "Copy the session as it is now, or as it was before it was compacted or rewound", "\"before\" or the id of an earlier conversation", forkCommand},
		{"rewind", "Go back to before one of your prompts", "number of the prompt, and \"files\" to restore files, too", rewindCommand},
		{"model", "Show or choose the model", "model id", optionCommand(options.Model)},
		{"mode", "Show or choose the mode", "mode", optionCommand(options.Mode)},
		{"effort", "Show or choose the reasoning effort", "effort", optionCommand(options.Effort)},
		{"context", "Show what fills the context window", "", contextCommand},
		{"usage", "Show the tokens used", "", usageCommand},
		{"mcp", "Show MCP servers and tools, or log in to one", "login SERVER", mcpCommand},
		{"sessions", "List the latest sessions", "", sessionsCommand},
		{"export", "Write the conversation to one HTML file", "file", exportCommand},
		{"trust", "Show what this project brings to run, let it run, or take that back", "yes or no", trustCommand},
		{"status", "Show versions, ids and paths, for bug reports", "", statusCommand},
		{"help", "Show these commands", "", helpCommand},
		{commandShell, "Run a shell command yourself, as !COMMAND does; droid is told with your next prompt", "command", shellCommand},
	}
}

// ownCommands are the commands that this agent offers: all but the shell, unless
// the configuration allows it.
func (s *Session) ownCommands() []slashCommand {
	own := slashCommands()
	if !s.agent.cfg.Shell {
		own = slices.DeleteFunc(own, func(c slashCommand) bool { return c.name == commandShell })
	}
	return own
}

// commandOf returns the command that a prompt is, nil for all other prompts: text
// that only looks like a command is droid's.
func (s *Session) commandOf(p prompt.Prompt) *commandRun {
	text, ok := p.Text()
	if !ok {
		return nil
	}
	if command := s.bangCommand(text); command != "" {
		return &commandRun{s: s, name: commandShell, run: shellCommand, args: command}
	}
	name, args, ok := commands.Split(text)
	if !ok || s.commands.Has(name) {
		return nil
	}
	for _, own := range s.ownCommands() {
		if own.name == name {
			return &commandRun{s: s, name: name, run: own.run, args: args}
		}
	}
	return nil
}

// allCommands are the custom commands, the skills and this agent's commands.
func (s *Session) allCommands() []protocol.AvailableCommand {
	all := s.commands.Offered()
	for _, own := range s.ownCommands() {
		if s.commands.Has(own.name) {
			continue
		}
		c := protocol.AvailableCommand{Name: own.name, Description: own.description}
		if own.hint != "" {
			c.Input = &protocol.CommandInput{Hint: own.hint}
		}
		all = append(all, c)
	}
	return all
}
