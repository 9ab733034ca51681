package adapter

// usageCommand shows the tokens that the session used.
func usageCommand(r *commandRun, _ string) { r.reply(r.s.usage.Table()) }
