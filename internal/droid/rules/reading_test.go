package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The keys that droid 0.225.2 keeps of commands, as its own check shows them.
func TestKey(t *testing.T) {
	for command, key := range map[string]string{
		"touch zz1": "touch", "FOO=1 BAR=x touch a": "touch", "npm run test": "npm run", "npm": "", "npm test": "npm test", "git push origin x": "git push",
		"git -C a push": "", "gh pr list a": "gh pr list", "gh pr": "", "cargo test --all": "cargo", "docker compose up": "docker", "bun run x": "bun run",
		"rm -rf build": "", "": "", "A=1": "", "--x": "",
	} {
		require.Equal(t, key, Key(command), command)
	}
}

// A command is read part by part, as a shell does; what only a shell understands is not.
func TestReading(t *testing.T) {
	all := []Rule{{Kind: Allowed, Text: "touch zz1"}, {Kind: Allowed, Text: "make"}, {Kind: Denied, Text: "curl"}, {Kind: Blocked, Text: "dd x"}, {Kind: MCP, Text: "mv"}}
	for command, want := range map[string]string{
		"touch a": "lets", "make; touch a": "lets", "cd /x && make": "lets", "make && touch a || make | touch b & make\ntouch c": "lets", "X=1 touch a > /any/file 2>&1": "lets", "touch 'a; mv'": "lets", `touch "a|b" \; c`: "lets",
		"touch a; mv a b": "open", "mv a": "open", "cd /x": "open", "cd /x && mv a": "open", "touch-this": "open", "": "open",
		"touch $(make)": "unread", "touch `make`": "unread", `touch "$(make)"`: "unread", "(make)": "unread", "touch <(make)": "unread", "make <<E\nE": "unread", "touch 'a": "unread", "touch ${x}": "unread",
		"touch '$(make)'": "lets",
		"make | curl x":   "asks", "curl": "asks", "touch $(make); curl x": "asks",
		"curl | dd": "blocks",
	} {
		v := Reading(all, command)
		got := "open"
		switch {
		case len(v.Matches) > 0 && v.Matches[0].Kind == Blocked:
			got = "blocks"
		case len(v.Matches) > 0 && v.Matches[0].Kind == Denied:
			got = "asks"
		case v.Allows():
			got = "lets"
		case v.Unread:
			got = "unread"
		}
		require.Equal(t, want, got, command)
	}
}
