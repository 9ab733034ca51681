package adapter

import (
	"context"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
)

// renameCommand gives the session a title.
func renameCommand(r *commandRun, title string) {
	if title == "" {
		r.reply("Give a title: `/rename My title`.")
		return
	}
	r.ask("The session was not renamed", func(ctx context.Context, client *droid.Client) (string, error) {
		if !client.Version().Has(stream.RenamesSessions) {
			return client.Version().Lacks(stream.RenamesSessions), nil
		}
		return "The session is called “" + title + "” now.", client.Rename(ctx, title)
	})
}
