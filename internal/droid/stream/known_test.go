package stream

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Everything that is in no table is listed: kinds of events, requests and permissions, and fields.
func TestStrange(t *testing.T) {
	notification := func(body string) string {
		return `{"type":"notification","method":"droid.session_notification","params":{"notification":` + body + `}}`
	}
	for line, want := range map[string][]string{
		notification(`{"type":"tool_result","toolUseId":"a","content":"x","isError":false}`):                    nil,
		notification(`{"type":"tool_result","toolUseId":"a","content":"x","hurry":{"type":1},"isError":false}`): {"field hurry of tool_result"},
		notification(`{"hurry":1,"type":"dream_update"}`):                                                       {"event dream_update"},
		notification(`{"type":"assistant_text_delta","messageId":"m","blockIndex":0,"textDelta":"x"}`):          nil,
		`{"type":"notification","method":"droid.other","params":{}}`:                                            {"notification other"},
		`{"type":"request","id":"1","method":"droid.other","params":{}}`:                                        {"request other"},
		`{"type":"request","id":"1","method":"droid.request_permission","params":{"options":[],"mood":1,"toolUses":[
			{"toolUse":{"id":"a"},"confirmationType":"exec","details":{}},{"toolUse":{"id":"b"},"confirmationType":"teleport","details":{},"speed":1}]}}`: {
			"field mood of request_permission", "permission teleport", "field speed of permission_tool"},
		`{"type":"response","id":"1","result":{"anything":1}}`: nil,
	} {
		got, err := new(Decoder).Decode([]byte(line), true)
		require.NoError(t, err)
		require.Equal(t, want, got.UnknownFields, line)
	}
}

// An event reads fields of its row in kinds alone, and docs/dev/protocol.md has them, so that a name with a slip is noticed.
func TestFieldsOfEvents(t *testing.T) {
	page, err := os.ReadFile("../../../docs/dev/protocol.md")
	require.NoError(t, err)
	for kind, n := range kinds {
		require.NotEmpty(t, n.fields, "%s has no fields in its row", kind)
		row := regexp.MustCompile("(?m)^\\|[^|]*`" + kind + "`.*").FindString(string(page))
		event := reflect.TypeOf(n.decode(kind, []byte("{}")))
		for i := range event.NumField() {
			name, _, _ := strings.Cut(event.Field(i).Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			if !slices.Contains(n.fields, name) {
				t.Errorf("%s.%s reads %q, which the row of %s lacks", event.Name(), event.Field(i).Name, name, kind)
			}
			if !strings.Contains(row, "`"+name+"`") {
				t.Errorf("%s of %s is not in docs/dev/protocol.md", name, kind)
			}
		}
	}
}

func TestUntried(t *testing.T) {
	require.Empty(t, Version{}.Untried())
	require.Empty(t, newest.protocol.Untried())
	require.Empty(t, Version{1, 32, 0}.Untried())
	require.Equal(t, "is newer than droid 0.225.2 (protocol 1.220.0), the newest that droid-acp was tried with", Version{1, 221, 0}.Untried())
}
