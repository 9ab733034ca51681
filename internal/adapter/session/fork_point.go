package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
)

// errNoForkPoint says that a conversation has no such message.
var errNoForkPoint = errors.New("_meta.jetbrains.air.fork names no message of the agent's in this conversation")

// promptBehind returns the message ID of the user's first prompt behind an agent's message, before which droid can copy the conversation;
// "" if there is none, so that the copy has all of it.
func promptBehind(messages []stream.Message, point protocol.AirFork) (prompt string, err error) {
	type message struct{ id, text, prompt string }
	var said []message
	for _, ev := range quirks.History(messages) {
		last := len(said) - 1
		switch ev := ev.(type) {
		case quirks.Text:
			switch {
			case ev.Thought:
			case last >= 0 && said[last].id == ev.MessageID:
				said[last].text += ev.Text
			default:
				said = append(said, message{id: ev.MessageID, text: ev.Text})
			}
		case quirks.UserText:
			for i := last; i >= 0 && said[i].prompt == "" && ev.MessageID != ""; i-- {
				said[i].prompt = ev.MessageID
			}
		}
	}
	occurrence := 0
	for _, m := range said {
		sum := sha256.Sum256([]byte(m.text))
		same := point.Fingerprint == "sha256:"+hex.EncodeToString(sum[:])
		if same {
			occurrence++
		}
		if m.id == point.MessageID && (same || point.Fingerprint == "") || point.MessageID == "" && same && occurrence == max(point.Occurrence, 1) {
			return m.prompt, nil
		}
	}
	return "", errNoForkPoint
}

// copyUpTo has a droid that has the session copy it up to a point.
func copyUpTo(ctx context.Context, client *droid.Client, id, title, prompt string) (copied string, err error) {
	made, err := client.Rewind(ctx, id, prompt, cmp.Or(title, "Fork"), droid.RewindInfo{})
	return made.NewSessionID, err
}

// ForkAt makes droid copy the session up to a point, or all of it if point is nil, and returns the id of the copy. It waits for the turn of
// the request and for droid, until ctx ends. See Enter for ordered.
func (s *Session) ForkAt(ctx context.Context, ordered func(), point *protocol.AirFork) (id string, err *jsonrpc.Error) {
	if err = s.Enter(ordered); err != nil {
		return "", err
	}
	defer s.Exit(&err)
	if s.prompts.Busy() {
		return "", acperr.InvalidRequest("the session works on a prompt; cancel it or wait for its end before you fork the session")
	}
	change, err := s.beginChange(ctx, turns.General)
	if err != nil {
		return "", err
	}
	defer s.prompts.FinishChange(change, nil)
	if point == nil {
		return s.copyHere(ctx)
	}
	info, err := s.loadWhole(ctx)
	if err != nil {
		return "", err
	}
	prompt, none := promptBehind(info.Messages, *point)
	switch {
	case none != nil:
		return "", acperr.InvalidParams("%v", none)
	case prompt == "":
		return s.copyHere(ctx)
	}
	client, from, title := s.proc.Client(), s.droidID, s.name.Title()
	failure := s.unlockedFor(ctx, launch.Time, func(ctx context.Context) (err error) {
		id, err = copyUpTo(ctx, client, from, title, prompt)
		return err
	})
	if failure != nil {
		return "", acperr.NotDone(acperr.Copying, failure)
	}
	return id, nil
}

// CopyStoredAt starts a droid to copy a stored session up to a point. id is "" if the copy would have all of it.
func (d *Deps) CopyStoredAt(ctx context.Context, from, cwd string, point protocol.AirFork) (id string, err *jsonrpc.Error) {
	client, info, failure := d.Launcher.LaunchAlone(ctx, d.Launcher.DirectoryOf(ctx, from, cwd), launch.Open{ID: from, Messages: wholeHistory})
	if failure != nil {
		return "", acperr.NotOpened(from, failure)
	}
	defer func() {
		client.Kill()
		<-client.Exited()
	}()
	prompt, none := promptBehind(info.Messages, point)
	switch {
	case none != nil:
		return "", acperr.InvalidParams("%v", none)
	case prompt == "":
		return "", nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, launch.Time, launch.ErrTime)
	defer cancel()
	if id, failure = copyUpTo(ctx, client, from, info.Title, prompt); failure != nil {
		return "", acperr.NotDone(acperr.Copying, launch.OutOfTime(ctx, failure))
	}
	return id, nil
}
