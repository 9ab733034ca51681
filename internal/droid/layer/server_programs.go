package layer

import "encoding/json"

// ServerPrograms are the programs of the MCP servers that a project and the user name in their files, by the servers' names. A
// server is not among them that runs no program, looks for it in a PATH of its own, or is named twice.
func ServerPrograms(cwd, home string) map[string]string {
	programs, twice := make(map[string]string), make(map[string]bool)
	add := func(name string, raw []byte) {
		var server struct {
			Command string            `json:"command"`
			Env     map[string]string `json:"env"`
		}
		if _, there := programs[name]; there {
			twice[name] = true
		}
		if json.Unmarshal(raw, &server) == nil && server.Command != "" && server.Env["PATH"] == "" {
			programs[name] = server.Command
		}
	}
	for _, i := range Project(cwd, home).Of(MCPServer) {
		add(i.Name, []byte(i.whole))
	}
	user, _ := ReadUser(home) // what cannot be read has no names
	for name, raw := range user.Servers {
		add(name, raw)
	}
	for name := range twice {
		delete(programs, name)
	}
	return programs
}
