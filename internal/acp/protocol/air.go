package protocol

import (
	"encoding/json"
	"errors"
)

// Extensions of ACP by JetBrains' client Air (version 1; claude-agent-acp 0.101.0 and codex-acp 2.6.0 have them as well). They are sent
// only to clients that declare them.

// Capabilities of Air that this agent has.
const (
	AirAsyncTasks     = "asyncTasks"     // shows commands that continue in the background
	AirSessionFailure = "sessionFailure" // takes failed turns in session_info_update
	AirLoadReplayEnd  = "loadReplayEnd"  // takes a mark where the replay of a load ends
	// AirSubagentSessions shows subagents as sessions, see AirSubagents.
	AirSubagentSessions = "nativeSubagentSessions"
	AirSessionIndex     = "sessionIndex" // keeps a list of sessions, see session_index.go
)

// airVersion is the version of Air's extensions.
const airVersion = 1

// airDeclared returns what a client declares in _meta.jetbrains.air: whether it is Air, and the capabilities.
func airDeclared(meta json.RawMessage) (is bool, capabilities []string) {
	var air struct {
		Version      int
		Capabilities []string
	}
	_ = json.Unmarshal(Fields(Fields(meta)["jetbrains"])["air"], &air) // any other form declares nothing
	if air.Version < airVersion {
		return false, nil
	}
	return true, air.Capabilities
}

// AirAnswer returns the value of "jetbrains" in the _meta of initialize's result, nil unless the client is Air.
func (c ClientCapabilities) AirAnswer() map[string]any {
	if !c.Air {
		return nil
	}
	answered := []string{}
	for _, capability := range []struct {
		name     string
		declared bool
	}{{AirAsyncTasks, c.AsyncTasks}, {AirSessionFailure, c.SessionFailures}, {AirLoadReplayEnd, c.LoadReplayEnd}, {AirSubagentSessions, c.Subagents == AirSubagents}} {
		if capability.declared {
			answered = append(answered, capability.name)
		}
	}
	if c.SessionIndex {
		answered = append(answered, AirSessionIndex, "sessionBatchGet", "sessionArchive", "sessionRename")
	}
	if c.SubscribesLists() {
		answered = append(answered, "sessionListSubscribe")
	}
	return map[string]any{"air": map[string]any{"version": airVersion, "capabilities": answered}}
}

// AirMeta is the value of "jetbrains" in a _meta for Air.
type AirMeta struct {
	Air AirFields `json:"air"`
}

// AirFields are the fields of an AirMeta.
type AirFields struct {
	Version        int             `json:"version,omitempty"`
	AsyncTasks     *AirAsyncTasked `json:"asyncTasks,omitempty"`     // of a tool call
	SessionFailure *SessionFailure `json:"sessionFailure,omitempty"` // of session_info_update
	LoadReplayEnd  bool            `json:"loadReplayEnd,omitempty"`  // of session_info_update
	Permission     *AirPermission  `json:"permission,omitempty"`     // of session/request_permission
	Kind           string          `json:"kind,omitempty"`           // of a mode
	CustomAnswer   *CustomAnswer   `json:"customAnswer,omitempty"`   // of a field of a form
	*AirRow
}

// OnlyAir is a _meta with nothing else.
type OnlyAir struct {
	JetBrains *AirMeta `json:"jetbrains,omitempty"`
}

// airMeta returns an AirMeta with a version.
func airMeta(fields AirFields) *AirMeta {
	fields.Version = airVersion
	return &AirMeta{fields}
}

// AirAsyncTasked marks a tool call whose command continues in the background.
type AirAsyncTasked struct {
	Backgrounded bool `json:"backgrounded"`
}

// Backgrounded returns the AirMeta of such a call.
func Backgrounded() *AirMeta { return &AirMeta{AirFields{AsyncTasks: &AirAsyncTasked{true}}} }

// SessionFailure says why a turn failed, or what delays it, and what the user can do about it. A later one with the same ID and a higher
// revision replaces it.
type SessionFailure struct {
	Version  int      `json:"version"`
	ID       string   `json:"id"`
	Revision int      `json:"revision"`
	Category string   `json:"category"` // connection, access, limit, request, service or unknown
	Severity string   `json:"severity"` // error or warning
	Title    Line     `json:"title"`
	Details  Text     `json:"details,omitzero"`
	Reason   string   `json:"reason,omitempty"`
	Actions  []string `json:"actions"` // retry, login or new_session
}

// SessionMetaUpdate is a session_info_update with a _meta alone.
type SessionMetaUpdate struct {
	SessionUpdate string  `json:"sessionUpdate"`
	Meta          OnlyAir `json:"_meta"`
}

func (u SessionMetaUpdate) UpdateKind() string { return u.SessionUpdate }

// FailureUpdate returns the update with a SessionFailure, whose version is set.
func FailureUpdate(f SessionFailure) SessionMetaUpdate {
	f.Version = airVersion
	return SessionMetaUpdate{"session_info_update", OnlyAir{airMeta(AirFields{SessionFailure: &f})}}
}

// ReplayEndUpdate returns the update behind the replay of a load.
func ReplayEndUpdate() SessionMetaUpdate {
	return SessionMetaUpdate{"session_info_update", OnlyAir{airMeta(AirFields{LoadReplayEnd: true})}}
}

// AirPermission describes what a permission request is for.
type AirPermission struct {
	Version     int  `json:"version"`
	Title       Line `json:"title"`
	Description Line `json:"description,omitzero"`
	DefaultToNo bool `json:"defaultToNo,omitempty"`
}

// AirPermissionMeta returns the _meta of a permission request.
func AirPermissionMeta(title, description Line, defaultToNo bool) *OnlyAir {
	return &OnlyAir{airMeta(AirFields{Permission: &AirPermission{airVersion, title, description, defaultToNo}})}
}

// modeKinds has Air's kinds of droid's modes.
var modeKinds = map[string]string{"normal": "standard", "spec": "plan", "auto-low": "auto_review", "auto-medium": "auto_review", "auto-high": "full_access"}

// Modes returns modes as the client takes them: for Air with their kinds.
func (c ClientCapabilities) Modes(modes *SessionModes) *SessionModes {
	if !c.Air || modes == nil {
		return modes
	}
	for i, mode := range modes.AvailableModes {
		if kind := modeKinds[mode.ID]; kind != "" {
			modes.AvailableModes[i].Meta = &OnlyAir{airMeta(AirFields{Kind: kind})}
		}
	}
	return modes
}

// AirFork is the point at which Air wants a session to be copied: with all up to an agent's message, and that.
type AirFork struct {
	MessageID   string `json:"messageId"`
	Fingerprint string `json:"messageFingerprint"` // "sha256:" and the hash of its text, "" for none
	Occurrence  int    `json:"messageOccurrence"`  // which one of those with that fingerprint, from 1; 0 if there is only one
}

// ForkPoint returns the point in the _meta of session/fork, nil if there is none or the client is not Air.
func (c ClientCapabilities) ForkPoint(meta json.RawMessage) (*AirFork, error) {
	raw := Fields(Fields(Fields(meta)["jetbrains"])["air"])["fork"]
	if !c.Air || len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	point := new(AirFork)
	if json.Unmarshal(raw, point) != nil || point.MessageID == "" && point.Fingerprint == "" {
		return nil, errors.New("_meta.jetbrains.air.fork must be an object with messageId")
	}
	return point, nil
}

// Final states of an AsyncTask. "completed" does not imply an exit code of 0.
const (
	AsyncCompleted = "completed"
	AsyncStopped   = "stopped"
)

// AsyncTask is one of the updates async_task_spawned, async_task_progress and async_task_state_update.
type AsyncTask struct {
	SessionUpdate    string `json:"sessionUpdate"`
	AsyncTaskID      string `json:"asyncTaskId"`
	Name             Line   `json:"name,omitzero"`
	TaskType         string `json:"taskType,omitempty"` // shell
	Description      Line   `json:"description,omitzero"`
	ShowInTranscript *bool  `json:"showInTranscript,omitempty"` // false: the call is there
	CanStop          *bool  `json:"canStop,omitempty"`
	OutputFilePath   string `json:"outputFilePath,omitempty"`
	ToolCallID       string `json:"toolCallId,omitempty"`
	State            string `json:"state,omitempty"`
	Summary          Line   `json:"summary,omitzero"`
}

func (u AsyncTask) UpdateKind() string { return u.SessionUpdate }
