package waiting

import "time"

// Owner does what waits.
type Owner interface {
	Post(f func()) bool // does f soon
	Guard(f func())     // does f now; a panic ends f alone
}

// Waits is a Line whose waiters go on as soon as they may. Make it with New.
type Waits struct {
	Line
	owner   Owner
	now     func() time.Time
	there   func(Need) bool
	changed func()
}

// New is a Line without waiters. there tells what is there; changed is called when the Line
// may have changed.
func New(owner Owner, now func() time.Time, there func(Need) bool, changed func()) *Waits {
	return &Waits{owner: owner, now: now, there: there, changed: changed}
}

// When calls f when all needs are there, now or later. who says in words what f goes on with.
func (l *Waits) When(who string, f func(), needs ...Need) {
	l.join(&Waiter{Name: who, Needs: needs, Go: f})
}

// Take calls f when all needs are there and the earlier ones who take n have ended. n is taken
// from now on until f calls end, which it does in the owner.
func (l *Waits) Take(who string, n Need, f func(end func()), needs ...Need) {
	w := &Waiter{Name: who, Needs: needs, Takes: n}
	end := func() { l.Leave(w) }
	w.Go = func() {
		returned := false
		defer func() {
			if !returned {
				l.owner.Post(end) // when the panic is dealt with
			}
		}()
		f(end)
		returned = true
	}
	l.join(w)
}

func (l *Waits) join(w *Waiter) {
	l.Add(l.now(), w)
	l.Proceed()
}

// Proceed lets go on who has all it needs. A panic of one is the others' no concern.
func (l *Waits) Proceed() {
	l.changed()
	for w := l.Next(l.there); w != nil; w = l.Next(l.there) {
		l.owner.Guard(w.Go)
	}
	l.changed()
}
