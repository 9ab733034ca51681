package keep

import "io/fs"

// isOurs is true: the socket lies in the user's own directory, and its access list is inherited.
func isOurs(fs.FileInfo) bool { return true }

// isOpen is false, for the same reason.
func isOpen(fs.FileInfo) bool { return false }
