package command

import (
	"context"
	"fmt"
	"slices"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/diagnosis"
)

// loginCommand says how to log in.
func loginCommand(_ context.Context, s *session.Session, _ string) (string, error) {
	return diagnosis.LoginMethods(s.OffersLogin()), nil
}

// inTerminal answers a command that only droid's terminal has.
const inTerminal = "Run `droid` in a terminal for it."

// terminalCommands returns the commands of droid's terminal (0.225.2) that droid does not know outside it: it would
// pass them to the model. Those that a model can carry out as a prompt, such as /review, are not here.
func terminalCommands() map[string]string {
	const newChat, usage = "Start a new chat in your editor.", "Type `/usage`."
	return map[string]string{
		"clear": newChat, "new": newChat, "exit": "Close the chat in your editor.", "quit": "Close the chat in your editor.",
		"compress": "Type `/compact`.", "handoff": "Type `/compact`.", "rewind-conversation": "Type `/rewind`.", "cost": usage, "stats": usage,
		"cd": "Start a chat in that directory in your editor.", "cwd": "Start a chat in that directory in your editor.",
		"settings": "Type `/model`, `/mode` or `/effort`; other settings are in ~/.factory/settings.json.",
		"copy":     "Type `/export` for a page with the conversation.", "bug": "Type `/status` for what a report needs.",
		"diagnostics": "Run " + diagnosis.Command("doctor") + " in a terminal.", "connectors": "Type `/mcp`.", "commands": "Type `/help`.",
		"account": inTerminal, "archive": inTerminal, "automations": inTerminal, "billing": inTerminal, "btw": inTerminal, "droids": inTerminal,
		"fast": inTerminal, "favorite": inTerminal, "hooks": inTerminal, "ide": inTerminal, "install-slack-app": inTerminal, "language": inTerminal,
		"limits": inTerminal, "link-work": inTerminal, "logout": inTerminal, "loop": inTerminal, "missions": inTerminal, "pin": inTerminal,
		"plugins": inTerminal, "settings-debug": inTerminal, "setup-incident-response": inTerminal, "share": inTerminal, "statusline": inTerminal,
		"terminal-setup": inTerminal, "themes": inTerminal, "tree": inTerminal,
	}
}

// Terminal returns the answer to a command of droid's terminal. One with arguments that the terminal does not take is
// a text for the model: "/settings returns 500".
func Terminal(name, args string) (c session.Command, ok bool) {
	instead, ok := terminalCommands()[name]
	if args != "" && !slices.Contains([]string{"btw", "cd", "compress", "cwd", "fast", "handoff", "link-work", "loop"}, name) {
		return c, false
	}
	return session.Command{Name: name, Form: anything, Kind: turns.Here, Run: func(context.Context, *session.Session, string) (string, error) {
		return fmt.Sprintf("`/%s` is a command of droid's own terminal. %s", name, instead), nil
	}}, ok
}
