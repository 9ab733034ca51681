package files

import "os"

// lockDir locks the directory that will be at path. On Windows a directory cannot be locked, and one with an open file in it cannot be
// renamed; so the lock is a file next to it, created before the directory gets its name.
func lockDir(_, path string) (*os.File, error) { return new(Locks).Take(dirLockPath(path)) }

// unlockDir releases the lock of a directory.
func unlockDir(lock *os.File, path string) { Unlock(lock, dirLockPath(path)) }

// removeAbandonedDir removes a directory if nobody holds its lock. One without a lock file was not made here, or is being removed by another
// process. If removal fails, the lock file stays, so that the next process tries again.
func removeAbandonedDir(path string) bool {
	if _, err := os.Lstat(dirLockPath(path)); err != nil {
		return false
	}
	lock, err := new(Locks).Take(dirLockPath(path))
	if err != nil {
		return false
	}
	if err := os.RemoveAll(path); err != nil {
		_ = lock.Close() // releases the lock
		return false
	}
	unlockDir(lock, path)
	return true
}

func dirLockPath(path string) string { return path + ".lock" }
