package links

import (
	"cmp"
	"slices"
	"strings"
)

// encode returns the lines of links in the order of their times, without the oldest
// ones when all are longer than max bytes.
func encode(list []Link, max int) []byte {
	slices.SortFunc(list, func(a, b Link) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.From, b.From)) })
	lines := make([][]byte, 0, len(list))
	size := 0
	for _, l := range slices.Backward(list) {
		line, err := l.Line()
		if err != nil || len(line) > MaxLine {
			continue
		}
		if size += len(line); size > max {
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return slices.Concat(lines...)
}
