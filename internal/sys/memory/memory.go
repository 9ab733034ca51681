// Package memory reports how much memory is available, and returns unused memory to the system. The adapter calls it between turns, readers
// of long lines after each.
package memory

import (
	"runtime"
	"runtime/debug"
)

// heapThreshold is the heap size in bytes from which on a collection pays off: an image in a prompt or an edit of megabytes leaves several
// times its size, and an idle program does not collect.
const heapThreshold = 24 << 20

// Release returns memory to the system if the heap is large. That takes some milliseconds; otherwise it costs next to nothing.
func Release() {
	if heap() > heapThreshold {
		debug.FreeOSMemory()
	}
}

// lineThreshold is the length of a line, in bytes, from which on a collection pays off: reading it leaves as much garbage, and the next steps
// need as much again.
const lineThreshold = 4 << 20

// ReleaseAfter returns garbage to the system after a line of size bytes was read, if that is large. Without it a process that holds little
// would grow to several times the size of what passes through it.
func ReleaseAfter(size int) {
	if size >= lineThreshold {
		debug.FreeOSMemory()
	}
}

// heap returns the bytes that the heap occupies.
func heap() uint64 {
	var now runtime.MemStats
	runtime.ReadMemStats(&now) // stops the world for 8 µs; runtime/metrics would cost each start 0.1 ms
	return now.HeapSys - now.HeapReleased
}
