package droid

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

// addModels adds models to settings. New sessions start with the first one unless their own settings name another.
func addModels(settings map[string]any, models []CustomModel) {
	if len(models) > 0 {
		settings["customModels"] = models
		setSessionDefaults(settings, map[string]string{"model": models[0].ID})
	}
}

// ModelsTakeSettings returns why a process cannot get models in addition to the user's: an *ExcludeError, nil if it can.
func ModelsTakeSettings(env []string) error {
	if givesSettings(env) {
		return checkSettingsFree(env)
	}
	return nil
}
