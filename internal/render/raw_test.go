package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBoundedInput(t *testing.T) {
	small := json.RawMessage(`{"b":1.0,"a":"x"}`)
	require.Equal(t, small, boundedInput(small))

	long := strings.Repeat("ü", maxRaw)
	large, err := json.Marshal(map[string]any{"content": long, "list": []string{long, "short"}, `a\n`: "name", "number": json.Number("9007199254740993")})
	require.NoError(t, err)
	var got struct {
		Content string
		List    []string
		Number  json.Number
	}
	require.NoError(t, json.Unmarshal(boundedInput(large), &got))
	require.True(t, strings.HasPrefix(got.Content, "üüü"))
	require.True(t, strings.HasSuffix(got.Content, "… (520192 more bytes)"), got.Content[len(got.Content)-40:])
	require.Less(t, len(got.Content), 2*maxRawText)
	require.Equal(t, "short", got.List[1])
	require.Equal(t, "9007199254740993", got.Number.String())
	require.True(t, bytes.Contains(boundedInput(large), []byte(`"a\\n":"name"`)), "the name has no line end")

	exact := strings.Repeat("x", maxRawText)
	require.Equal(t, exact, shortened(exact))
	require.Equal(t, exact+"… (1 more bytes)", shortened(exact+"y"))

	many, err := json.Marshal(map[string]any{"list": strings.Split(strings.Repeat("x ", maxRaw), " ")})
	require.NoError(t, err)
	require.Nil(t, boundedInput(many), "large without a long text")
}
