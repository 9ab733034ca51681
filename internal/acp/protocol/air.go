package protocol

import (
	"encoding/json"
	"slices"
)

// Extensions of ACP by JetBrains' client Air (version 1; claude-agent-acp 0.101.0 and codex-acp 2.6.0 have them as well). They are sent
// only to clients that declare them.

// AirAsyncTasks is the capability of showing commands that continue in the background.
const AirAsyncTasks = "asyncTasks"

// airVersion is the version of Air's extensions.
const airVersion = 1

// airDeclared reports whether a client declares a capability of Air, in _meta.jetbrains.air.
func airDeclared(meta json.RawMessage, name string) bool {
	var air struct {
		Version      int
		Capabilities []string
	}
	_ = json.Unmarshal(Fields(Fields(meta)["jetbrains"])["air"], &air) // any other form declares nothing
	return air.Version == airVersion && slices.Contains(air.Capabilities, name)
}

// Air returns the value of "jetbrains" in the _meta of initialize's result, nil unless the client declares a capability of Air.
func (c ClientCapabilities) Air() map[string]any {
	if !c.AsyncTasks {
		return nil
	}
	return map[string]any{"air": map[string]any{"version": airVersion, "capabilities": []string{AirAsyncTasks}}}
}

// AirMeta is the _meta of a tool call whose command continues in the background.
type AirMeta struct {
	Air struct {
		AsyncTasks struct {
			Backgrounded bool `json:"backgrounded"`
		} `json:"asyncTasks"`
	} `json:"air"`
}

// Backgrounded returns the AirMeta of such a call.
func Backgrounded() *AirMeta {
	m := new(AirMeta)
	m.Air.AsyncTasks.Backgrounded = true
	return m
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
