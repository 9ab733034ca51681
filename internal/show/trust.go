package show

import (
	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/protocol"
)

// The options. The one that says yes stands between two others of its kind.
const (
	trustGoOn = "not-now-go-on"
	trustYes  = "trust"
	trustLook = "not-now-look"
	trustNo   = "not-now"
)

func trustOptions() []protocol.PermissionOption {
	return []protocol.PermissionOption{
		{OptionID: trustGoOn, Name: "Not now, go on", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: trustYes, Name: "Trust this project", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: trustLook, Name: "Not now, I look first", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: trustNo, Name: "Not now", Kind: acp.PermissionOptionKindRejectOnce}, // some clients stop the prompt with it
	}
}

// Trust asks whether a project may run what it brings; list names it. Only a person who reads
// the names of the options can say yes: who answers by an option's kind or place (the
// first, the last, the first or the last of a kind) picks one that changes nothing.
func (v *View) Trust(title, list string) *OwnQuestion {
	return v.ownQuestion("trust", title, list, trustOptions(), trustYes)
}
