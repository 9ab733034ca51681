package files

import "os"

// lockDir locks the directory that is to be at path. A directory cannot be locked here, and one with an open file in
// it cannot be renamed; so the lock is a file beside it, which is there before the directory has its name.
func lockDir(_, path string) (*os.File, error) { return new(Locks).Take(besideDir(path)) }

// unlockDir ends the lock of a directory.
func unlockDir(lock *os.File, path string) { Unlock(lock, besideDir(path)) }

// removeNobodysDir removes a directory that nobody holds. One without a lock was not made here, or another process
// removes it at this moment. What is not removed keeps the lock's file, so that the next one tries again.
func removeNobodysDir(path string) bool {
	if _, err := os.Lstat(besideDir(path)); err != nil {
		return false
	}
	lock, err := new(Locks).Take(besideDir(path))
	if err != nil {
		return false
	}
	if err := os.RemoveAll(path); err != nil {
		_ = lock.Close() // ends the lock
		return false
	}
	unlockDir(lock, path)
	return true
}

func besideDir(path string) string { return path + ".lock" }
