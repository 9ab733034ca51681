package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
)

// Fork copies the session, with the options of its thread.
func (s *Session) Fork(ctx context.Context) (id string, failure *jsonrpc.Error) {
	works := s.droidID
	if id, failure = s.copyHere(ctx); failure != nil {
		return "", failure
	}
	err := s.callBounded(ctx, func(ctx context.Context) error {
		ids, err := s.deps.Threads.IDs(ctx, works)
		if err == nil {
			s.deps.copyOptions(ctx, ids, id)
		}
		return err
	})
	if err != nil {
		s.log.Warn("a copy was not given the thread's options", zap.Error(err))
	}
	return id, nil
}

// ForkEarlier copies the conversation that the thread had before a compaction or a
// rewind. which is its session's id, or "before" for the last one.
func (s *Session) ForkEarlier(ctx context.Context, which string) (id string, err error) {
	a, works, cwd := s.deps, s.droidID, s.cwd
	var made launch.Copied
	err = s.callBounded(ctx, func(ctx context.Context) error {
		ids, err := a.Threads.IDs(ctx, works)
		if err != nil {
			return err
		}
		id, err := earlier(ids, works, which)
		if err == nil {
			err = a.Launcher.Copy(ctx, a.Launcher.DirectoryOf(ctx, id, cwd), id, &made)
		}
		if err == nil {
			a.copyOptions(ctx, ids, made.ID)
		}
		return err
	})
	return made.ID, err
}

// earlier finds a session of a thread that is not the one it works on.
func earlier(ids []string, works, which string) (string, error) {
	at := slices.Index(ids, works)
	switch i := slices.Index(ids, which); {
	case which == "before" && at > 0:
		return ids[at-1], nil
	case which == "before":
		return "", errors.New("this thread has no conversation before; it was not compacted or rewound")
	case which == works:
		return "", errors.New("that is the session that this thread works on; `/fork` alone copies it")
	case i < 0:
		return "", fmt.Errorf("%.80q is not one of this thread's earlier conversations; `/sessions` lists them", which)
	default:
		return ids[i], nil
	}
}

// copyHere has the session's process copy the session. Then the process works on the session that it
// had; only then comes the next call, which would be about the copy.
func (s *Session) copyHere(ctx context.Context) (id string, err *jsonrpc.Error) {
	release, err := s.lockRPC(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	failed := s.withDroid(s.Context, 1, func(client *droid.Client, _ *stream.SessionInfo) (err error) {
		s.unlocked(s.Context, func(sctx context.Context) {
			ctx, cancel := context.WithTimeoutCause(ctx, launch.Time, launch.ErrTime)
			defer cancel()
			defer context.AfterFunc(sctx, cancel)()
			id, err = client.Fork(ctx)
			err = launch.OutOfTime(ctx, err)
		})
		return err
	})
	if why := whyNoDroid(failed); why != nil {
		return "", why
	}
	s.backFromCopy(s.Context, failed)
	if failed != nil {
		return "", acperr.NotDone(acperr.Copying, failed)
	}
	return id, nil
}

// backFromCopy makes a droid that works on the copy it has made (quirk 35) load the original session again. If that fails, or droid's
// answer was not awaited, the next process loads it.
func (s *Session) backFromCopy(ctx context.Context, failed error) {
	var refused *stream.RPCError
	switch {
	case s.proc.Client() == nil || s.proc.Supports(stream.StaysAfterFork) || errors.As(failed, &refused):
		return
	case failed != nil:
		s.endDroid(replaced, "nobody waited for the copy that it makes")
		return
	}
	if _, err := s.loadInCall(ctx, 1, acperr.Loading); err != nil && s.proc.Client() != nil {
		s.log.Warn("droid did not load the session that it had copied", errorFields(err)...)
		s.endDroid(replaced, "it does not go back from a copy")
	}
}

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
	if client == nil { // it died behind the load
		return "", acperr.Crash(s.proc.LastCrash(), s.prompts.GaveUp())
	}
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
