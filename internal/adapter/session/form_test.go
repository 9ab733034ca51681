package session_test

const formClient = `{"elicitation":{"form":{}}}`

func methods(e *editor) []string {
	var out []string
	for _, m := range e.received() {
		out = append(out, m.Method)
	}
	return out
}
