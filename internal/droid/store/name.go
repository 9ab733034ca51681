package store

import "context"

// Name is what a thread is called. One goroutine uses it, but for Alone. Make it with NewName.
type Name struct {
	title string
	given int           // how often the user has given one here
	asked chan struct{} // holds a token while droid is asked for one
}

// NewName returns the name of a thread that has none yet.
func NewName() Name { return Name{asked: make(chan struct{}, 1)} }

// Title is the title, "" for none.
func (n *Name) Title() string { return n.title }

// Given is how often the user has given the thread a title in this agent.
func (n *Name) Given() int { return n.given }

// Set notes a title. It reports false for one of droid's where the user has given one, which stays.
func (n *Name) Set(title string, byUser bool) bool {
	switch {
	case byUser:
		n.given++
	case n.given > 0:
		return false
	}
	n.title = title
	return true
}

// Alone has droid asked for a title when the one who asked before is through: of two titles that
// it is asked for at once, droid stores the later one twice (0.225.2). It returns ctx's error where
// ctx ends before ask has begun. Any goroutine may call it.
func (n *Name) Alone(ctx context.Context, ask func()) error {
	select {
	case n.asked <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-n.asked }()
	ask()
	return nil
}
