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
	if len(s) > maxCursor+1 {
		return cursor{}, &BadCursorError{s}
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return cursor{}, &BadCursorError{s}
	}
	parts := strings.SplitN(string(text), ":", 3)
	if len(parts) != 3 || parts[0] != cursorVersion || !stream.ValidSessionID(parts[2]) {
		return cursor{}, &BadCursorError{s}
	}
	ns, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return cursor{}, &BadCursorError{s}
	}
	c := cursor{true, time.Unix(0, ns), parts[2]}
	if c.String() != s {
		return cursor{}, &BadCursorError{s} // it means a cursor but is spelled otherwise, as "+1" for 1
	}
	return c, nil
}
