package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Trace is the content of a file.
type Trace struct {
	Heads   []Head
	Records []Record
	// Missing describes, for people, what is not in Records.
	Missing []string
}

// Read reads the files of a trace, the older one first. A line that is incomplete, as where a disk was full, is left out.
func Read(contents ...[]byte) (*Trace, error) {
	t, wrong := &Trace{}, 0
	for _, content := range contents {
		for line := range bytes.Lines(content) {
			whole := bytes.HasSuffix(line, []byte("\n"))
			line = bytes.TrimSpace(line)
			var r Record
			var h Head
			switch {
			case len(line) == 0:
			case bytes.HasPrefix(line, []byte(Mark)) && json.Unmarshal(line, &h) == nil:
				t.Heads = append(t.Heads, h)
			case json.Unmarshal(line, &r) == nil && !r.Time.IsZero():
				t.Records = append(t.Records, r)
				if r.Lost > 0 {
					t.Missing = append(t.Missing, fmt.Sprintf("%d lines were lost at %s", r.Lost, clock(r.Time)))
				}
			case !whole:
				t.Missing = append(t.Missing, fmt.Sprintf("the last line is incomplete (%d bytes)", len(line)))
			default:
				wrong++
			}
		}
	}
	if wrong > 0 {
		t.Missing = append(t.Missing, fmt.Sprintf("%d lines cannot be read", wrong))
	}
	if len(t.Heads) == 0 {
		return nil, fmt.Errorf("it is no trace: no line begins with %s", strings.TrimSuffix(Mark, ","))
	}
	return t, nil
}
