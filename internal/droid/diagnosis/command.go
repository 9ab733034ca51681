package diagnosis

import (
	"os"
	"runtime"
	"strings"
	"sync"

	"droid-acp/internal/sys/subprocess"
	"droid-acp/internal/text/paths"
)

// Program returns this program as a word of a command that can be typed anywhere: its name if it is in the PATH, otherwise its path.
var Program = sync.OnceValue(program)

func program() string {
	self, err := os.Executable()
	if err != nil {
		return "droid-acp"
	}
	if found, err := subprocess.LookPath("droid-acp"); err == nil {
		a, errA := os.Stat(found)
		b, errB := os.Stat(self)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return "droid-acp"
		}
	}
	return quoteWord(self)
}

// Command formats a command of this program as it can be typed, in the quotes that mark commands in texts for people.
func Command(words ...string) string {
	line := Program()
	for _, w := range words {
		line += " " + quoteWord(w)
	}
	return "`" + line + "`"
}

// quoteWord quotes a text as one word of the shell: a POSIX shell, or cmd.exe.
func quoteWord(text string) string {
	switch {
	case runtime.GOOS != "windows":
		return paths.ShellQuote(text)
	case text == "" || strings.ContainsAny(text, " &^()"):
		return `"` + text + `"`
	}
	return text
}
