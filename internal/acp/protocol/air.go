package protocol

import (
	"encoding/json"
	"slices"
)

// What JetBrains' client Air and the adapters of other agents have beyond ACP (version 1 of it; claude-agent-acp
// 0.101.0, codex-acp 2.6.0). A client declares by name what it takes; nothing of it is sent to others.

// AirAsyncTasks is the name of what shows commands that go on in the background.
const AirAsyncTasks = "asyncTasks"

// airVersion is the version of Air's extensions.
const airVersion = 1

// airDeclared reports whether a client declares one of Air's capabilities, in _meta.jetbrains.air of its own.
func airDeclared(meta json.RawMessage, name string) bool {
	var air struct {
		Version      int
		Capabilities []string
	}
	_ = json.Unmarshal(Fields(Fields(meta)["jetbrains"])["air"], &air) // what has another form declares nothing
	return air.Version == airVersion && slices.Contains(air.Capabilities, name)
}

// Air is what this agent answers in _meta of initialize's result, by the name jetbrains, to a client that
// has declared any of it; nil to others.
func (c ClientCapabilities) Air() map[string]any {
	if !c.AsyncTasks {
		return nil
	}
	return map[string]any{"air": map[string]any{"version": airVersion, "capabilities": []string{AirAsyncTasks}}}
}

// AirMeta is on a call whose command goes on in the background.
type AirMeta struct {
	Air struct {
		AsyncTasks struct {
			Backgrounded bool `json:"backgrounded"`
		} `json:"asyncTasks"`
	} `json:"air"`
}

// Backgrounded says that a call's command goes on.
func Backgrounded() *AirMeta {
	m := new(AirMeta)
	m.Air.AsyncTasks.Backgrounded = true
	return m
}

// The states of an AsyncTask that has ended. "completed" says nothing of an exit code here.
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
