//go:build unix

package keep

import "io/fs"

// isOpen reports whether users other than the owner have any permission.
func isOpen(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
