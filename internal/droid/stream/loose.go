package stream

import "encoding/json"

// Millis is a time in milliseconds since 1970, 0 where droid wrote anything else.
type Millis int64

// UnmarshalJSON never fails: a time is not worth a message.
func (m *Millis) UnmarshalJSON(data []byte) error {
	var n float64
	if *m = 0; json.Unmarshal(data, &n) == nil && n > 0 && n < 1<<52 {
		*m = Millis(n)
	}
	return nil
}

// Loose is a text, "" where droid wrote anything else.
type Loose string

// UnmarshalJSON never fails, as that of Millis.
func (l *Loose) UnmarshalJSON(data []byte) error {
	var s string
	_ = json.Unmarshal(data, &s)
	*l = Loose(s)
	return nil
}
