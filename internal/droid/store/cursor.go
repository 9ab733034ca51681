package store

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
)

// cursor is the place of a session in the order of sessions. A place, unlike a
// number of sessions to skip, stays right while sessions come and go.
type cursor struct {
	set     bool
	updated time.Time
	id      string
}

// before says whether the session with these values comes after c.
func (c cursor) before(updated time.Time, id string) bool {
	return !c.set || order(c.updated, c.id, updated, id) < 0
}

const cursorVersion = "1"

// String encodes c; only parseCursor reads the form.
func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(
		cursorVersion + ":" + strconv.FormatInt(c.updated.UnixNano(), 10) + ":" + c.id))
}

// BadCursorError says that a cursor was not made by this package.
type BadCursorError struct{ Cursor string }

// Error shows the beginning of the cursor.
func (e *BadCursorError) Error() string { return fmt.Sprintf("unknown cursor %.80q", e.Cursor) }

// maxCursor bounds the encoded form: version, time, id.
const maxCursor = (len(cursorVersion) + 1 + 20 + 1 + stream.MaxSessionID) * 4 / 3

// parseCursor decodes what String made; "" is the beginning. The error is a
// *BadCursorError.
func parseCursor(s string) (cursor, error) {
	if s == "" {
		return cursor{}, nil
	}
	if len(s) <= maxCursor+1 {
		text, _ := base64.RawURLEncoding.DecodeString(s)
		if parts := strings.SplitN(string(text), ":", 3); len(parts) == 3 && stream.ValidSessionID(parts[2]) {
			ns, _ := strconv.ParseInt(parts[1], 10, 64)
			if c := (cursor{true, time.Unix(0, ns), parts[2]}); c.String() == s { // else it is spelled otherwise, as "+1" for 1
				return c, nil
			}
		}
	}
	return cursor{}, &BadCursorError{s}
}
