package show

import (
	"cmp"
	"fmt"

	"droid-acp/internal/droid/stream"
)

// lostText tells of something that droid sent and that is too long to be read.
func lostText(ev stream.Lost) string {
	what := map[string]string{
		"create_message":       "a message of the conversation",
		"assistant_text_delta": "a piece of the model's answer",
		"thinking_text_delta":  "a piece of the model's thinking",
		"tool_call":            "a tool call",
		"tool_result":          "the result of a tool",
		"request_permission":   "a request for permission, which is refused therefore",
		"ask_user":             "a question, which is dismissed therefore",
	}[ev.Type]
	if what == "" {
		what = "something (" + cmp.Or(ev.Type, "of no known kind") + ")"
	}
	return fmt.Sprintf("droid sent %s of %.1f MB. That is lost, as droid-acp reads %.1f MB at once at most. The session goes on; ask for less at a time, or have it written to a file.",
		what, float64(ev.Size)/1e6, float64(stream.MaxLine)/1e6)
}
