// Package memory reports how much memory is available, and returns unused memory to the system. The adapter calls it between turns, readers
// of long lines after each.
package memory

import (
	"runtime"
	"runtime/debug"
)

// much is the heap size in bytes from which on a collection pays off: an image in a prompt or an edit of megabytes leaves several times its
// size, and an idle program does not collect.
const much = 24 << 20

// Release returns memory to the system if the heap is large. That takes some milliseconds; otherwise it costs next to nothing.
func Release() {
	if heap() > much {
		debug.FreeOSMemory()
	}
}

// muchAtOnce is the length of a line, in bytes, from which on a collection pays off: reading it leaves as much garbage, and the next steps
// need as much again.
const muchAtOnce = 4 << 20

// Passed returns garbage to the system after a line of size bytes was read, if that is large. Without it a process that holds little would
// grow to several times the size of what passes through it.
func Passed(size int) {
	if size >= muchAtOnce {
		debug.FreeOSMemory()
	}
}

// heap returns the bytes that the heap occupies.
func heap() uint64 {
	var now runtime.MemStats
	runtime.ReadMemStats(&now) // stops the world for 8 µs; runtime/metrics would cost each start 0.1 ms
	return now.HeapSys - now.HeapReleased
}
