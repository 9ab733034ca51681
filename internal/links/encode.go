package links

import (
	"cmp"
	"slices"
	"strings"
)

// encode returns the lines of links in the order of their times, without the oldest
// ones when all are longer than max bytes.
func encode(list []line, max int) []byte {
	slices.SortFunc(list, func(a, b line) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.From, b.From)) })
	lines := make([][]byte, 0, len(list))
	size := 0
	for _, l := range slices.Backward(list) {
		line := append(slices.Clip(l.raw), '\n')
		if size += len(line); size > max {
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return slices.Concat(lines...)
}
