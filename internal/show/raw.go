package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"droid-acp/internal/text/rawjson"
)

const (
	// maxRaw bounds the input of a call that is passed on as it is, in bytes. Editors
	// show it only where they have nothing better.
	maxRaw = 256 << 10
	// maxRawText bounds each text in an input that is larger than that.
	maxRawText = 4 << 10
)

// boundedInput is an input with its long texts cut where it is large: a file to
// create is in the diff already.
func boundedInput(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxRaw {
		return raw
	}
	fields := inputFields(raw)
	if len(fields) == 0 {
		return nil
	}
	for name, value := range fields { // one after the other: a file is in one of them
		if len(value) <= maxRawText {
			continue
		}
		in := json.NewDecoder(bytes.NewReader(value))
		in.UseNumber()
		var long any
		if rawjson.IsString(value) {
			long = rawjson.Unquote(value)
		} else if in.Decode(&long) != nil {
			return nil
		}
		short, err := json.Marshal(shortened(long))
		if err != nil {
			return nil
		}
		fields[name] = short
	}
	short, err := json.Marshal(fields)
	if err != nil || len(short) > maxRaw {
		return nil
	}
	return short
}

// inputFields are the fields of a tool's input, which was decoded as a part of droid's message; none of an
// input that is no object.
func inputFields(raw json.RawMessage) map[string]rawjson.Value {
	out := map[string]rawjson.Value{}
	for name, value := range rawjson.Fields(raw) {
		out[rawjson.TextOf(name)] = value
	}
	return out
}

func shortened(value any) any {
	switch v := value.(type) {
	case string:
		if len(v) > maxRawText {
			return strings.ToValidUTF8(v[:maxRawText], "") + fmt.Sprintf("… (%d more bytes)", len(v)-maxRawText)
		}
	case []any:
		for i := range v {
			v[i] = shortened(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = shortened(v[key])
		}
	}
	return value
}
