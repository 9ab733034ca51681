package droid

// HasChildren reports whether droid has processes of its own running, such as a
// command that it left in the background. An idle droid has none (0.99 to
// 0.225). Without a process it is false.
func (c *Client) HasChildren() bool {
	return c.proc != nil && len(descendants(c.proc.cmd.Process.Pid)) > 0
}
