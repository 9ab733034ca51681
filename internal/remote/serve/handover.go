package serve

import "slices"

// handOver gives a client the session's files and forms, as far as it has such: the first of the
// watchers that can is asked for them. A program that decides by itself does not take them from a
// person.
func (o *session) handOver(c *Client) {
	i := slices.IndexFunc(o.watchers, func(w *watcher) bool { return w.client == c })
	if i <= 0 || c.caps.ByPolicy {
		return
	}
	w := o.watchers[i]
	o.watchers = slices.Insert(slices.Delete(o.watchers, i, i+1), 0, w)
}
