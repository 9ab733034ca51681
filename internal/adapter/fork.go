package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/opening"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// forkSession copies the newest session of a thread. The copy gets a process of its own; the session
// it was made from stays as it is.
func (a *Agent) forkSession(c *wire.Call) (any, *jsonrpc.Error) {
	p, place, err := a.decodeNamed(c)
	if err != nil {
		return nil, err
	}
	defer place.Release()
	w, err := a.readSession(c.Context, p)
	if err != nil {
		return nil, err
	}
	point, odd := a.client.ForkPoint(p.Meta)
	if odd != nil {
		return nil, acperr.InvalidParams("%v", odd)
	}
	s, ids, err := a.openOf(c.Context, place)
	if err != nil {
		return nil, err
	}
	id := ""
	switch {
	case s != nil && point == nil:
		id, err = s.fork(c.Context, place.Release)
	case s != nil:
		id, err = s.forkAt(c.Context, place.Release, *point)
	case point != nil:
		id, err = a.copyStoredAt(c.Context, ids[len(ids)-1], w.CWD, *point)
	}
	switch {
	case err != nil:
		return nil, err
	case id == "":
		return a.forkStored(c, w, ids)
	case s != nil:
		w = w.Following(*s.systemPrompt.Load())
	}
	client, info, failure := a.opener.Launch(c.Context, w.CWD, w.Servers, a.opener.Added(c.Context, id, w.Instructions), opening.Open{ID: id, Messages: 1, CWD: w.CWD})
	if failure != nil {
		return nil, acperr.CopyNotOpened(id, failure)
	}
	info.SessionID = id
	return a.takeUpCopy(c, client, info, w, ids)
}

// fork has droid copy the session it works on.
func (s *Session) fork(ctx context.Context, ordered func()) (id string, err *jsonrpc.Error) {
	if err = s.enter(ordered); err != nil {
		return "", err
	}
	defer s.exit(&err)
	if s.prompts.Busy() {
		return "", acperr.InvalidRequest("the session works on a prompt; cancel it or wait for its end before you fork the session")
	}
	change, err := s.awaitTurn(ctx, turns.Session)
	if err != nil {
		return "", err
	}
	defer s.prompts.FinishChange(change, nil)
	return s.copyHere(ctx)
}

// Fork copies the session, with the options of its thread.
func (s *Session) Fork(ctx context.Context) (id string, failure *jsonrpc.Error) {
	works := s.droidID
	if id, failure = s.copyHere(ctx); failure != nil {
		return "", failure
	}
	err := s.callBounded(ctx, func(ctx context.Context) error {
		ids, err := s.deps.threads.IDs(ctx, works)
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
	var made opening.Copied
	err = s.callBounded(ctx, func(ctx context.Context) error {
		ids, err := a.threads.IDs(ctx, works)
		if err != nil {
			return err
		}
		id, err := earlier(ids, works, which)
		if err == nil {
			err = a.opener.Copy(ctx, a.opener.DirectoryOf(ctx, id, cwd), id, &made)
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
			ctx, cancel := context.WithTimeoutCause(ctx, opening.Time, opening.ErrTime)
			defer cancel()
			defer context.AfterFunc(sctx, cancel)()
			id, err = client.Fork(ctx)
			err = opening.OutOfTime(ctx, err)
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

// backFromCopy has a droid that goes on in the copy which it has made (quirk 35) load the
// session again. If that fails, or nobody waited for droid's answer, the next process does.
func (s *Session) backFromCopy(ctx context.Context, failed error) {
	var refused *stream.RPCError
	switch {
	case s.proc.Client() == nil || s.proc.Has(stream.StaysAfterFork) || errors.As(failed, &refused):
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

// forkStored copies a thread that is not open here and whose files are kept: one process loads its newest
// session, copies it and goes on with the copy. Where the copy is to work elsewhere, that
// takes two.
func (a *Agent) forkStored(c *wire.Call, w instructions.Wanted, ids []string) (any, *jsonrpc.Error) {
	newest := ids[len(ids)-1]
	var made opening.Copied
	open := opening.Open{ID: newest, Messages: 1, Copy: &made, CWD: w.CWD}
	var err error
	if from := a.opener.DirectoryOf(c.Context, newest, w.CWD); from != w.CWD {
		err = a.opener.Copy(c.Context, from, newest, &made)
		open = opening.Open{ID: made.ID, Messages: 1, CWD: w.CWD}
	}
	var client *droid.Client
	var info *stream.SessionInfo
	if err == nil {
		client, info, err = a.opener.Launch(c.Context, w.CWD, w.Servers, a.opener.Added(c.Context, w.SessionID, w.Instructions), open) // the copy has what is stored with the session
	}
	switch {
	case err != nil && made.ID != "":
		return nil, acperr.CopyNotOpened(made.ID, err)
	case err != nil && made.Begun:
		return nil, acperr.NotDone(acperr.Copying, err)
	case err != nil:
		return nil, acperr.NotOpened(w.SessionID, err)
	}
	info.SessionID = made.ID
	return a.takeUpCopy(c, client, info, w, ids)
}

// takeUpCopy has a copy begin to work that a process has just opened. ids are those of the thread that it is a copy of.
func (a *Agent) takeUpCopy(c *wire.Call, client *droid.Client, info *stream.SessionInfo, w instructions.Wanted, ids []string) (any, *jsonrpc.Error) {
	followUp := a.copyOptions(c.Context, ids, info.SessionID)
	s := a.takeUp(c.Context, client, info, w, func(s *Session) { s.useFollowUp(followUp) })
	return a.begin(c, s, s.sessionResult(), w.Notices)
}
