package session

import (
	"context"
	"errors"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// renameLook is how often the store is looked at while droid renames a session. droid
// writes the title at once and answers after up to 14 s without a network (since 0.215).
const renameLook = 50 * time.Millisecond

// renameTime is how long a title may take to be in the file after droid has answered.
const renameTime = 2 * time.Second

var errNotRenamed = errors.New("droid says that it has, but its file still has the title from before; see that the disk has room and ~/.factory/sessions can be written to")

// Rename has a process rename the session that it works on. It returns when the title
// is stored; answered says that droid has also said so. One that cannot rename (0.99) is
// not asked.
func (d *Deps) Rename(ctx context.Context, client *droid.Client, id, title string) (answered bool, err error) {
	if err := client.Version().Needs(stream.RenamesSessions); err != nil {
		return true, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, launch.Time, launch.ErrTime)
	defer cancel()
	before, unknown := d.Launcher.Find(ctx, id)
	done := make(chan error, 1)
	go func() { done <- client.Rename(ctx, title) }()
	look := time.NewTicker(renameLook)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			if err != nil || unknown != nil { // a session without a file has its title when it gets one
				return err == nil, launch.OutOfTime(ctx, err)
			}
			return true, d.renamed(ctx, id, before.Title, title)
		case <-look.C:
			if d.titleStored(ctx, id, title) {
				cancel()
				<-done
				return false, nil
			}
		}
	}
}

// renamed waits until a session's file has another title than before, unless that is the same: droid's answer does not say whether the
// title was stored.
func (d *Deps) renamed(ctx context.Context, id, before, title string) error {
	for began := time.Now(); time.Since(began) < renameTime; {
		found, err := d.Launcher.Find(ctx, id)
		if err != nil || found.Title == title || found.Title != before {
			return err
		}
		select {
		case <-time.After(renameLook):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return errNotRenamed
}

func (d *Deps) titleStored(ctx context.Context, id, title string) bool {
	found, err := d.Launcher.Find(ctx, id)
	return err == nil && found.Title == title
}

// SetTitle makes droid store a title. It waits for the turn of the request and for droid, until ctx ends. See Enter for ordered.
func (s *Session) SetTitle(ctx context.Context, ordered func(), title string) (err *jsonrpc.Error) {
	if err = s.Enter(ordered); err != nil {
		return err
	}
	defer s.Exit(&err)
	change, err := s.beginChange(ctx, turns.General)
	if err != nil {
		return err
	}
	defer s.prompts.FinishChange(change, nil)
	failure := s.renameThread(ctx, title)
	if why := whyNoDroid(failure); why != nil || failure == nil {
		return why
	}
	return acperr.NotDone(acperr.Naming, failure)
}

// Rename gives the session a title. One that droid stores although ctx has ended counts.
func (s *Session) Rename(ctx context.Context, title string) error {
	if _, err := s.readyDroid(ctx); err != nil {
		return err
	}
	return s.renameThread(s.Context, title)
}

// renameThread makes droid store a title for the thread's session, even if a command moves the thread to another one in between. The error
// is droid's, or a noDroid.
func (s *Session) renameThread(ctx context.Context, title string) error {
	for {
		id, err := s.renameAlone(ctx, title)
		if s.droidID != id {
			continue
		}
		if err == nil {
			s.titled(title, true)
		}
		return err
	}
}

// renameAlone renames droid's current session, after the previous rename or rewind has ended. id is that session. The error is droid's, or
// a noDroid.
func (s *Session) renameAlone(ctx context.Context, title string) (id string, err error) {
	release, failure := s.take(ctx, &s.titles, "a title", untilTitle)
	if failure != nil {
		return s.droidID, &noDroid{failure}
	}
	defer release()
	client, _, none := s.awaitDroid(ctx, 1)
	if none != nil {
		return s.droidID, &noDroid{none}
	}
	id = s.droidID
	s.unlocked(s.Context, func(ctx context.Context) { _, err = s.deps.Rename(ctx, client, id, title) })
	return id, err
}

// titled records a title and sends it to the editor. After the user has given one, titles that droid generates are ignored.
func (s *Session) titled(title string, byUser bool) {
	if s.name.Set(title, byUser) {
		s.updateTitle(title)
	}
}

// updateTitle reports the session's title without the text that was pasted or injected
// into the prompt it was made from. If nothing else is left, it reports none.
func (s *Session) updateTitle(title string) {
	if title = store.CleanTitle(title); title != "" {
		s.update(protocol.SessionInfoUpdate{SessionUpdate: "session_info_update", Title: protocol.Line(title)})
	}
}
