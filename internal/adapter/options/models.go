package options

import "droid-acp/internal/acp/protocol"

// SessionModels are the models for session/new, load, resume and fork, as clients read
// them that know no config options. They are the values of the option Model, and so in
// step with it. They are nil when droid does not tell its model.
func (o *State) SessionModels() *protocol.SessionModels {
	option := o.Option(Model)
	if option == nil {
		return nil
	}
	models := &protocol.SessionModels{CurrentModelID: option.CurrentValue}
	for _, v := range option.Options {
		models.AvailableModels = append(models.AvailableModels, protocol.SessionModel{ModelID: v.Value, Name: v.Name, Description: v.Description})
	}
	return models
}

// NeedsLogin reports whether the model is known as one that needs a login.
func (o *State) NeedsLogin() bool {
	m := o.model(o.settings.ModelID)
	return m != nil && !m.IsCustom
}
