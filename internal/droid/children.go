package droid

// HasChildren reports whether droid has processes of its own running, such as a
// command that it left in the background. An idle droid has none but its MCP
// servers, which do not count: they are in droid's process group, and tools are
// not (0.99 to 0.225). It reports true where the system cannot tell, and false for
// a client without a process.
func (c *Client) HasChildren() bool {
	return c.proc != nil && hasChildren(c.proc.cmd.Process.Pid)
}
