package store

// threads finds out, for the files of a list in their order, which of them stand for
// a thread, and under which id.
type threads struct {
	*family
	used map[string]bool // ids under which a thread was listed
}

// place is what a session is in the list.
type place struct {
	covered bool     // a later session of its thread stands for it
	id      string   // by which the thread is listed
	before  []string // the sessions in which the thread was before, in their order
}

// place looks up a session, of which h is the beginning.
func (t *threads) place(c candidate, h head) place {
	if _, known := t.heads[c.path()]; !known {
		t.heads[c.path()] = h
	}
	if t.goesOn(c.id) {
		return place{covered: true}
	}
	ids := t.begun(c.id, []string{c.id})
	p := place{id: c.id, before: ids[:len(ids)-1]}
	if !t.used[ids[0]] { // else another one has it already
		p.id = ids[0]
	}
	t.used[p.id] = true
	return p
}
