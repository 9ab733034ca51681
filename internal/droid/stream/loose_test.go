package stream

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A time or a model of another form does not cost the message.
func TestMessageWithOddDetails(t *testing.T) {
	for raw, want := range map[string]Message{
		`{"id":"m","createdAt":1795230835698,"modelId":"a"}`: {ID: "m", CreatedAt: 1795230835698, ModelID: "a"},
		`{"id":"m","createdAt":"soon","modelId":5}`:          {ID: "m"},
		`{"id":"m","createdAt":-1,"modelId":{}}`:             {ID: "m"},
		`{"id":"m","createdAt":1e300,"modelId":null}`:        {ID: "m"},
	} {
		var m Message
		require.NoError(t, json.Unmarshal([]byte(raw), &m))
		require.Equal(t, want, m, raw)
	}
}

// A permission request with an unknown form of sessions is still shown, as droid's.
func TestPermissionWithOddSessions(t *testing.T) {
	for raw, want := range map[string]LenientStrings{
		`["child","parent"]`: {"child", "parent"},
		`[]`:                 {},
		`["child",7]`:        nil,
		`"child"`:            nil,
		`null`:               nil,
	} {
		line, err := new(Decoder).Decode([]byte(`{"type":"request","id":"p","method":"droid.request_permission","params":{"associatedSessionIds":`+raw+`}}`), false)
		require.NoError(t, err)
		require.Equal(t, PermissionRequest{RequestID: "p", Sessions: want}, line.Event, raw)
	}
}
