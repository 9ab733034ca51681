// Package diagnosis explains to users what prevents them from working with droid, and what to do about it. Its main type is Problem. The
// editor's errors (acperr), the commands doctor and login, and the exit codes of smoke all use it, so that users read the same words
// everywhere.
package diagnosis

import (
	"strings"

	"droid-acp/internal/jsonrpc"
)

// Kind is a stable identifier of a problem. The data of an ACP error with the code −32603 has it.
type Kind string

// Kinds of problems. Those that begin with "model_" are droid's own reasons for a failed turn (0.225), determined by the message for a
// droid that gives none.
const (
	NotFound      Kind = "droid_not_found"    // there is no droid program
	StartFailed   Kind = "droid_start_failed" // the system could not start it
	Exited        Kind = "droid_exited"       // it ended during its start or while opening a session
	Crashed       Kind = "droid_crashed"      // it ended later
	KeepsCrashing Kind = "droid_keeps_crashing"
	Refused       Kind = "droid_refused" // it refused what it was asked for
	Failed        Kind = "droid_failed"  // it failed for another reason
	NotLoggedIn   Kind = "not_logged_in" // ACP has the code −32000 for it

	ModelAuthentication Kind = "model_authentication_failed"
	ModelExhausted      Kind = "model_usage_exhausted"
	ModelRateLimited    Kind = "model_rate_limited"
	ModelUnreachable    Kind = "model_provider_unreachable"
	ModelUnavailable    Kind = "model_provider_unavailable"
	ModelRejected       Kind = "model_request_rejected"
	ProcessExit         Kind = "process_exit" // droid was ended during a turn
	TurnFailed          Kind = "error"        // the call of the model failed, without a known reason

	PromptRejected Kind = "prompt_rejected"               // droid did not start with the prompt
	NotPersisted   Kind = "completion_persistence_failed" // droid could not store the turn
	NoApprover     Kind = "no_approver_available"         // droid could not ask anybody for a permission
	BadSchema      Kind = "structured_output_schema_invalid"
	NotInForm      Kind = "structured_output_invalid" // the model's answer does not match the schema
	NoOutput       Kind = "structured_output_missing"
)

// CodeNotLoggedIn is ACP's "Authentication required".
const CodeNotLoggedIn = -32000

// Group says how far a user got. The exit codes of smoke distinguish the groups.
type Group string

// Groups of problems.
const (
	NotInstalled Group = "not installed" // droid is missing, or not a program for this system
	NotStarted   Group = "not started"
	LoggedOut    Group = "not logged in"
	ModelFailed  Group = "model failed"
	OtherFailure Group = "failed" // everything else, such as a crash during a turn
)

// GroupOf returns the group of an ACP error from its code and the kind in its data.
func GroupOf(code int, kind string) Group {
	if code == CodeNotLoggedIn {
		return LoggedOut
	}
	if code != jsonrpc.CodeInternalError {
		return OtherFailure
	}
	return Kind(kind).Group()
}

// Group returns the group of a kind; OtherFailure for an unknown kind.
func (k Kind) Group() Group {
	switch {
	case k == NotFound:
		return NotInstalled
	case k == StartFailed || k == Exited:
		return NotStarted
	case k == NotLoggedIn:
		return LoggedOut
	case k == "model_refused" || k == "model_ignored": // a setting that droid did not change
		return OtherFailure
	case k == TurnFailed || strings.HasPrefix(string(k), "model_"): // a newer droid may have further reasons
		return ModelFailed
	}
	return OtherFailure
}

// Problem is something that is wrong.
type Problem struct {
	Kind   Kind
	Cause  string // in whole sentences
	Remedy string // in whole sentences; "" if there is none
}

// Error returns cause and remedy.
func (t *Problem) Error() string {
	if t.Remedy == "" {
		return t.Cause
	}
	return t.Cause + " " + t.Remedy
}

// DoctorHint ends an error in an editor if the doctor finds out more.
func DoctorHint() string { return Command("doctor") + " in a terminal tells more." }

// LoginRequired returns the problem that droid is not logged in.
func LoginRequired() *Problem {
	return &Problem{NotLoggedIn, "droid is not logged in.", LoginRemedy() + " A custom model in ~/.factory/settings.json needs no login."}
}

// LoginRemedy says how to log in, by the one method that works with every editor.
func LoginRemedy() string { return "Run " + Command("login") + " in a terminal." }

// LoginMethods lists all methods. inEditor says that the user's editor is known to offer a login.
func LoginMethods(inEditor bool) string {
	editors := ""
	if inEditor {
		editors = "- Or use the login that your editor offers for this agent.\n"
	}
	return "To log in to Factory:\n\n- " + LoginRemedy() + "\n" + editors + "- Or set FACTORY_API_KEY where the editor starts this agent, and start the agent again.\n\nA custom model in ~/.factory/settings.json needs no login."
}

// TooLargeRemedy is for a request that the model's server rejected as too large (413). droid then compacts the conversation by itself, and
// tries once more (0.99 and 0.225, observed), so the same prompt would fail again.
const TooLargeRemedy = "The request is too large for the model's server, and droid could not make it small enough by compacting the conversation. " +
	"Send a shorter prompt with fewer or smaller files and images, type /compact, or choose a model that takes more."

// TooLongRemedy is for an error of the provider about the length of the conversation.
const TooLongRemedy = "The conversation may have grown too long for the model: type /compact, start a new session, or choose a model with a larger context window."

// CustomModelRemedy is for a custom model whose provider rejects each request.
const CustomModelRemedy = "If this persists, check `provider`, `baseUrl` and `model` of this model under customModels in ~/.factory/settings.json."

// ModelRemedy says what to do when a turn failed for this reason, "" for an unknown one.
func ModelRemedy(reason string) string { return modelRemedies[Kind(reason)] }

const notInForm = "The model did not answer in the form of the JSON schema, though droid asks it up to three times. " +
	"Say in the prompt what the answer must have, make the schema simpler, or choose another model."

var modelRemedies = map[Kind]string{
	ModelAuthentication: "Check the API key of this model: `apiKey` under customModels in ~/.factory/settings.json, or your Factory login.",
	ModelExhausted:      "The quota or the credits of this model are used up. Add credits or choose another model.",
	ModelRateLimited:    "The provider limits requests at the moment. Wait a little and send the prompt again, or choose another model.",
	ModelUnreachable:    "The model's server cannot be reached. Check the network and the model's baseUrl, then send the prompt again.",
	ModelUnavailable:    "The model's server does not answer properly. Send the prompt again later, or choose another model.",
	ModelRejected:       "The provider rejected the request.",
	ProcessExit:         "droid was ended while it worked. Send the prompt again; droid is started anew if need be.",
	PromptRejected:      "droid did not begin with this prompt. If a hook of yours for UserPromptSubmit refuses it, look at that; else send the prompt again.",
	NotPersisted:        "droid could not write this turn into its session file: it may have done only part of the work, and a later load may lack it. Make room on the disk and see that ~/.factory can be written to.",
	NoApprover:          "droid wanted to ask for a permission and took nobody to be there. Load the session again and send the prompt again, or open a new session.",
	BadSchema:           "The JSON schema that the answer was to follow is none that droid takes; the model was not asked.",
	NotInForm:           notInForm,
	NoOutput:            notInForm,
	TurnFailed:          "Send the prompt again. If this persists, choose another model and check the model's settings.",
}
