package memory

import (
	"math"
	"os"
	"strconv"
	"strings"
)

// Available returns how many bytes can be allocated without swapping: the kernel's estimate, or less if a control group (v2) has a limit.
// It returns 0 if unknown.
func Available() uint64 { return available(os.ReadFile) }

func available(read func(path string) ([]byte, error)) uint64 {
	text, err := read("/proc/meminfo")
	if err != nil {
		return 0
	}
	free := uint64(0)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			free = number(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 0) << 10
		}
	}
	limit, err := read("/sys/fs/cgroup/memory.max")
	used, err2 := read("/sys/fs/cgroup/memory.current")
	if err != nil || err2 != nil {
		return free // no limit but the machine's
	}
	limited, inUse := number(string(limit), math.MaxUint64), number(string(used), 0)
	return min(free, limited-min(limited, inUse))
}

// number parses a number. It returns none for "max", which means no limit.
func number(text string, none uint64) uint64 {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return none
	}
	return n
}
