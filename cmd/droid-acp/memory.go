package main

import (
	"os"
	"runtime/debug"
	"sync"
)

const (
	// memoryBase is the process size, in bytes, above which Go collects garbage as early as it can. Below it the process may grow to twice
	// its live memory, which a message of hundreds of megabytes must not do. It does not limit the live memory.
	memoryBase = 64 << 20
	// memoryOfDroid is added for each running droid. A session uses a quarter of it: without the addition an agent with 200 sessions spent
	// a third of its time on garbage collection.
	memoryOfDroid = 1 << 20
)

// memoryLimit is the memory limit of this process. One that the user has set is kept.
type memoryLimit struct {
	set bool // by the user

	mu     sync.Mutex
	droids int64
}

// limitMemory sets the limit.
func limitMemory() *memoryLimit {
	m := &memoryLimit{set: os.Getenv("GOMEMLIMIT") != ""}
	m.add(0)
	return m
}

// raise raises the limit for a droid until that has exited.
func (m *memoryLimit) raise(exited <-chan struct{}) {
	m.add(1)
	go func() {
		<-exited
		m.add(-1)
	}()
}

func (m *memoryLimit) add(droids int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.droids += droids
	if !m.set {
		debug.SetMemoryLimit(memoryBase + m.droids*memoryOfDroid)
	}
}
