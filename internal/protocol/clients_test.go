package protocol

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who names itself not at all, wrongly or as nobody known shows nothing that is
// known.
func TestUnknownClientHasNoTraits(t *testing.T) {
	for _, tc := range []struct {
		info, capabilities string
		names              bool
	}{
		{`{"name":"zed","version":"1"}`, `{}`, true},
		{``, `{"clientInfo":{"name":"Agentic.nvim"}}`, true},
		{`{"name":"CodeCompanion.nvim"}`, `{"clientInfo":{"name":"zed"}}`, false},
		{`{"name":"Zed"}`, ``, false},
		{`{"title":"zed"}`, `{}`, false},
		{`{"name":["zed"]}`, `7`, false},
		{`"zed"`, `[]`, false},
		{``, ``, false},
	} {
		require.Equal(t, tc.names, ReadTraits(json.RawMessage(tc.info), json.RawMessage(tc.capabilities)).OptionNames, tc.info)
	}
}

// A client's fs methods are used where they are worth it: not by default where it gives
// itself no name, or where they are known to damage files.
func TestFilesOnDisk(t *testing.T) {
	for info, want := range map[string]bool{
		`null`: true, `{}`: true, `{"name":""}`: true, `{"name":"zed"}`: false, `{"name":"agent-shell"}`: false,
		`{"name":"CodeCompanion.nvim"}`: true, `{"name":"Agentic.nvim"}`: true, `{"name":"somebody new"}`: false,
	} {
		caps := ReadCapabilities(json.RawMessage(`{"fs":{"readTextFile":true,"writeTextFile":true}}`), json.RawMessage(info))
		require.True(t, caps.Files)
		require.Equal(t, want, caps.FilesOnDisk, info)
	}
	for _, capabilities := range []string{`{}`, `{"fs":null}`, `{"fs":{"readTextFile":true}}`, `{"fs":{"writeTextFile":true}}`, `{"fs":{"readTextFile":true,"writeTextFile":"true"}}`} {
		require.False(t, ReadCapabilities(json.RawMessage(capabilities), nil).Files, capabilities)
	}
}
