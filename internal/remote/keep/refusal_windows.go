package keep

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isRefusal reports Windows' own words for that.
func isRefusal(err error) bool {
	return errors.Is(err, windows.WSAECONNREFUSED) || errors.Is(err, windows.WSAENETUNREACH) || errors.Is(err, windows.WSAEINVAL)
}
