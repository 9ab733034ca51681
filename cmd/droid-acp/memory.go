package main

import (
	"os"
	"runtime/debug"
)

// memoryLimit is where garbage begins to be collected as it comes, in bytes. Below
// it the process may grow to twice of what it holds; a message of hundreds of
// megabytes must not. It is no bound of what the process can hold.
const memoryLimit = 64 << 20

// limitMemory sets the limit, unless the user has set one.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
