package stream

import "strings"

// OwnHook marks the hooks that we give droid: it stands in the command of each as a
// word of its own, behind our program and before the address of the running agent.
// droid tells the command with each hook that it runs and keeps it in the session's
// history (0.225 in the session file also), so it is never changed.
const OwnHook = "droid-acp-files-hook"

// IsOwnHook reports whether a hook's command, as droid tells it, is one of ours, or
// of another droid-acp that had the session before.
func IsOwnHook(command string) bool { return strings.Contains(command, " "+OwnHook+" ") }

// Reminder makes text that a hook adds to the conversation one that is for the model
// alone. droid does not say whose it is: a history that is loaded by the process that ran
// the hook has it as a message of the user's (0.99).
func Reminder(text string) string {
	return "<system-reminder>\n" + text + "\n</system-reminder>"
}
