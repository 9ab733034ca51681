package adapter

import (
	"context"
	"fmt"
	"strings"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
)

// contextCommand shows what fills the context window.
func contextCommand(r *commandRun, _ string) {
	r.ask("droid did not tell what fills the context window", func(ctx context.Context, client *droid.Client) (string, error) {
		if version := client.Version(); !version.Has(stream.TellsContextUse) {
			return version.Lacks(stream.TellsContextUse), nil
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
