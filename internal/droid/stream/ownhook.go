package stream

import "strings"

// OwnHook is the argument of this program that makes it the hook program of its own
// hooks, and the mark by which their commands are known.
const OwnHook = "droid-acp-files-hook"

// IsOwnHook reports whether the command of a hook is one of this program's own.
func IsOwnHook(command string) bool { return strings.Contains(command, " "+OwnHook+" ") }
