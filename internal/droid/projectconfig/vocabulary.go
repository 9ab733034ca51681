package projectconfig

import (
	"path/filepath"
	"regexp"
	"slices"
	"sync"
)

// vocabulary are the keys of settings.json in droid 0.99.0, 0.215.0 and 0.225.2, extracted from these programs: the keys of their schema,
// those that they move from elsewhere, and those of the settings of a process. Other keys have no effect in these droids.
var vocabulary = []string{
	"advancedAnalyticsConsentVersion", "advancedAnalyticsEnabled", "allowBackgroundProcesses", "allowManagedHooksOnly",
	"allowSubagentsInScripts", "apiKey", "automationQuitWarningDismissed", "autonomyLevel", "autonomyMode",
	"awaitingInputSound", "awaitingInputSoundFocusMode", "blockOnMcpLoad", "builtInToolAutonomyOverrides",
	"byomComputersAllowedEmails", "byomComputersEnabled", "chatWarningDescription", "cloudSessionSync",
	"commandAllowlist", "commandBlocklist", "commandDenylist", "commands", "compactionModel", "compactionModelMode",
	"compactionThresholdCheckEnabled", "compactionTokenLimit", "compactionTokenLimitPerModel", "completionSound",
	"completionSoundFocusMode", "customModels", "cycleTimeBoundaries", "diffMode", "disableAutoUpdate",
	"disableWeeklyUsageSummary", "disabledSkills", "dismissedNewModels", "droidShield20OptIn", "droids",
	"enableCompletionBell", "enableDroidShield", "enableOneHourAnthropicCaching", "enableWarmup", "enabledPlugins",
	"env", "extraKnownMarketplaces", "factoryRouterGuidance", "factoryRouterRules", "general",
	"hasSeenMissionOnboarding", "hideChangelog", "hooks", "ideActivationNudgedForVersion", "ideAutoConnect",
	"ideExtensionPromptedAt", "imageGenerationEnabled", "includeCoAuthoredByDroid", "interactionMode",
	"keepAwakeEnabled", "keepSystemAwakeDuringMissions", "llmRequestTimeout", "localComputersEnabled",
	"localSignalsBackfillFromDate", "localSignalsBackfillOptIn", "localSignalsOptIn", "locale", "logoAnimation",
	"managedComputersAllowedEmails", "managedComputersEnabled", "maxAutonomyLevel", "mcp", "mcpAutonomyOverrides",
	"mcpAutonomyUrlOverrides", "mcpPolicy", "missionModelSettings", "missionOrchestratorModel",
	"missionOrchestratorReasoningEffort", "missionPolicy", "model", "modelFallbacks", "modelFavorites", "modelPolicy",
	"nerdFont", "networkPolicy", "outputStyle", "outputStyles", "overrideTerminalColors", "permissionRules",
	"personaSettings", "preferredComputer", "reasoningEffort", "reauthBannerShownTui", "remoteAccessEnabled",
	"restrictApiKeyCreationToManagers", "restrictMemberVisibility", "routedModelVisibilityEnabled", "sandbox",
	"sessionDefaultSettings", "sessionRetentionDays", "showThinkingInMainView", "showTokenUsageIndicator", "skills",
	"soundFocusMode", "specModeModel", "specModeReasoningEffort", "specSaveDir", "specSaveEnabled", "statusLine",
	"streamAssistantResponses", "strictEnabledPlugins", "strictKnownMarketplaces", "subagentAutonomyLevel",
	"subagentInactivityTimeout", "subagentModelSettings", "subagentSounds", "telemetry", "terminalColorMode", "theme",
	"todoDisplayMode", "toolExecutionMode", "toolResultDisplay", "trustedFolders", "usageCapAlertsEnabled",
	"userModelPolicies", "voiceDictationEnabled", "webSearchDisabled", "wikiCloudSync", "windowZoomLevel",
	"worktreeAutoDeleteLimit", "worktreeDirectory",
}

// harmlessKeys say which values of a key run nothing, ask no less, send nothing elsewhere and delete nothing. They concern the look of the
// terminal, the cost of requests, the model, and asking more.
var harmlessKeys = map[string]func(any) bool{
	"$comment": isAny, "$schema": isText,

	"model": isText, "reasoningEffort": isText, "specModeModel": isText, "specModeReasoningEffort": isText,
	"missionOrchestratorReasoningEffort": isText, "outputStyle": isText, "modelFavorites": isTexts, "disabledSkills": isTexts,
	"compactionTokenLimit": isPlain, "compactionTokenLimitPerModel": isPlain, "compactionThresholdCheckEnabled": isPlain,
	"enableOneHourAnthropicCaching": isPlain, "llmRequestTimeout": isPlain, "subagentInactivityTimeout": isPlain, "blockOnMcpLoad": isPlain,
	"enableWarmup": isPlain, "routedModelVisibilityEnabled": isPlain, "includeCoAuthoredByDroid": isPlain,
	"specSaveEnabled": isPlain, "specSaveDir": isLocalPath,

	"mcpPolicy":       isAny, // a process has its own where it matters, see droid.Command.Excluded
	"commandDenylist": isTexts, "commandBlocklist": isTexts, "enableDroidShield": isTrue, "droidShield20OptIn": isTrue, "webSearchDisabled": isTrue,
	"cloudSessionSync": isFalse, "wikiCloudSync": isFalse, "advancedAnalyticsEnabled": isFalse, "localSignalsOptIn": isFalse,
	"remoteAccessEnabled": isFalse, "allowBackgroundProcesses": isFalse, "imageGenerationEnabled": isFalse, "voiceDictationEnabled": isFalse,

	"automationQuitWarningDismissed": isPlain, "awaitingInputSound": isWord, "awaitingInputSoundFocusMode": isText, "chatWarningDescription": isText,
	"completionSound": isWord, "completionSoundFocusMode": isText, "diffMode": isText, "dismissedNewModels": isTexts, "enableCompletionBell": isPlain,
	"hasSeenMissionOnboarding": isPlain, "hideChangelog": isPlain, "ideActivationNudgedForVersion": isPlain, "ideAutoConnect": isPlain,
	"ideExtensionPromptedAt": isPlain, "keepAwakeEnabled": isPlain, "locale": isText, "logoAnimation": isPlain, "nerdFont": isPlain,
	"overrideTerminalColors": isPlain, "reauthBannerShownTui": isPlain, "showThinkingInMainView": isPlain, "showTokenUsageIndicator": isPlain,
	"soundFocusMode": isText, "streamAssistantResponses": isPlain, "subagentSounds": isPlain, "terminalColorMode": isText, "theme": isText,
	"todoDisplayMode": isText, "toolResultDisplay": isText, "usageCapAlertsEnabled": isPlain, "windowZoomLevel": isPlain,
}

func isAny(any) bool     { return true }
func isTrue(v any) bool  { return v == true }
func isFalse(v any) bool { return v == false }
func isText(v any) bool  { _, ok := v.(string); return ok }

// isTexts reports whether a value is a list of strings.
func isTexts(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(v any) bool { return !isText(v) })
}

// isPlain reports whether a value is a string, a number or a boolean, or an object of these.
func isPlain(v any) bool {
	switch v := v.(type) {
	case string, float64, bool:
		return true
	case map[string]any:
		for _, inner := range v {
			if _, deeper := inner.(map[string]any); deeper || !isPlain(inner) {
				return false
			}
		}
		return true
	}
	return false
}

// isWord reports whether a value is a plain name, such as that of a sound, and not a path.
func isWord(v any) bool {
	word, ok := v.(string)
	return ok && soundName().MatchString(word)
}

var soundName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9-]*$`) })

// isLocalPath reports whether a value is a path inside the project.
func isLocalPath(v any) bool {
	path, ok := v.(string)
	return ok && (path == "" || filepath.IsLocal(path))
}
