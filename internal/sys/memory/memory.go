// Package memory tells how much memory is free, and gives back what this process needs no more.
package memory

import (
	"runtime"
	"runtime/debug"
)

// much is from how many bytes of heap on a collection is worth its time: an image in a prompt or an
// edit of megabytes leaves several times its size, and a program that rests collects nothing.
const much = 24 << 20

// Release gives memory back to the system where the heap is large. It takes some milliseconds then,
// and next to nothing else.
func Release() {
	if heap() > much {
		debug.FreeOSMemory()
	}
}

// muchAtOnce is the size of a line, in bytes, behind which a collection is worth its time: reading it has left as
// much behind, and the next steps take as much again.
const muchAtOnce = 4 << 20

// Passed gives back what is left of the reading of so many bytes, where that is much. Without it a process that holds
// little would grow to several times of what passes through it.
func Passed(size int) {
	if size >= muchAtOnce {
		debug.FreeOSMemory()
	}
}

// heap is how many bytes the heap has from the system.
func heap() uint64 {
	var now runtime.MemStats
	runtime.ReadMemStats(&now) // 8 µs in which all else stops; runtime/metrics would cost each start 0.1 ms
	return now.HeapSys - now.HeapReleased
}
