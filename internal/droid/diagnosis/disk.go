package diagnosis

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"droid-acp/internal/droid"
)

// FileRemedy says what to do if a file or directory of the user cannot be read or written, "" if unknown.
func FileRemedy(path string, err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "Make room on the disk, or have your quota raised."
	case errors.Is(err, syscall.EMFILE):
		return "Close sessions, or allow more open files (`ulimit -n 1024`) where the editor is started, and restart it."
	case errors.Is(err, syscall.ENFILE):
		return "End programs that you do not need: they have as many files open as this system allows."
	case errors.Is(err, syscall.EROFS):
		return "Have its file system mounted so that it can be written, or set HOME to a directory elsewhere."
	case errors.Is(err, syscall.ENOTDIR):
		return "Move the file away; a directory has to be in its place."
	case !errors.Is(err, fs.ErrPermission):
		return ""
	case runtime.GOOS == "windows":
		return "Give yourself full control of it, in its properties."
	}
	deep := ""
	if i := strings.LastIndex(path, "/.factory/"); i >= 0 { // if one file belongs to another user, others do: a `sudo droid` leaves many files
		path = path[:i+len("/.factory")]
	}
	if strings.Contains(path, "/.") {
		deep = "-R "
	}
	return "Make it yours again: `sudo chown " + deep + `"$(id -u)" ` + quoteWord(path) + " && chmod " + deep + "u+rwX " + quoteWord(path) + "`."
}

// refusal matches droid's error about a file, for example "EACCES: permission denied, open '/home/me/.factory/x'" (0.99 to 0.225).
var refusal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(EACCES|EPERM|EMFILE|ENFILE|ENOSPC|EDQUOT|EROFS|ENOTDIR): [^,]*, \w+(?: '([^']*)')?`)
})

var codes = map[string]error{
	"EACCES": syscall.EACCES, "EPERM": syscall.EPERM, "EMFILE": syscall.EMFILE, "ENFILE": syscall.ENFILE, "ENOSPC": syscall.ENOSPC, "EDQUOT": syscall.EDQUOT, "EROFS": syscall.EROFS, "ENOTDIR": syscall.ENOTDIR,
}

// Refusal returns droid's text of a refusal, with a remedy if a file caused it.
func Refusal(said string) string {
	said = strings.TrimSuffix(said, ".")
	if remedy := remedyInText(said); remedy != "" {
		return said + ". " + remedy
	}
	return said
}

// Ended says how droid ended, with a remedy if a file caused it.
func Ended(err *droid.ExitError) string {
	text := Sentence(err)
	if remedy := remedyInText(text); remedy != "" {
		text += " " + remedy
	}
	return text
}

// remedyInText returns the remedy for the file in a text of droid, "" if there is none.
func remedyInText(said string) string {
	m := refusal().FindStringSubmatch(said)
	if m == nil {
		return ""
	}
	return FileRemedy(filepath.Clean(m[2]), codes[m[1]])
}
