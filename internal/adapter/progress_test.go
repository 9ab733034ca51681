package adapter

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
)

// Nine attempts at a model call are few words: the first, when the reason is another, and how
// many there were.
func TestRetriesAreToldInFewWords(t *testing.T) {
	type retry struct {
		attempt int
		reason  string
	}
	row := func(reason string, n int) (all []retry) {
		for i := range n {
			all = append(all, retry{i + 1, reason})
		}
		return all
	}
	const first = "The model call failed (overloaded); droid tries again (attempt 1).\n\n"
	for name, c := range map[string]struct {
		retries []retry
		want    string
	}{
		"one":            {row("overloaded", 1), first},
		"nine":           {row("overloaded", 9), first + "\n\ndroid tried the model call again 9 times.\n\n"},
		"eight":          {row("overloaded", 8), first + "\n\ndroid tried the model call again 8 times.\n\n"},
		"another reason": {append(row("overloaded", 2), retry{3, "timeout"}), first + "Now it failed otherwise (timeout); attempt 3.\n\n"},
		"two calls":      {append(row("overloaded", 3), row("overloaded", 1)...), first + "droid tried the model call again 3 times.\n\n" + first},
	} {
		got := ""
		synctest.Test(t, func(t *testing.T) {
			e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
				for _, r := range c.retries {
					if err := d.Notify("llm_retry", fakedroid.Fields{"attempt": r.attempt, "reason": r.reason}); err != nil {
						return err
					}
				}
				return d.Say("", "At last.")
			})))
			require.Equal(t, "end_turn", e.run("go"))
			for _, u := range e.updates() {
				if text, ok := strings.CutPrefix(u, "notice: "); ok {
					got += text
				}
			}
		})
		require.Equal(t, c.want, got, name)
	}
}
