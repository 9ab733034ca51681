package droid

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// A complete report without a model of spec mode means that there is none; a partial one says nothing about missing fields.
func TestSpecModelIsTakenBack(t *testing.T) {
	var with, whole, part stream.Settings
	require.NoError(t, json.Unmarshal([]byte(`{"modelId":"m","autonomyMode":"spec","specModeModelId":"s","specModeReasoningEffort":"low"}`), &with))
	require.NoError(t, json.Unmarshal([]byte(`{"modelId":"m","autonomyMode":"spec"}`), &whole))
	require.NoError(t, json.Unmarshal([]byte(`{"autonomyMode":"normal"}`), &part))
	require.Equal(t, "s", *with.Merge(part).SpecModeModelID)
	without := with.Merge(whole)
	require.Nil(t, without.SpecModeModelID)
	require.Nil(t, without.SpecModeReasoningEffort)
	require.JSONEq(t, `{"modelId":"m","autonomyMode":"spec"}`, string(without.Raw))

	c, p := newPeer(t, old)
	sent := async(func() error { return c.UpdateSettings(testContext(t), stream.SettingsPatch{NoSpecModeModel: true}) })
	m := p.expect(methodUpdateSettings)
	require.JSONEq(t, `{"specModeModelId":null}`, string(m.Params))
	p.reply(m.ID, `{}`)
	require.NoError(t, <-sent)
}
