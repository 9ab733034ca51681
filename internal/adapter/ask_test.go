package adapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
)

// TestRefusedAnswerToAPermissionIsARefusal: a response that the wire refuses allows
// nothing to run, and the turn goes on.
func TestRefusedAnswerToAPermissionIsARefusal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told strings.Builder
		e := begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) { told.Write(line) }, uses(touch)), nil
		})
		e.onAsk = func(id, _ json.RawMessage) bool {
			go e.send(fmt.Sprintf(`{"jsonrpc":2,"id":%s,"result":{"outcome":{"outcome":"selected","optionId":"proceed_once"}}}`, id))
			return true
		}
		require.Equal(t, "end_turn", e.run("go"))
		require.Contains(t, told.String(), `"selectedOption":"cancel"`)
	})
}
