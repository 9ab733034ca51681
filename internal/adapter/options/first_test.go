package options

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseFirst(t *testing.T) {
	for name, c := range map[string]struct {
		raw     string
		want    []Value
		refusal string
	}{
		"missing":                       {raw: ``},
		"null":                          {raw: `null`},
		"empty":                         {raw: `[]`},
		"a value":                       {raw: `[{"configId":"model","value":"m"}]`, want: []Value{{Model, "m"}}},
		"select, as some clients send":  {raw: `[{"configId":"model","type":"select","value":"m"}]`, want: []Value{{Model, "m"}}},
		"a switch":                      {raw: `[{"configId":"auto_compaction","type":"boolean","value":false}]`, want: []Value{{AutoCompaction, "false"}}},
		"the effort depends on a model": {raw: `[{"configId":"mode","value":"spec"},{"configId":"reasoning_effort","value":"high"},{"configId":"model","value":"m"}]`, want: []Value{{Model, "m"}, {Effort, "high"}, {Mode, "spec"}}},
		"the last of two counts":        {raw: `[{"configId":"model","value":"a"},{"configId":"model","value":"b"}]`, want: []Value{{Model, "a"}, {Model, "b"}}},
		"an unknown option":             {raw: `[{"configId":"speed","value":"fast"},{"configId":"model","value":"m"}]`, want: []Value{{"speed", "fast"}, {Model, "m"}}},
		"wrong types":                   {raw: `[{"configId":"model","value":1},{"configId":"model","value":null},{"configId":"model","value":""},{"configId":"mode"},{"configId":"model","type":"boolean","value":true},{"configId":"auto_compaction","value":"true"},{"configId":"auto_compaction","type":"boolean","value":"true"},{"configId":"auto_compaction","type":"boolean","value":null}]`},
		"an unknown type":               {raw: `[{"configId":"model","type":"number","value":1}]`, refusal: `configOptions[0].type is "number"; it can be "boolean"`},
		"a type that is no string":      {raw: `[{"configId":"model","type":7,"value":"m"}]`, refusal: "configOptions[0].type is 7"},
		"no list":                       {raw: `{"model":"m"}`, refusal: "configOptions must be a list"},
		"no objects":                    {raw: `["model"]`, refusal: "configOptions must be a list"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseFirst(json.RawMessage(c.raw))
			if c.refusal != "" {
				require.ErrorContains(t, err, c.refusal)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}
