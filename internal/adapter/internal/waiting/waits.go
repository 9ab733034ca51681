package waiting

import (
	"context"
	"slices"
	"time"

	"droid-acp/internal/adapter/internal/owner"
)

// Waits is a Line of tasks, which go on as soon as they may. Make it with New.
type Waits struct {
	Line
	owner   *owner.Owner
	there   func(Need) bool
	changed func()
	over    error // why nobody waits any more, see End
}

// New is a Line in which nobody waits. there tells what is there; changed is called when the Line
// may have changed.
func New(o *owner.Owner, there func(Need) bool, changed func()) *Waits {
	return &Waits{owner: o, there: there, changed: changed}
}

// Until returns when all needs are there, or when ctx or the line ends, with why. who says in words
// what goes on then.
func (l *Waits) Until(ctx context.Context, t *owner.Task, who string, needs ...Need) error {
	return l.stand(ctx, t, &Waiter{Name: who, Needs: needs})
}

// UntilReady is Until for what ready tells; need says in words what that is.
func (l *Waits) UntilReady(ctx context.Context, t *owner.Task, who string, need Need, ready func() bool) error {
	return l.stand(ctx, t, &Waiter{Name: who, Needs: []Need{need}, ready: ready})
}

// Take is Until that takes n, when the earlier ones who take that have let it go. n is taken until
// release is called. After an error there is nothing to release.
func (l *Waits) Take(ctx context.Context, t *owner.Task, who string, n Need) (release func(), err error) {
	w := &Waiter{Name: who, Takes: n}
	return func() { l.Leave(w) }, l.stand(ctx, t, w)
}

// stand has a task wait as w.
func (l *Waits) stand(ctx context.Context, t *owner.Task, w *Waiter) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if l.over != nil {
		return l.over
	}
	w.task = t
	l.Add(time.Now(), w)
	if l.May(w, l.there) {
		l.Proceed()
	} else {
		l.changed() // others go on when what happens now is done
	}
	if !l.Waiting(w) {
		return nil
	}
	w.pauses = true
	defer context.AfterFunc(ctx, func() {
		l.owner.Post(func() {
			if l.Waiting(w) {
				l.Leave(w)
				t.Resume(context.Cause(ctx))
			}
		})
	})()
	return t.Pause()
}

// End has all tasks that wait go on with why, and all that come.
func (l *Waits) End(why error) {
	l.over = why
	for _, w := range slices.Clone(l.waiting) {
		if w.pauses && l.Waiting(w) {
			l.Leave(w)
			l.owner.Guard(func() { w.task.Resume(why) })
		}
	}
}

// Proceed lets go on who has all it needs. A panic of one is the others' no concern.
func (l *Waits) Proceed() {
	l.changed()
	for w := l.Next(l.there); w != nil; w = l.Next(l.there) {
		if w.pauses {
			l.owner.Guard(func() { w.task.Resume(nil) })
		}
	}
	l.changed()
}
