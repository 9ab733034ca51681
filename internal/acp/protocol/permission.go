package protocol

import (
	acp "github.com/coder/acp-go-sdk"
)

// PermissionOption is one button of a permission request.
type PermissionOption struct {
	OptionID string                   `json:"optionId"`
	Name     Line                     `json:"name"`
	Kind     acp.PermissionOptionKind `json:"kind"`
}

// PermissionParams is the params of session/request_permission.
type PermissionParams struct {
	SessionID string             `json:"sessionId"`
	ToolCall  ToolCall           `json:"toolCall"`
	Options   []PermissionOption `json:"options"`
	Meta      *OnlyAir           `json:"_meta,omitempty"`
}

// PermissionResult is the result of session/request_permission.
type PermissionResult struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}
