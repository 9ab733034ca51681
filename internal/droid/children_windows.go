package droid

// HasChildren reports whether droid has processes of its own running. That is
// not looked up here, so with a process it may.
func (c *Client) HasChildren() bool { return c.proc != nil }
