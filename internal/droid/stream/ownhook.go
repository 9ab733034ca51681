package stream

import "strings"

// OwnHook marks this program's hooks: each command contains it as a separate word, between the path of the program and the address of the
// running agent. droid reports the command with each run and keeps it in the session's history (0.225 also in the session file), so it must
// never change.
const OwnHook = "droid-acp-files-hook"

// IsOwnHook reports whether a hook's command, as reported by droid, is one of this program, or of another droid-acp that had the session
// before.
func IsOwnHook(command string) bool { return strings.Contains(command, " "+OwnHook+" ") }

// Reminder marks text that a hook adds to the conversation as intended for the model only. droid does not record its origin: in a history
// loaded by the process that ran the hook it is a user message (0.99).
func Reminder(text string) string {
	return "<system-reminder>\n" + text + "\n</system-reminder>"
}
