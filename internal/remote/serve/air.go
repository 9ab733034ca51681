package serve

import (
	"bytes"
	"encoding/json"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/text/rawjson"
)

// airFields returns the fields of an update that are for Air only.
func airFields(update updateFields) []byte {
	return rawjson.Field(rawjson.Field(update["_meta"], "jetbrains"), "air")
}

// withoutFailure omits a failure of the session: the error that ends the prompt reports it.
func withoutFailure(_ *session, _ *Client, update updateFields) any {
	if rawjson.Field(airFields(update), "sessionFailure") != nil {
		return nil
	}
	return update
}

// withoutReplayEnd omits the mark of a replay's end.
func withoutReplayEnd(_ *session, _ *Client, update updateFields) any {
	if rawjson.Field(airFields(update), "loadReplayEnd") != nil {
		return nil
	}
	return update
}

// marksOtherReplay reports whether a message marks the end of a replay for another client: one in the journal, or of another client's load.
func (o *session) marksOtherReplay(c *Client, message []byte) bool {
	if o.loader == c || !bytes.Contains(message, []byte(`"loadReplayEnd"`)) {
		return false
	}
	_, update := updateKind(message)
	return rawjson.Field(airFields(protocol.Fields(update)), "loadReplayEnd") != nil
}

// markReplayEnd marks the end of the replay to a client that joins by a load.
func (o *session) markReplayEnd(c *Client) {
	if !c.caps.LoadReplayEnd {
		return
	}
	if line, err := o.encode(protocol.ReplayEndUpdate()); err == nil {
		c.send(line[:len(line)-1])
	}
}

// forClient returns an agent's JSON for a client, without the fields for Air unless the client is Air.
func forClient(c *Client, text []byte) []byte {
	if c.caps.Air || !bytes.Contains(text, []byte(`"jetbrains"`)) {
		return text
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return text
	}
	removeAir(value)
	stripped, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return stripped
}

// removeAir removes "jetbrains" from each _meta.
func removeAir(value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			removeAir(element)
		}
	case map[string]any:
		if meta, is := value["_meta"].(map[string]any); is {
			if delete(meta, "jetbrains"); len(meta) == 0 {
				delete(value, "_meta")
			}
		}
		for _, member := range value {
			removeAir(member)
		}
	}
}
