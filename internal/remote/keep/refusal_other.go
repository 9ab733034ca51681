//go:build !windows

package keep

// isRefusal is for Windows.
func isRefusal(error) bool { return false }
