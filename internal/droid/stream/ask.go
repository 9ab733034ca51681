package stream

import "encoding/json"

// PermissionResolved is permission_resolved. ToolUseIDs is empty when the
// answer was cancel.
type PermissionResolved struct {
	RequestID      string   `json:"requestId"`
	ToolUseIDs     []string `json:"toolUseIds"`
	SelectedOption string   `json:"selectedOption"`
}

// PermissionRequest is the request droid.request_permission. It must be answered once with droid.Client.AnswerPermission; one answer covers
// all ToolUses. Sessions are the sessions it concerns if a subagent asks: the subagent's own, then those of its callers, droid's last
// (0.215, 0.225); empty if droid itself asks.
type PermissionRequest struct {
	RequestID string              `json:"-"`
	ToolUses  []PermissionToolUse `json:"toolUses"`
	Options   []PermissionOption  `json:"options"`
	Sessions  LenientStrings      `json:"associatedSessionIds"`
}

// PermissionToolUse is one tool that waits for permission. Confirmation is
// "exec", "create", "edit", "apply_patch", "mcp_tool", "exit_spec_mode",
// "sandbox_violation", "propose_mission", "start_mission_run", since 0.215 also
// "droid_shield_violation", "recommend_mission", "exit_mission_planning".
type PermissionToolUse struct {
	ToolUse      ToolUse           `json:"toolUse"`
	Confirmation string            `json:"confirmationType"`
	Details      PermissionDetails `json:"details"`
}

// PermissionDetails is droid's information for a decision. Type determines which fields are set, see PermissionToolUse. OldContent and
// NewContent are whole files.
type PermissionDetails struct {
	Type            string           `json:"type"`
	FullCommand     string           `json:"fullCommand"`
	ImpactLevel     string           `json:"impactLevel"`
	RiskLevelReason string           `json:"riskLevelReason"`
	FilePath        string           `json:"filePath"`
	OldContent      *string          `json:"oldContent"`
	NewContent      *string          `json:"newContent"`
	Content         *string          `json:"content"` // create
	PatchContent    string           `json:"patchContent"`
	Files           []PermissionFile `json:"files"` // apply_patch since 0.215
	ToolName        string           `json:"toolName"`
	ServerName      string           `json:"serverName"`
	Plan            string           `json:"plan"`        // exit_spec_mode
	Title           string           `json:"title"`       // exit_spec_mode and missions
	OptionNames     []string         `json:"optionNames"` // exit_spec_mode, until 0.215

	Reason    string `json:"reason"`            // sandbox_violation, droid_shield_violation, recommend_mission
	Command   string `json:"command"`           // droid_shield_violation; for exec, the names of its programs
	Violating string `json:"violatingToolName"` // sandbox_violation: the tool
	Target    string `json:"target"`            // sandbox_violation: a path or a host
	Operation string `json:"operationType"`     // sandbox_violation: read, write, network or tool
	OrgDeny   bool   `json:"isOrgDeny"`         // sandbox_violation: by the organisation's policy

	Proposal     string `json:"proposal"`            // propose_mission
	MissionPlan  string `json:"missionPlan"`         // exit_mission_planning
	Validation   string `json:"validationStrategy"`  // exit_mission_planning
	RunningCount int    `json:"runningMissionCount"` // start_mission_run

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes the details and keeps their raw JSON. If a field has an
// unexpected type, only Type and Raw are set, so that the request can still be shown
// and answered.
func (d *PermissionDetails) UnmarshalJSON(data []byte) error {
	type plain PermissionDetails
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		var t struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(data, &t) // unreadable details are shown raw, not refused
		p = plain{Type: t.Type}
	}
	p.Raw = append(json.RawMessage(nil), data...)
	*d = PermissionDetails(p)
	return nil
}

// PermissionFile is one file of an apply_patch (0.215 to 0.225). Operation is
// "update", "create" or "delete"; MoveTo is the new name of an updated file.
type PermissionFile struct {
	FilePath   string  `json:"filePath"`
	Operation  string  `json:"operation"`
	MoveTo     string  `json:"moveTo"`
	OldContent *string `json:"oldContent"`
	NewContent *string `json:"newContent"`
}

// PermissionOption is one answer that droid offers. Value goes back to droid.
type PermissionOption struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// Answers to a PermissionRequest. droid accepts OptionCancel, a refusal, even if it did not offer that.
const (
	OptionCancel = "cancel"
	OptionOnce   = "proceed_once"
	OptionEdit   = "proceed_edit" // see droid.Client.ApproveEditedPlan
)

// QuestionRequest is the request droid.ask_user. It must be answered once with
// droid.Client.AnswerQuestions.
type QuestionRequest struct {
	RequestID  string     `json:"-"`
	ToolCallID string     `json:"toolCallId"`
	Questions  []Question `json:"questions"`
}

// Question is one question of a QuestionRequest. Options may be empty; free
// text is always a valid answer.
type Question struct {
	Index       int      `json:"index"`
	Topic       string   `json:"topic"`
	Question    string   `json:"question"`
	Options     []string `json:"options"`
	MultiSelect bool     `json:"multiSelect"` // several options may be selected; the answer joins them with ", " (0.225)
}
