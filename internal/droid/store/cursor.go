package store

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
)

// cursor is a position in the order of sessions. Unlike a number of sessions to skip, it stays valid while sessions are added and removed.
type cursor struct {
	set     bool
	updated time.Time
	id      string
}

// before reports whether the session with these values comes after c.
func (c cursor) before(updated time.Time, id string) bool {
	return !c.set || order(c.updated, c.id, updated, id) < 0
}

const cursorVersion = "1"

// String encodes c for parseCursor.
func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(
		cursorVersion + ":" + strconv.FormatInt(c.updated.UnixNano(), 10) + ":" + c.id))
}

// BadCursorError means that a cursor was not made by this package.
type BadCursorError struct{ Cursor string }

// Error shows the beginning of the cursor.
func (e *BadCursorError) Error() string { return fmt.Sprintf("unknown cursor %.80q", e.Cursor) }

// maxCursor limits the encoded form: version, time, ID.
const maxCursor = (len(cursorVersion) + 1 + 20 + 1 + stream.MaxSessionID) * 4 / 3

// parseCursor decodes the result of String; "" is the beginning. The error is a *BadCursorError.
func parseCursor(s string) (cursor, error) {
	if s == "" {
		return cursor{}, nil
	}
	if len(s) <= maxCursor+1 {
		text, _ := base64.RawURLEncoding.DecodeString(s)
		if parts := strings.SplitN(string(text), ":", 3); len(parts) == 3 && stream.ValidSessionID(parts[2]) {
			ns, _ := strconv.ParseInt(parts[1], 10, 64)
			if c := (cursor{true, time.Unix(0, ns), parts[2]}); c.String() == s { // otherwise it is spelled differently, such as "+1" for 1
				return c, nil
			}
		}
	}
	return cursor{}, &BadCursorError{s}
}
