// Package wsl translates paths between Windows and a Linux in it (WSL): an editor on Windows may run an agent in WSL, or the reverse.
// adapter calls LocalPath for the directory of each new session.
package wsl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"droid-acp/internal/sys/subprocess"
)

// program translates paths in WSL.
const program = "wslpath"

// limit bounds the run of program, which calls Windows.
const limit = 3 * time.Second

// LocalPath returns this system's path of a directory. Most paths are returned unchanged; a Windows path is translated by wslpath in WSL. The
// error is the rest of a sentence whose subject is the path, and says what to do instead.
func LocalPath(ctx context.Context, path string) (string, error) {
	switch {
	case filepath.IsAbs(path):
		return path, nil
	case runtime.GOOS == "windows" && strings.HasPrefix(path, "/"):
		return "", errors.New(`is a path of Linux, and this agent runs on Windows. Run droid-acp in WSL, where the project is, or open the project by its path on Windows, like C:\project or \\wsl.localhost\Ubuntu\home\me\project`)
	case runtime.GOOS != "windows" && isWindows(path):
		return translate(ctx, path)
	}
	return path, nil
}

// isWindows reports whether a path is an absolute Windows path: C:\x, C:/x, \\host\x.
func isWindows(path string) bool {
	drive := len(path) >= 3 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') && ('a' <= path[0]|0x20 && path[0]|0x20 <= 'z')
	return drive || strings.HasPrefix(path, `\\`)
}

// translate runs wslpath, without a shell.
func translate(ctx context.Context, path string) (string, error) {
	found, err := subprocess.LookPath(program)
	if err != nil {
		return "", errors.New("is a path of Windows, and this agent runs on " + runtime.GOOS + ". Run droid-acp on Windows, where the project is, or open the project by its path here")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer within %v", limit))
	defer cancel()
	here, err := run(ctx, found, path)
	if err == nil && (!filepath.IsAbs(here) || strings.ContainsAny(here, "\n\x00")) {
		err = errors.New("it gave no path")
	}
	if err != nil {
		return "", fmt.Errorf("is a path of Windows, which %s did not translate: %w. Open the project by its path in WSL, like /mnt/c/project", program, err)
	}
	return here, nil
}

// run returns the output of wslpath. The process is gone when ctx ends.
func run(ctx context.Context, name, path string) (string, error) {
	var out bytes.Buffer
	exit, err := subprocess.Run(ctx, subprocess.Command{Path: name, Args: []string{"-u", path}}, &out, 0)
	switch {
	case err != nil:
		return "", err
	case exit.Code != 0 && len(exit.Stderr) > 0:
		return "", errors.New(strings.TrimSuffix(exit.Stderr[0], "."))
	case exit.Code != 0:
		return "", errors.New(exit.Text)
	}
	return strings.TrimRight(out.String(), "\r\n"), nil
}
