package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostileLinks returns a forged file of links of 1 MB: a path of links from each of n sessions of the store, most of which lead to missing
// sessions.
func hostileLinks(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		from, to := fmt.Sprint("g", i), fmt.Sprint("g", i+1)
		if i%1000 < n/20 { // 20 paths, each of which n/20 sessions lead to
			fmt.Fprintf(&b, "{\"from\":%q,\"to\":%q}\n", uuidLike(i%1000+i/1000%20*(n/20)), fmt.Sprint("g", i/1000*1000))
		}
		fmt.Fprintf(&b, "{\"from\":%q,\"to\":%q}\n", from, to)
	}
	return b.String()
}

// TestWorkOfAListGrowsWithTheFiles counts the steps along links: a few for each line and session.
func TestWorkOfAListGrowsWithTheFiles(t *testing.T) {
	const sessions = 2000
	file := hostileLinks(sessions)
	dir := t.TempDir()
	var all []candidate
	for i := range sessions {
		all = append(all, candidate{dir: directory{path: dir}, id: uuidLike(i), updated: sometime.Add(-time.Duration(i) * time.Second)})
	}
	l := threads{newFamily(parseLinks([]byte(file)), all), map[string]bool{}}
	for _, c := range all {
		l.heads[c.path()] = head{}
		l.lookup(c, head{})
	}
	require.Less(t, l.asked, 6*(strings.Count(file, "\n")+sessions))
}
