package adapter

import (
	"context"
	"fmt"
	"strings"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
)

// contextCommand shows what fills the context window, as far as droid tells.
func contextCommand(r *slashRun, _ string) {
	last := r.s.usage.Told().LastCall
	r.ask("droid did not tell what fills the context window", func(ctx context.Context, client *droid.Client) (string, error) {
		version := client.Version()
		if !version.Has(stream.TellsContextUse) {
			return version.Lacks(stream.TellsContextUse) +
				fmt.Sprintf(" The last model call read %d tokens.", last.InputTokens+last.CacheReadTokens), nil
		}
		if !version.Has(stream.TellsContextParts) {
			stats, err := client.ContextStats(ctx)
			return fmt.Sprintf("%d of %d tokens (%s).", stats.Used, stats.Limit, stats.Accuracy), err
		}
		b, err := client.ContextBreakdown(ctx)
		var out strings.Builder
		fmt.Fprintf(&out, "%d of %d tokens are used, %d are free (%s).\n\n| | tokens |\n|---|---|\n", b.Used, b.Budget, b.Free, b.Model)
		for _, c := range b.Categories {
			fmt.Fprintf(&out, "| %s | %d |\n", c.Name, c.Tokens)
		}
		return out.String(), err
	})
}
