package store

// Name is what a thread is called. The zero value is the name of a thread that has none yet.
type Name struct {
	title string
	given int // how often the user has given one here
}

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
