package adapter

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
)

// Texts of two messages with nothing between them do not run together where a
// client ignores the ids of messages, and each is what droid said.
func TestMessagesDoNotRunTogether(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if err := d.Use("", "I look.", fakedroid.Tool{ID: "c" + p.RequestID, Name: "LS", Input: fakedroid.Fields{"path": "."}, Result: "none"}); err != nil {
				return err
			}
			for _, text := range []string{"Thanks.", "All ", "done.\n", "\n", "Really."} {
				if err := d.Say("", text); err != nil {
					return err
				}
			}
			return nil
		}), v))
		require.Equal(t, "end_turn", e.run("go"))
		require.Equal(t, "end_turn", e.run("again"))
		const once = "I look.\n\nThanks.\n\nAll \n\ndone.\n\nReally."
		got := ""
		for _, u := range e.updates() {
			if text, ok := strings.CutPrefix(u, "agent: "); ok {
				got += text
			}
		}
		require.Equal(t, once+once, got)
	})
}
