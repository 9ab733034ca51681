//go:build unix

package keep

import "io/fs"

// isOpen reports whether others than the owner can do anything with it.
func isOpen(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
