package main

import (
	"os"
	"runtime/debug"
)

// memoryLimit is the size of the process, in bytes, above which Go collects garbage
// as soon as it can. Below it the process may grow to twice of what it holds, which a
// message of hundreds of megabytes must not do. It does not bound what the process
// can hold.
const memoryLimit = 64 << 20

// limitMemory sets the limit, unless the user has set one.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
