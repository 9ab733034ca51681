package relay

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Members are added to the _meta that is there.
func TestWithMeta(t *testing.T) {
	for object, want := range map[string]string{
		`{}`:                              `{"_meta":{"droid-acp":{"a":1}}}`,
		`{ "x":1}`:                        `{"_meta":{"droid-acp":{"a":1}},"x":1}`,
		`{"_meta":{"o":2}}`:               `{"_meta":{"droid-acp":{"a":1},"o":2}}`,
		`{"_meta":{"droid-acp":{"b":2}}}`: `{"_meta":{"droid-acp":{"a":1,"b":2}}}`,
		`{"_meta":null}`:                  `{"_meta":{"droid-acp":{"a":1}}}`,
		`[]`:                              `[]`,
	} {
		require.Equal(t, want, string(WithMeta([]byte(object), map[string]int{"a": 1})))
	}
	require.Equal(t, `{"method":"m"}`, string(WithParamsMeta([]byte(`{"method":"m"}`), nil)))
	require.JSONEq(t, `{"params":{"_meta":{"droid-acp":{"a":1}}},"method":"m"}`, string(WithParamsMeta([]byte(`{"params":{},"method":"m"}`), map[string]int{"a": 1})))
}
