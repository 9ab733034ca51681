package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// TestPermissionIsAnsweredTwice: the first answer counts, also of an editor that then says something else, and droid gets one.
func TestPermissionIsAnsweredTwice(t *testing.T) {
	for first, second := range map[string]string{"proceed_once": "cancel", "cancel": "proceed_once"} {
		t.Run(first, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				var sent strings.Builder
				e := begin(t, func(int) (*droid.Client, error) {
					return tappedDroid(func(line []byte) { sent.Write(line) }, uses(touch), v), nil
				})
				e.onAsk = func(id, _ json.RawMessage) bool {
					go func() {
						for _, option := range []string{first, second} {
							e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, id, option))
						}
					}()
					return true
				}
				e.run("go")
				require.Equal(t, 1, strings.Count(sent.String(), "selectedOption"))
				require.Contains(t, sent.String(), fmt.Sprintf(`"selectedOption":%q`, first))
				require.Nil(t, e.call("_droid/state", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error, "the connection works on")
			})
		})
	}
}
