package protocol

import "encoding/json"

// Air's session index: session/list with more params and fields, and methods beside it, for clients that declare AirSessionIndex
// (claude-agent-acp 0.101.0 and codex-acp 2.6.0 have the same).

// AirMethods are methods of the index that do what a method of ACP does, with the same params.
var AirMethods = map[string]string{"_session/archive": "session/archive", "_session/unarchive": "session/unarchive", "_session/rename": "session/set_title"}

// Methods of the index that ACP does not have. AirListChanges is a notification to the client.
const (
	AirBatchGet        = "_session/batch_get"
	AirListSubscribe   = "_session/list/subscribe"
	AirListUnsubscribe = "_session/list/unsubscribe"
	AirListChanges     = "_session/list/changes"
)

// SubscribesLists reports whether the client may subscribe to changes of a list. A client of a server may not: its sessions are in several
// agents, and the one that answers it ends.
func (c ClientCapabilities) SubscribesLists() bool { return c.SessionIndex && !c.Activity }

// AirListParams are the params that the index adds to session/list. A nil field is absent or null.
type AirListParams struct {
	Limit            *int    `json:"limit"`
	Archived         *string `json:"archived"`
	IncludeWorktrees *bool   `json:"includeWorktrees"`
}

// AirListParamsIn returns the params in the _meta of session/list, which may be nil.
func AirListParamsIn(meta json.RawMessage) (p AirListParams, err error) {
	if list := Fields(Fields(Fields(meta)["jetbrains"])["air"])["list"]; list != nil {
		err = json.Unmarshal(list, &p)
	}
	return p, err
}

// AirRow has the fields that the index adds to a row of a list. Unknown ones are absent.
type AirRow struct {
	Archived    bool   `json:"archived"`
	State       string `json:"state,omitempty"`           // of a session that is open in this agent, see AirRunning
	TurnEndedAt string `json:"lastTurnEndedAt,omitempty"` // in RFC 3339 format
	Model       string `json:"model,omitempty"`           // of a session that is open in this agent
}

// The states of a session that is open.
const (
	AirRunning        = "running"
	AirRequiresAction = "requires_action"
	AirIdle           = "idle"
)

// AirRowMeta returns the _meta of a row.
func AirRowMeta(row AirRow) *OnlyAir { return &OnlyAir{airMeta(AirFields{AirRow: &row})} }

// AirBatchParams are the params of AirBatchGet; its result is a ListResult without unknown sessions.
type AirBatchParams struct {
	SessionIDs []string `json:"sessionIds"`
}

// AirListSubscription is the result of AirListSubscribe, and the params of AirListUnsubscribe.
type AirListSubscription struct {
	SubscriptionID string `json:"subscriptionId"`
}

// AirListChange has the params of AirListChanges: the rows that are new or differ from the last ones in more than updatedAt, and the IDs of
// removed ones.
type AirListChange struct {
	SubscriptionID string          `json:"subscriptionId"`
	Sessions       []ListedSession `json:"sessions"`
	Removed        []string        `json:"removed"`
}
