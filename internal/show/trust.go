package show

import (
	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
)

// The options. The first of their kind is never the one that says yes.
const (
	trustGoOn   = "not-now-go-on"
	trustYes    = "trust"
	trustLook   = "not-now-look"
	trustNo     = "not-now"
	trustCancel = "cancel-prompt"
)

// trustOptions are two choices and the cancel where their names are known to be read. Elsewhere the one that says yes
// stands between two others of its kind, as some clients pick the first or the last.
func trustOptions(names bool) []protocol.PermissionOption {
	yes := protocol.PermissionOption{OptionID: trustYes, Name: "Trust this project", Kind: acp.PermissionOptionKindAllowOnce}
	if names {
		return []protocol.PermissionOption{
			{OptionID: trustGoOn, Name: "Not now, go on without it", Kind: acp.PermissionOptionKindAllowOnce},
			yes,
			{OptionID: trustCancel, Name: "Cancel this prompt", Kind: acp.PermissionOptionKindRejectOnce}, // some clients do that by themselves
		}
	}
	return []protocol.PermissionOption{
		{OptionID: trustGoOn, Name: "Not now, go on", Kind: acp.PermissionOptionKindAllowOnce},
		yes,
		{OptionID: trustLook, Name: "Not now, I look first", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: trustNo, Name: "Not now", Kind: acp.PermissionOptionKindRejectOnce}, // some clients stop the prompt with it
	}
}

// AsksTrust reports whether the user can be asked whether to trust a project: not where the client is known to show no
// names of options, as then nobody can say yes.
func (v *View) AsksTrust() bool { return !v.client.OptionKinds && !v.client.ByPolicy }

// Trust asks whether a project may run what it brings; list, which names it, stands last. Only a person who reads
// the names of the options can say yes: who answers by an option's kind or place picks one that changes nothing.
// It is not to be called where AsksTrust says no.
func (v *View) Trust(title, list string) *OwnQuestion {
	advice := ""
	if !v.client.OptionNames {
		advice = "Only *Trust this project* is a yes. Where you see only words such as Yes or Accept, type `/trust yes` instead.\n\n"
	}
	q := v.ownQuestion("trust", title, advice+list, trustOptions(v.client.OptionNames), trustYes)
	q.call.Meta = &protocol.ToolMeta{Own: &protocol.OwnMeta{NamesOnly: true}}
	return q
}

// NotTrusted is what is said of an answer that was no yes, "" where the user has read what they chose.
func (v *View) NotTrusted() string {
	if v.client.OptionNames {
		return ""
	}
	return "The project was not trusted: only *Trust this project* is a yes, and some clients send only a yes or a no."
}
