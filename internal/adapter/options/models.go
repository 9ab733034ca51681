package options

import "droid-acp/internal/acp/protocol"

// SessionModels returns the models for session/new, load, resume and fork, for clients that know no config options. They are the values of
// the option Model. They are nil if droid does not report its model.
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
