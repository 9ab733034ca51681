package droid

import "golang.org/x/sys/unix"

// HasChildren reports whether droid has processes of its own running, such as a
// command that it left in the background. An idle droid has none but its MCP
// servers, which do not count: they are in droid's process group, and tools are
// not (0.99 to 0.225). Without a process it is false.
func (c *Client) HasChildren() bool {
	if c.proc == nil {
		return false
	}
	pid := c.proc.cmd.Process.Pid
	own, err := unix.Getpgid(pid)
	if err != nil {
		return false // it has ended
	}
	for _, r := range descendants(pid) {
		if r.group != own {
			return true
		}
	}
	return false
}
