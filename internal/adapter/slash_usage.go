package adapter

import (
	"fmt"

	"droid-acp/internal/droid/stream"
)

// usageCommand shows the tokens that the session used.
func usageCommand(r *slashRun, _ string) {
	line := func(name string, u stream.TokenUsage) string {
		return fmt.Sprintf("| %s | %d | %d | %d | %d | %d |\n", name, u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens, u.ThinkingTokens)
	}
	r.reply("Tokens of this session, as far as droid told them:\n\n| | input | output | cache read | cache written | thinking |\n|---|---|---|---|---|---|\n" +
		line("all calls", r.s.usage.Total) + line("last call", r.s.usage.LastCall))
}
