package subprocess

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"droid-acp/internal/sys/files"
)

// resolveBatchFile resolves a batch file as npm installs it on Windows to the program that it would start. cmd.exe, which runs batch files,
// parses the arguments again by other rules: "&" in a directory name ends the command, and "%" expands.
func resolveBatchFile(path string, args []string) (string, []string, error) {
	if ext := strings.ToLower(filepath.Ext(path)); runtime.GOOS != "windows" || ext != ".cmd" && ext != ".bat" {
		return path, args, nil
	}
	text, _ := callBounded(path, func(path string) ([]byte, error) { return files.Read(path, 64<<10) }) // if unreadable, it is run as it is
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	program, script := resolveShim(string(text), dir)
	switch {
	case program == "" && script == "":
		return path, args, checkBatchArgs(append([]string{path}, args...))
	case script == "":
		return program, args, nil
	}
	if _, err := callBounded(program, os.Stat); err != nil {
		if program, err = LookPath("node"); err != nil {
			return "", nil, fmt.Errorf("%s needs Node: %w", path, err)
		}
	}
	return program, append([]string{script}, args...), nil
}

// shimTarget matches the last line of a batch file by npm 6 to 11; "%_prog%" precedes a script: "%dp0%
// ode_modules\droid\bin\droid" %*
var shimTarget = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)("%_prog%"\s+)?"%(?:~dp0|dp0%)\\?([^"%\r\n]+)"\s+%\*\s*$`)
})

// resolveShim returns what npm's batch file in dir starts: a program, or a script and the Node to run it with (in the directory of the
// file; the caller falls back to the one in the PATH). Both are "" for any other batch file.
func resolveShim(text, dir string) (program, script string) {
	found := shimTarget().FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return "", ""
	}
	last := found[len(found)-1]
	target := dir + `\` + last[2]
	if last[1] == "" {
		if strings.EqualFold(filepath.Ext(target), ".exe") {
			return target, ""
		}
		return "", ""
	}
	return dir + `\node.exe`, target
}

// checkBatchArgs returns an error if cmd.exe would not pass all words unchanged.
func checkBatchArgs(words []string) error {
	for _, w := range words {
		if strings.ContainsAny(w, "&|<>^%!\"\r\n\x00") {
			return fmt.Errorf("%s is a batch file, by which %q cannot be passed as it is; name the program itself", words[0], w)
		}
	}
	return nil
}
