package shell

import (
	"strings"

	"droid-acp/internal/text/markdown"
)

// Told is the most of a command's output that the model receives, in bytes: half of it
// from the beginning and half from the end.
const Told = 16 << 10

// Note returns the report to the model about a command that the user ran: the command, how
// it ended and what it wrote.
func Note(command, output string, end End) string {
	text := "I ran this command myself, in the session's directory:\n" + markdown.Fenced("sh", command) + "\n" +
		strings.TrimSuffix(end.String(), ".") + ". "
	if strings.TrimSpace(output) == "" {
		return text + "It wrote nothing.\n\n"
	}
	if over := len(output) - Told; over > 0 {
		head, tail := output[:Told/2], output[len(output)-Told/2:]
		output = strings.ToValidUTF8(head, "") + leftOut(over) + strings.ToValidUTF8(tail, "")
	}
	return text + "Its output:\n" + markdown.Fenced("console", output) + "\n\n"
}
