package droid

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"
)

// Program is what a program's file shows.
type Program struct {
	Path        string   // where all symbolic links lead
	Systems     []string // what it runs on, as "linux/amd64"; none for scripts and unknown formats
	Interpreter string   // what a script names behind "#!", "" for other files
}

// Inspect reads the beginning of a program's file. It does not run it.
func Inspect(path string) (Program, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Program{Path: path}, err
	}
	p := Program{Path: resolved}
	f, _, err := files.Open(resolved)
	if err != nil {
		return p, err
	}
	defer f.Close() // it is only read
	if p.Interpreter = interpreter(f); p.Interpreter != "" {
		return p, nil
	}
	for _, read := range []func(io.ReaderAt) []string{elfSystems, fatSystems, machSystems, peSystems} {
		if p.Systems = read(f); p.Systems != nil {
			break
		}
	}
	return p, nil
}

// RunsOn reports whether the program runs on a system, as far as its file shows. macOS and Windows on arm64 run programs for amd64, too.
func (p Program) RunsOn(goos, goarch string) bool {
	if len(p.Systems) == 0 || slices.Contains(p.Systems, goos+"/"+goarch) {
		return true
	}
	return goarch == "arm64" && goos != "linux" && slices.Contains(p.Systems, goos+"/amd64")
}

func interpreter(f io.Reader) string {
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n') // a longer line names none
	named, found := bytes.CutPrefix(line, []byte("#!"))
	if !found {
		return ""
	}
	return strings.TrimSpace(string(named))
}

func elfSystems(file io.ReaderAt) []string {
	f, err := elf.NewFile(file)
	if err != nil {
		return nil
	}
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

func machSystems(file io.ReaderAt) []string {
	f, err := macho.NewFile(file)
	if err != nil {
		return nil
	}
	return []string{machSystem(f.Cpu)}
}

func fatSystems(file io.ReaderAt) (all []string) {
	f, err := macho.NewFatFile(file)
	if err != nil {
		return nil
	}
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

func peSystems(file io.ReaderAt) []string {
	f, err := pe.NewFile(file)
	if err != nil {
		return nil
	}
	switch f.Machine {
	case pe.IMAGE_FILE_MACHINE_AMD64:
		return []string{"windows/amd64"}
	case pe.IMAGE_FILE_MACHINE_ARM64:
		return []string{"windows/arm64"}
	}
	return []string{"windows/386"}
}

// releaseForm matches a version as droid writes it (0.99 to 0.225).
var releaseForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v?\d+\.\d+\.\d+[\w.+-]*$`) })

// Release runs the program to get its release version, such as "0.225.2". That takes 0.1 s (0.225) to 1.4 s (0.99). env is its environment,
// nil for the current one. When ctx ends, the program is killed.
func Release(ctx context.Context, path string, env []string) (string, error) {
	dir, err := files.MakeEmptyDir()
	if err != nil {
		return "", err
	}
	defer dir.Remove() // the next one that is created removes what is left
	var out subprocess.Tail
	c := subprocess.Command{Path: path, Args: []string{"--version"}, Dir: dir.Path, Env: Command{Env: env}.environment()}
	exit, err := subprocess.Run(ctx, c, &out, 0)
	if err != nil {
		return "", err
	}
	if exit.Code != 0 {
		return "", &ExitError{Path: path, Code: exit.Code, Signal: exit.Signal, Stderr: exit.Stderr, Err: exit.Err}
	}
	lines, _ := out.Lines()
	for _, line := range lines {
		if releaseForm().MatchString(strings.TrimSpace(line)) {
			return strings.TrimPrefix(strings.TrimSpace(line), "v"), nil
		}
	}
	return "", errors.New("it told no version when it was asked for --version")
}
