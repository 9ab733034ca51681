package store

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

// Threads are the threads of a store.
type Threads struct {
	store func() *Store
	calls *files.CallLimiter
	log   *zap.Logger
}

// NewThreads returns the threads of a store, whose calls may hang.
func NewThreads(store func() *Store, calls *files.CallLimiter, log *zap.Logger) *Threads {
	return &Threads{store, calls, log}
}

// IDs returns the IDs of the thread that a session belongs to, the oldest first.
func (t *Threads) IDs(ctx context.Context, id string) ([]string, error) {
	return files.CallBounded(ctx, t.calls, "Store.Thread", "session "+id, func(string) ([]string, error) { return t.store().Thread(id) })
}

// FollowUp returns how a second prompt is handled in the thread with these IDs, as its user set it in any agent; "" if unset.
func (t *Threads) FollowUp(ctx context.Context, ids []string) string {
	value, err := files.CallBounded(ctx, t.calls, "Store.FollowUp", "session "+ids[0], func(string) (string, error) { return t.store().FollowUp(ids), nil })
	if err != nil {
		t.log.Warn("cannot read the follow-up option of a thread", zap.Error(err))
	}
	return value
}

// SetFollowUp records that for the thread that a session is in. Errors are also logged.
func (t *Threads) SetFollowUp(id, value string) error {
	return t.link(Link{From: id, To: id, Kind: LinkOptions, FollowUp: value})
}

// MarkStays records that the thread does not continue in the session that droid made from this one.
func (t *Threads) MarkStays(from string) {
	_ = t.link(Link{From: from, To: from, Kind: LinkStays}) // it is logged
}

// Summary returns the text into which droid compacted the conversation that continues in the session of this ID, "" if it cannot be read.
// It reads the store.
func (t *Threads) Summary(ctx context.Context, id string) string {
	text, err := files.CallBounded(ctx, t.calls, "Store.Summary", "session "+id, func(string) (string, error) { return t.store().Summary(id) })
	if err != nil {
		t.log.Info("cannot read the summary of a compacted session", zap.Error(err))
	}
	return text
}

// Results returns the results that the model got for these calls, by their IDs, as far as droid has stored them. It reads the store.
func (t *Threads) Results(ctx context.Context, id string, calls []string) map[string]string {
	results, err := files.CallBounded(ctx, t.calls, "Store.Results", "session "+id, func(string) (map[string]string, error) { return t.store().Results(id, calls) })
	if err != nil {
		t.log.Info("cannot read why an edit failed", zap.Error(err))
	}
	return results
}

// Subagent returns the lines of a subagent's session file from an offset on, and the offset behind them; nothing if it cannot be read now.
// It reads the store.
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
		t.log.Debug("cannot read the file of a subagent", zap.String("subagent", id), zap.Error(err))
		return nil, from
	}
	return found.lines, found.to
}

// Successor is a session that droid made for a thread, in which the thread is to continue.
type Successor struct {
	ID      string
	From    string // the thread's current session
	Title   string // of the thread, "" if none
	of      *Threads
	unnoted error // why it is not recorded in the store, nil if it is
}

// Successor begins a command that makes droid create a successor of the session. It reads files; a title that cannot be read is empty.
func (t *Threads) Successor(ctx context.Context, from string) Successor {
	title, _ := files.CallBounded(ctx, t.calls, "Store.Title", "session "+from, func(string) (string, error) { return t.store().Title(from), nil })
	return Successor{From: from, Title: title, of: t}
}

// Made records in the store that droid has made the successor. It writes a file, and must be called as soon as droid has answered: if the
// agent is killed before, the thread's IDs lead to the old conversation.
func (n *Successor) Made(id string, kind LinkKind) {
	n.ID = id
	n.unnoted = n.of.link(Link{From: n.From, To: id, Kind: kind, Title: n.Title})
}

// link adds a link to the store's file.
func (t *Threads) link(l Link) error {
	l.Time = time.Now()
	_, err := files.CallBoundedDetached(context.Background(), t.calls, "Store.Link", "session "+l.From, files.NoResult(func() error { return t.store().Link(l) }))
	if err != nil {
		t.log.Warn("cannot write the file of threads", zap.Error(err))
	}
	return err
}

// Hint says where the old conversation is.
func (n Successor) Hint() string {
	which := "before"
	if n.unnoted != nil {
		which = n.From // the thread's current session does not lead there
	}
	return fmt.Sprintf(" `/fork %s` reopens the conversation as it was.", which) + n.Lost()
}

// Lost explains the consequence if the successor is not recorded in the store, "" if it is.
func (n Successor) Lost() string {
	if n.unnoted == nil {
		return ""
	}
	return " This could not be written down (" + n.unnoted.Error() + "). So when your editor opens this thread after a restart, " +
		"it gets the conversation of before; this one is then the session `" + n.ID + "`."
}
