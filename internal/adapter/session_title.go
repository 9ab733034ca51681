package adapter

import (
	"context"
	"errors"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/process"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
)

// methodSetTitle is unstable in ACP: it names a session of session/list, open or not.
const methodSetTitle = "session/set_title"

// setTitle is session/set_title. The response comes when the title is stored.
func (a *Agent) setTitle(c *wire.Call) (any, *jsonrpc.Error) {
	var params struct {
		SessionID string  `json:"sessionId"`
		Title     *string `json:"title"`
	}
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	if err := checkSessionID(params.SessionID); err != nil {
		return nil, err
	}
	if params.Title == nil {
		return nil, acperr.InvalidParams("title is missing; it is a text")
	}
	title := store.CleanTitle(*params.Title)
	if title == "" {
		return nil, acperr.InvalidParams("the title has nothing that can be shown; give it at least one letter")
	}
	ticket := a.enqueue(c, params.SessionID, registry.Opens)
	s, ids, err := a.openOf(c.Context, ticket)
	switch {
	case err != nil:
		ticket.Release()
	case s == nil:
		err = a.setStoredTitle(c.Context, ticket, ids[len(ids)-1], title)
	default:
		err = s.SetTitle(c.Context, ticket.Release, title)
	}
	if err != nil {
		return nil, err
	}
	return protocol.TitleResult{Title: protocol.Line(title)}, nil
}

// setStoredTitle gives a thread that is not open here a title, by its newest session: a process loads that briefly and then ends in the
// background. The ticket is released when that process has exited.
func (a *Agent) setStoredTitle(ctx context.Context, ticket *session.Ticket, id, title string) *jsonrpc.Error {
	held := true
	defer func() {
		if held { // also after a panic
			ticket.Release()
		}
	}()
	client, release, failure := a.launchStored(ctx, id)
	if failure != nil {
		release()
		return failure
	}
	answered, err := a.Rename(ctx, client, id, title)
	if answered { // it has nothing left to write
		client.Kill()
	}
	held = false
	a.Sessions.Go(func() {
		process.Close(ticket.Graceful(), client)
		release()
		ticket.Release()
	})
	if err != nil {
		return acperr.NotDone(acperr.Naming, err)
	}
	return nil
}

// launchStored starts a process that has loaded a session, which others see as open until release is called. One that
// another agent has open is left alone.
func (a *Agent) launchStored(ctx context.Context, id string) (client *droid.Client, release func(), failure *jsonrpc.Error) {
	release = func() {}
	_, err := a.Launcher.Find(ctx, id)
	if err == nil {
		err = a.Launcher.Free(ctx, id)
	}
	var missing *store.NotFoundError
	switch {
	case errors.As(err, &missing):
		return nil, release, acperr.UnknownSession(id)
	case err != nil && !errors.Is(err, store.ErrOpenElsewhere):
		return nil, release, acperr.NotDone(acperr.Naming, err)
	case err != nil:
		return nil, release, acperr.InvalidRequest("the session is open in another window or program of yours; give it the title there, or close it there first")
	}
	if unmark, err := a.Launcher.MarkOpen(ctx, id); err == nil { // else others do not see it
		release = func() { a.AtEnd("release", files.ReleaseTime, unmark) }
	}
	client, _, err = a.Launcher.LaunchAlone(ctx, a.Launcher.DirectoryOf(ctx, id, a.Config.Dir), launch.Open{ID: id, Messages: 1})
	if err != nil {
		return nil, release, acperr.NotOpened(id, err)
	}
	return client, release, nil
}
