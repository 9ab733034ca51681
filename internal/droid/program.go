package droid

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"droid-acp/internal/child"
)

// Program is what the file of a program tells of itself.
type Program struct {
	Path        string   // where all symbolic links lead
	Systems     []string // what it runs on, as "linux/amd64"; none for scripts and unknown formats
	Interpreter string   // what a script names behind "#!", "" for other files
}

// Inspect reads the beginning of a program's file. It starts nothing.
func Inspect(path string) (Program, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Program{Path: path}, err
	}
	p := Program{Path: resolved}
	info, err := os.Stat(resolved)
	if err != nil {
		return p, err
	}
	if !info.Mode().IsRegular() {
		return p, fmt.Errorf("%s is no regular file", resolved)
	}
	if p.Interpreter, err = interpreter(resolved); err != nil || p.Interpreter != "" {
		return p, err
	}
	for _, read := range []func(string) []string{elfSystems, fatSystems, machSystems, peSystems} {
		if p.Systems = read(resolved); p.Systems != nil {
			break
		}
	}
	return p, nil
}

// RunsOn reports whether the program runs on a system, as far as its file tells. macOS
// and Windows on arm64 run programs for amd64, too.
func (p Program) RunsOn(goos, goarch string) bool {
	if len(p.Systems) == 0 || slices.Contains(p.Systems, goos+"/"+goarch) {
		return true
	}
	return goarch == "arm64" && goos != "linux" && slices.Contains(p.Systems, goos+"/amd64")
}

func interpreter(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()                                        // it is only read
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n') // a longer line names none
	named, found := bytes.CutPrefix(line, []byte("#!"))
	if !found {
		return "", nil
	}
	return strings.TrimSpace(string(named)), nil
}

func elfSystems(path string) []string {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() // it is only read
	system := "linux"
	if f.OSABI == elf.ELFOSABI_FREEBSD {
		system = "freebsd"
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return []string{system + "/amd64"}
	case elf.EM_AARCH64:
		return []string{system + "/arm64"}
	case elf.EM_386:
		return []string{system + "/386"}
	case elf.EM_ARM:
		return []string{system + "/arm"}
	}
	return []string{system + "/" + f.Machine.String()}
}

func machSystems(path string) []string {
	f, err := macho.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() // it is only read
	return []string{machSystem(f.Cpu)}
}

func fatSystems(path string) (all []string) {
	f, err := macho.OpenFat(path)
	if err != nil {
		return nil
	}
	defer f.Close() // it is only read
	for _, arch := range f.Arches {
		all = append(all, machSystem(arch.Cpu))
	}
	return all
}

func machSystem(cpu macho.Cpu) string {
	switch cpu {
	case macho.CpuAmd64:
		return "darwin/amd64"
	case macho.CpuArm64:
		return "darwin/arm64"
	}
	return "darwin/" + cpu.String()
}

func peSystems(path string) []string {
	f, err := pe.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() // it is only read
	switch f.Machine {
	case pe.IMAGE_FILE_MACHINE_AMD64:
		return []string{"windows/amd64"}
	case pe.IMAGE_FILE_MACHINE_ARM64:
		return []string{"windows/arm64"}
	}
	return []string{"windows/386"}
}

// release is how droid writes its version (0.99 to 0.225).
var releaseForm = regexp.MustCompile(`^v?\d+\.\d+\.\d+[\w.+-]*$`)

// Release asks the program for the version of its release, such as "0.225.2": 0.1 s
// (0.225) to 1.4 s (0.99). Nothing of it is left when ctx ends.
func Release(ctx context.Context, path string) (string, error) {
	var out child.Tail
	c := child.Command{Path: path, Args: []string{"--version"}, Env: Command{}.environment()}
	if info, err := os.Stat(os.TempDir()); runtime.GOOS != "windows" && err == nil && info.IsDir() {
		c.Dir = os.TempDir() // it makes no difference, and is no project
	}
	exit, err := child.Run(ctx, c, &out, 0)
	if err != nil {
		return "", err
	}
	if exit.Code != 0 {
		return "", &ExitError{Code: exit.Code, Signal: exit.Signal, Stderr: exit.Stderr, Err: exit.Err}
	}
	lines, _ := out.Last()
	for _, line := range lines {
		if releaseForm.MatchString(strings.TrimSpace(line)) {
			return strings.TrimPrefix(strings.TrimSpace(line), "v"), nil
		}
	}
	return "", errors.New("it told no version when it was asked for --version")
}
