package smoke

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What droid-acp itself says is shown as that, and is no part of the answer.
func TestNoticesAreNoAnswer(t *testing.T) {
	var screen strings.Builder
	shown, result := viewer{w: &screen}, &PromptResult{}
	for _, params := range []string{
		`{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It is "}}}`,
		`{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\n\nIt failed.\n\n"},"_meta":{"droid-acp":{"notice":true}}}}`,
		`{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\n\n"}}}`,
		`{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"done."}}}`,
	} {
		u, err := readUpdate([]byte(params))
		require.NoError(t, err)
		result.addUpdate(u)
		shown.update(u)
	}
	shown.end()
	require.Equal(t, "It is \n\ndone.", result.Answer)
	require.Equal(t, "agent   | It is \nnotice  | It failed.\nagent   | done.\n", screen.String())
}
