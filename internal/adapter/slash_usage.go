package adapter

// usageCommand shows the tokens that the session used.
func usageCommand(r *slashRun, _ string) { r.reply(r.s.usage.Table()) }
