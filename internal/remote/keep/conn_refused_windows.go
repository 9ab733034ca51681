package keep

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isConnRefused reports whether err is one of Windows' errors for a refused connection.
func isConnRefused(err error) bool {
	return errors.Is(err, windows.WSAECONNREFUSED) || errors.Is(err, windows.WSAENETUNREACH) || errors.Is(err, windows.WSAEINVAL)
}
