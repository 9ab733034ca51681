package subprocess

import (
	"bytes"
	"os"
	"strconv"
)

// Memory returns the private resident memory of processes and their descendants, in bytes. It does not count shared pages, such as those of
// programs, and swapped pages. A process that has ended counts as 0.
func Memory(roots []int) (sum int64, err error) {
	all, err := processes()
	if err != nil {
		return 0, err
	}
	children := map[int][]int{}
	for _, r := range all {
		children[r.parent] = append(children[r.parent], r.pid)
	}
	for next := roots; len(next) > 0; next = next[1:] {
		sum += privateMemory(next[0])
		next = append(next[:len(next):len(next)], children[next[0]]...)
	}
	return sum, nil
}

// privateMemory returns the memory of one process from /proc/PID/statm, see proc_pid_statm(5); 0 if it has ended.
func privateMemory(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, _ := strconv.ParseInt(string(fields[2]), 10, 64)
	return (resident - shared) * int64(os.Getpagesize())
}
