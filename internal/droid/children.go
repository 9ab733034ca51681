package droid

// HasChildren reports whether droid has processes of its own running, such as a
// command that it left in the background. An idle droid has none but its MCP
// servers, which do not count: they are in droid's process group, and tools are
// not (0.99 to 0.225). Where the system cannot tell, droid may have some, and it is
// true. Without a process it is false.
func (c *Client) HasChildren() bool {
	return c.proc != nil && hasChildren(c.proc.cmd.Process.Pid)
}
