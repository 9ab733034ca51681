package adapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/testing/fakedroid"
)

// modelsOf reads the models of a result, as a client does that knows no config options.
func modelsOf(t *testing.T, answer wireMessage) (current string, ids []string) {
	t.Helper()
	require.Nil(t, answer.Error)
	var r struct{ Models *protocol.SessionModels }
	require.NoError(t, json.Unmarshal(answer.Result, &r))
	require.NotNil(t, r.Models, "%s", answer.Result)
	for _, m := range r.Models.AvailableModels {
		require.NotEmpty(t, m.Name)
		ids = append(ids, m.ModelID)
	}
	require.Contains(t, ids, r.Models.CurrentModelID)
	return r.Models.CurrentModelID, ids
}

func (e *editor) setModel(id string) wireMessage {
	return e.call("session/set_model", fmt.Sprintf(`{"sessionId":%q,"modelId":%q}`, e.session, id))
}

// A client that knows models and no config options: it finds them in each result that
// opens a session, and what it sets shows in the config option, as the other way round.
func TestSetModelAndModels(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := connect(t, playing(says("hi"), v, fakedroid.WithSessions(new(fakedroid.Sessions))))
		answer := e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)
		current, ids := modelsOf(t, answer)
		require.Equal(t, "custom:Fake-0", current)
		require.Equal(t, valuesOf(optionsOf(t, answer.Result)["model"]), ids, "what the config option offers")
		var r struct{ SessionID string }
		require.NoError(t, json.Unmarshal(answer.Result, &r))
		e.session = r.SessionID

		answer = e.setModel("fake-thinker")
		require.Nil(t, answer.Error)
		require.JSONEq(t, `{}`, string(answer.Result))
		require.Equal(t, "fake-thinker", *e.current().ModelID)
		require.Equal(t, "fake-thinker", optionsOf(t, e.lastUpdate("config_option_update"))["model"].CurrentValue)
		require.Nil(t, e.setModel("fake-thinker").Error, "once more")

		for _, method := range []string{"session/load", "session/resume", "session/fork"} {
			current, _ = modelsOf(t, e.call(method, sessionParamsOf(e.session)))
			require.Equal(t, "fake-thinker", current, method)
		}
		require.Nil(t, e.set("model", "custom:Fake-0").Error)
		current, _ = modelsOf(t, e.call("session/resume", sessionParamsOf(e.session)))
		require.Equal(t, "custom:Fake-0", current)
	})
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
