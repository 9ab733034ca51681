package relay

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/rawjson"
)

// MetaField returns a member of an object's _meta.droid-acp, nil if it is absent.
func MetaField(object []byte, name string) []byte {
	return rawjson.Field(rawjson.Field(rawjson.Field(object, "_meta"), "droid-acp"), name)
}

// WithMeta returns an object with members added to its _meta.droid-acp.
func WithMeta(object []byte, members any) []byte {
	added, _ := json.Marshal(members) // made of texts and numbers
	if !rawjson.IsObject(object) {
		return object
	}
	if rawjson.Field(object, "_meta") == nil {
		head := slices.Concat([]byte(`{"_meta":{"droid-acp":`), added, []byte("}"))
		rest := object[rawjson.SkipSpace(object, 1):]
		if rest[0] != '}' {
			head = append(head, ',')
		}
		return append(head, rest...)
	}
	fields := protocol.Fields(object)
	meta := protocol.Fields(fields["_meta"])
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	own := protocol.Fields(meta["droid-acp"])
	if own == nil {
		own = map[string]json.RawMessage{}
	}
	for name, member := range rawjson.Fields(added) {
		own[string(name)] = member
	}
	meta["droid-acp"], _ = json.Marshal(own) // raw JSON can be encoded
	fields["_meta"], _ = json.Marshal(meta)
	object, _ = json.Marshal(fields)
	return object
}

// WithParamsMeta is WithMeta for the params of a message, which has nothing behind them but its end.
func WithParamsMeta(message []byte, members any) []byte {
	h, _ := jsonrpc.ReadHead(message)
	if h.Params == 0 {
		return message
	}
	params := message[h.Params:]
	params = params[:rawjson.SkipValue(params, 0)]
	return slices.Concat(message[:h.Params], WithMeta(params, members), message[h.Params+len(params):])
}
