package adapter

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func (e *editor) setModel(id string) wireMessage {
	return e.call("session/set_model", fmt.Sprintf(`{"sessionId":%q,"modelId":%q}`, e.session, id))
}

// What set_model refuses, and that it says what there is.
func TestSetModelRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		for id, what := range map[string]string{
			"no-such-model": "the values are custom:Fake-0, fake-thinker, fake-old",
			"fake-disabled": "disabled",
			"":              "modelId is missing",
		} {
			answer := e.setModel(id)
			require.NotNil(t, answer.Error, id)
			require.Equal(t, -32602, answer.Error.Code)
			require.Contains(t, answer.Error.Message, what)
		}
		require.Equal(t, "custom:Fake-0", *e.current().ModelID, "droid was not asked")
		require.Equal(t, -32002, e.call("session/set_model", `{"sessionId":"x","modelId":"y"}`).Error.Code)
		require.Equal(t, -32602, e.call("session/set_model", `{"sessionId":1}`).Error.Code)
	})
}

// Where droid tells no model there is no list, and set_model says so.
func TestNoModelsToTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		e.inside(func(s *Session) {
			settings := s.options.Settings()
			settings.ModelID = nil
			s.options.Reported(settings)
			require.Nil(t, s.options.SessionModels())
		})
		answer := e.setModel("fake-thinker")
		require.Equal(t, -32602, answer.Error.Code)
		require.True(t, strings.Contains(answer.Error.Message, "unknown configId"), answer.Error.Message)
	})
}
