package keep

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isConnRefused reports Windows' own words for that.
func isConnRefused(err error) bool {
	return errors.Is(err, windows.WSAECONNREFUSED) || errors.Is(err, windows.WSAENETUNREACH) || errors.Is(err, windows.WSAEINVAL)
}
