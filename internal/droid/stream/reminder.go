package stream

// Reminder makes text that a hook adds to the conversation one that is for the model
// alone. droid does not say whose it is: a history that is loaded by the process that ran
// the hook has it as a message of the user's (0.99).
func Reminder(text string) string {
	return "<system-reminder>\n" + text + "\n</system-reminder>"
}
