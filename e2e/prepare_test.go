//go:build e2e && linux

package e2e

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Versions of what the tests take from npm.
const (
	oldestDroid = "0.99.0"
	latestDroid = "0.225.2"
	acpxVersion = "0.19.1"
	nodeVersion = "22.23.3" // acpx wants ≥ 22.13
)

// oldDroid and newDroid are the droids that the tests run, before and since 0.215.
// $DROID_ACP_E2E_DROIDS may name two others, as "0.117.0 0.215.0".
var oldDroid, newDroid = droidVersions(os.Getenv("DROID_ACP_E2E_DROIDS"))

func droidVersions(chosen string) (before, since string) {
	if two := strings.Fields(chosen); len(two) == 2 {
		return two[0], two[1]
	}
	return oldestDroid, latestDroid
}

// cacheDir keeps downloads between runs.
func cacheDir() (string, error) {
	if dir := os.Getenv("DROID_ACP_E2E_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a cache directory (set DROID_ACP_E2E_CACHE): %w", err)
	}
	return filepath.Join(dir, "droid-acp", "e2e"), nil
}

// prepare builds the agent and brings the programs that it needs. It needs the
// network for what is not cached yet.
func prepare() (p prepared, cleanUp func(), err error) {
	cache, err := cacheDir()
	if err != nil {
		return p, nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return p, nil, err
	}
	p.Droids = make(map[string]string)
	for _, version := range []string{oldDroid, newDroid} {
		if p.Droids[version], err = fetchDroid(cache, version); err != nil {
			return p, nil, err
		}
	}
	if err := fetchACPX(cache, &p); err != nil {
		return p, nil, err
	}
	dir, err := os.MkdirTemp("", "droid-acp-e2e-")
	if err != nil {
		return p, nil, err
	}
	p.Agent = filepath.Join(dir, "droid-acp")
	if err := command("..", "go", "build", "-o", p.Agent, "./cmd/droid-acp"); err != nil {
		return p, nil, err
	}
	return p, func() { _ = os.RemoveAll(dir) }, nil
}

// npmArch is npm's word for this machine.
func npmArch() string {
	if runtime.GOARCH == "amd64" {
		return "x64"
	}
	return runtime.GOARCH
}

// fetchDroid brings one version of droid. The launcher packages on npm do not
// have all versions; the binaries themselves are packages.
func fetchDroid(cache, version string) (string, error) {
	dir := filepath.Join(cache, "droid-"+version)
	bin := filepath.Join(dir, "package", "bin", "droid")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	return bin, install(dir, func(tmp string) error {
		name := "@factory/cli-linux-" + npmArch() + "@" + version
		if err := command(tmp, "npm", "pack", "--silent", name); err != nil {
			return err
		}
		packs, err := filepath.Glob(filepath.Join(tmp, "*.tgz"))
		if err != nil || len(packs) != 1 {
			return fmt.Errorf("npm pack %s left %d files", name, len(packs))
		}
		if err := extract(packs[0], "package/bin/droid", filepath.Join(tmp, "package", "bin", "droid")); err != nil {
			return err
		}
		return os.Remove(packs[0])
	})
}

// fetchACPX brings acpx and the node that it wants.
func fetchACPX(cache string, p *prepared) error {
	dir := filepath.Join(cache, "acpx-"+acpxVersion+"-node-"+nodeVersion)
	modules := filepath.Join(dir, "node_modules")
	node := "node-linux-" + npmArch() // what the package "node" would download
	p.Node = filepath.Join(modules, node, "bin", "node")
	p.ACPX = filepath.Join(modules, "acpx", "dist", "cli.js")
	if _, err := os.Stat(p.ACPX); err == nil {
		return nil
	}
	return install(dir, func(tmp string) error {
		return command(tmp, "npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", tmp,
			"acpx@"+acpxVersion, node+"@"+nodeVersion)
	})
}

// install makes dir by fill, all of it or nothing.
func install(dir string, fill func(tmp string) error) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := fill(tmp); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// command runs a program and shows what it said only when it fails.
func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// extract writes one file of a .tgz as an executable.
func extract(pack, name, to string) error {
	f, err := os.Open(pack)
	if err != nil {
		return err
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	tr := tar.NewReader(zr)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s is not in %s", name, pack)
		}
		if err != nil {
			return err
		}
		if h.Name == name {
			return writeExecutable(to, tr)
		}
	}
}

func writeExecutable(path string, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
