package protocol

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who names itself not at all or wrongly shows nothing that is known. A name that nobody knows is
// taken at ACP's word, but for what options give away.
func TestProfileOf(t *testing.T) {
	for _, tc := range []struct {
		info, capabilities string
		known, shown       bool
	}{
		{`{"name":"zed","version":"1"}`, `{}`, true, true},
		{``, `{"clientInfo":{"name":"Agentic.nvim"}}`, true, true},
		{`{"name":"CodeCompanion.nvim"}`, `{"clientInfo":{"name":"zed"}}`, false, false},
		{`{"name":"acpx"}`, ``, false, false},
		{`{"name":"Zed"}`, ``, false, true},
		{`{"name":"zed.preview"}`, ``, false, true},
		{`{"name":"JetBrains.IntelliJ IDEA","version":"2026.3","type":"ide"}`, ``, false, true},
		{`{"title":"zed"}`, `{}`, false, false},
		{`{"name":["zed"]}`, `7`, false, false},
		{`"zed"`, `[]`, false, false},
		{``, ``, false, false},
	} {
		traits := parseProfile(json.RawMessage(tc.info), json.RawMessage(tc.capabilities))
		require.Equal(t, tc.known, traits.ShowsOptionNames, tc.info)
		require.Equal(t, tc.shown, traits.MayShowOptionNames(), tc.info)
	}
}

// What the user says of their client counts.
func TestWithUserSetting(t *testing.T) {
	for what, want := range map[string]ClientProfile{
		"":           {AssumedCompliant: true, ShowsRequestContent: true, HidesWaitingDiffs: true},
		ShowsTitle:   {ShowsOptionKindsOnly: true, HidesWaitingDiffs: true},
		ShowsContent: {ShowsOptionKindsOnly: true, ShowsRequestContent: true, HidesWaitingDiffs: true},
		ShowsNames:   {ShowsRequestContent: true, ShowsOptionNames: true, HidesWaitingDiffs: true},
	} {
		unknown := ClientCapabilities{ClientProfile: ClientProfile{AssumedCompliant: true, ShowsRequestContent: true, HidesWaitingDiffs: true}}
		require.Equal(t, want, unknown.WithUserSetting(what).ClientProfile, what)
	}
}

// A client's fs methods are used by default where it is known that they damage no file.
func TestSafeFiles(t *testing.T) {
	for info, want := range map[string]bool{
		`null`: false, `{}`: false, `{"name":""}`: false, `{"name":"zed"}`: true, `{"name":"agent-shell"}`: true, `{"name":"acp-ui"}`: false,
		`{"name":"CodeCompanion.nvim"}`: false, `{"name":"Agentic.nvim"}`: false, `{"name":"somebody new"}`: false, `{"name":"JetBrains.GoLand"}`: false,
	} {
		caps := ParseCapabilities(json.RawMessage(`{"fs":{"readTextFile":true,"writeTextFile":true}}`), json.RawMessage(info))
		require.True(t, caps.Files)
		require.Equal(t, want, caps.SafeFiles, info)
	}
	for _, capabilities := range []string{`{}`, `{"fs":null}`, `{"fs":{"readTextFile":true}}`, `{"fs":{"writeTextFile":true}}`, `{"fs":{"readTextFile":true,"writeTextFile":"true"}}`} {
		require.False(t, ParseCapabilities(json.RawMessage(capabilities), nil).Files, capabilities)
	}
}
