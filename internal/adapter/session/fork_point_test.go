package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
)

func TestPromptBehind(t *testing.T) {
	var messages []stream.Message
	for _, m := range []string{"user u1 hi", "assistant a1 same", "assistant a2 more", "user u2 go", "assistant a3 same", "user u3 on"} {
		fields := strings.Fields(m)
		var one stream.Message
		require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"role":%q,"id":%q,"content":[{"type":"text","text":%q}]}`, fields[0], fields[1], fields[2]), &one))
		messages = append(messages, one)
	}
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	for name, c := range map[string]struct {
		point protocol.AirFork
		want  string
		none  bool
	}{
		"before the next prompt":        {point: protocol.AirFork{MessageID: "a1"}, want: "u2"},
		"the last message before it":    {point: protocol.AirFork{MessageID: "a2"}, want: "u2"},
		"with its text":                 {point: protocol.AirFork{MessageID: "a3", Fingerprint: hash("same")}, want: "u3"},
		"by its text alone":             {point: protocol.AirFork{Fingerprint: hash("same")}, want: "u2"},
		"by its text, for the 2nd time": {point: protocol.AirFork{Fingerprint: hash("same"), Occurrence: 2}, want: "u3"},
		"with another text":             {point: protocol.AirFork{MessageID: "a1", Fingerprint: hash("other")}, none: true},
		"by a text that is not there":   {point: protocol.AirFork{Fingerprint: hash("same"), Occurrence: 3}, none: true},
		"a user's message is none":      {point: protocol.AirFork{MessageID: "u1"}, none: true},
		"a message that is not there":   {point: protocol.AirFork{MessageID: "x"}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := promptBehind(messages, c.point)
			require.Equal(t, c.none, err != nil)
			require.Equal(t, c.want, got)
		})
	}
	got, err := promptBehind(messages[:5], protocol.AirFork{MessageID: "a3"})
	require.NoError(t, err)
	require.Empty(t, got, "nothing is behind it")
}
