package droid

import "droid-acp/internal/droid/projectconfig"

// CustomModel is a model in addition to the user's own, as in customModels of droid's settings (0.99 to 0.225). It may hold keys.
type CustomModel struct {
	ID           string            `json:"id"` // kept as it is; without it droid makes one of the display name
	Model        string            `json:"model"`
	DisplayName  string            `json:"displayName"`
	BaseURL      string            `json:"baseUrl"`
	Provider     string            `json:"provider"`
	APIKey       string            `json:"apiKey"`
	ExtraHeaders map[string]string `json:"extraHeaders,omitempty"`
}

// addModels adds models to settings. New sessions start with the first one, whatever the user's files and the project's name, and so does
// their spec mode where one of them names a model for that: a prompt must not go to another provider because of a file.
func addModels(settings map[string]any, models []CustomModel, home string, project *projectconfig.Layer) {
	if len(models) == 0 {
		return
	}
	settings["customModels"] = models
	defaults := map[string]string{"model": models[0].ID}
	user, err := projectconfig.ReadUser(home)
	if err != nil || user.Models["specModeModel"] != "" || project != nil && project.Models["specModeModel"] != "" {
		defaults["specModeModel"] = models[0].ID
	}
	setSessionDefaults(settings, defaults)
}

// ModelsTakeSettings returns why a process cannot get models in addition to the user's: an *ExcludeError, nil if it can.
func ModelsTakeSettings(env []string) error {
	if givesSettings(env) {
		return checkSettingsFree(env)
	}
	return nil
}
