package quirks

// What droid does: without a login to Factory it fails a subagent with "Could not reach the daemon. It may still be starting.". With a
// login the message may be true; that was never seen.
// Seen on: 0.215, 0.225.
// Quirk: 36.
// Fixtures: task_no_login_0.225.txtar.

import "bytes"

// blamesDaemon reports whether a call ended with this message.
func blamesDaemon(end ToolEnded) bool {
	return end.IsError && end.Name == "Task" && bytes.Contains(end.Content, []byte("Could not reach the daemon"))
}
