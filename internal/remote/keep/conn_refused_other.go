//go:build !windows

package keep

// isConnRefused is for Windows.
func isConnRefused(error) bool { return false }
