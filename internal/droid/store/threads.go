package store

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

// Threads are those of the store.
type Threads struct {
	store func() *Store
	calls *files.CallLimiter
	log   *zap.Logger
}

// NewThreads is for a store, whose calls may hang.
func NewThreads(store func() *Store, calls *files.CallLimiter, log *zap.Logger) *Threads {
	return &Threads{store, calls, log}
}

// IDs are the ids of the thread that a session belongs to, the oldest first.
func (t *Threads) IDs(ctx context.Context, id string) ([]string, error) {
	return files.CallBounded(ctx, t.calls, "Store.Thread", "session "+id, func(string) ([]string, error) { return t.store().Thread(id) })
}

// FollowUp is what becomes of a second prompt in the thread with these ids, as its user set
// it in any agent; "" where nobody did.
func (t *Threads) FollowUp(ctx context.Context, ids []string) string {
	value, err := files.CallBounded(ctx, t.calls, "Store.FollowUp", "session "+ids[0], func(string) (string, error) { return t.store().FollowUp(ids), nil })
	if err != nil {
		t.log.Warn("what becomes of a second prompt could not be read", zap.Error(err))
	}
	return value
}

// SetFollowUp notes that for the thread that a session is in. What goes wrong is logged.
func (t *Threads) SetFollowUp(id, value string) error {
	return t.link(Link{From: id, To: id, Kind: LinkOptions, FollowUp: value})
}

// MarkStays notes that the thread does not go on in the session that droid made of this one.
func (t *Threads) MarkStays(from string) {
	_ = t.link(Link{From: from, To: from, Kind: LinkStays}) // it is logged
}

// Summary is what the conversation became that droid compacted into the session of
// this id, "" where it cannot be read. It reads the store.
func (t *Threads) Summary(ctx context.Context, id string) string {
	text, err := files.CallBounded(ctx, t.calls, "Store.Summary", "session "+id, func(string) (string, error) { return t.store().Summary(id) })
	if err != nil {
		t.log.Info("the summary of a compacted session could not be read", zap.Error(err))
	}
	return text
}

// Results are what the model got of these calls, by their ids, as far as droid has stored it. It reads the store.
func (t *Threads) Results(ctx context.Context, id string, calls []string) map[string]string {
	results, err := files.CallBounded(ctx, t.calls, "Store.Results", "session "+id, func(string) (map[string]string, error) { return t.store().Results(id, calls) })
	if err != nil {
		t.log.Info("why an edit failed could not be read", zap.Error(err))
	}
	return results
}

// Subagent is what the file of a subagent's session says from a place on, and the place behind that; nothing where it
// cannot be read now. It reads the store.
func (t *Threads) Subagent(ctx context.Context, id string, from Offset) (lines []stream.ChildLine, to Offset) {
	type read struct {
		lines []stream.ChildLine
		to    Offset
	}
	found, err := files.CallBounded(ctx, t.calls, "Store.Subagent", "subagent "+id, func(string) (r read, err error) {
		r.lines, r.to, err = t.store().Subagent(id, from)
		return r, err
	})
	if err != nil {
		t.log.Debug("the file of a subagent was not read", zap.String("subagent", id), zap.Error(err))
		return nil, from
	}
	return found.lines, found.to
}

// Successor is a session that droid made for a thread, in which it is to go on.
type Successor struct {
	ID      string
	From    string // the session that the thread is in
	Title   string // of the thread, "" for none
	of      *Threads
	unnoted error // why the store does not tell of it, nil if it does
}

// Successor begins a command that has droid make a successor of the session. It
// reads files; what cannot be read has no title.
func (t *Threads) Successor(ctx context.Context, from string) Successor {
	title, _ := files.CallBounded(ctx, t.calls, "Store.Title", "session "+from, func(string) (string, error) { return t.store().Title(from), nil })
	return Successor{From: from, Title: title, of: t}
}

// Made notes in the store that droid has made the successor. It writes a file, and is
// called as soon as droid has answered: if the agent is killed before, the thread's
// ids lead to the conversation of before.
func (n *Successor) Made(id string, kind LinkKind) {
	n.ID = id
	n.unnoted = n.of.link(Link{From: n.From, To: id, Kind: kind, Title: n.Title})
}

// link adds a link to the store's file.
func (t *Threads) link(l Link) error {
	l.Time = time.Now()
	_, err := files.CallBoundedDetached(context.Background(), t.calls, "Store.Link", "session "+l.From, files.NoResult(func() error { return t.store().Link(l) }))
	if err != nil {
		t.log.Warn("the file of threads could not be written", zap.Error(err))
	}
	return err
}

// Hint tells where the old conversation is.
func (n Successor) Hint() string {
	which := "before"
	if n.unnoted != nil {
		which = n.From // nothing leads there from the session that the thread is in
	}
	return fmt.Sprintf(" `/fork %s` reopens the conversation as it was.", which) + n.Lost()
}

// Lost tells what it means that the store does not tell of the successor, ""
// when it does.
func (n Successor) Lost() string {
	if n.unnoted == nil {
		return ""
	}
	return " This could not be written down (" + n.unnoted.Error() + "). So when your editor opens this thread after a restart, " +
		"it gets the conversation of before; this one is then the session `" + n.ID + "`."
}
