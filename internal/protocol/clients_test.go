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
