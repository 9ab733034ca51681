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
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Versions of droid that the tests run.
const (
	oldestDroid = "0.99.0"
	latestDroid = "0.225.2"
)

// npmClients are the ACP clients that the tests take from npm, and their runtime. The fourth client, on the Go SDK, is built with the
// version in go.mod.
var npmClients = []struct{ name, version string }{
	{"acpx", "0.19.1"},
	{"@agentclientprotocol/sdk", "2.4.0"},
	{"acp-factory", "0.1.14"},
	{"zod", "4.6.7"},           // the SDK's
	{nodePackage(), "22.23.3"}, // acpx wants ≥ 22.13
}

// nodePackage returns the package that "node" would download.
func nodePackage() string { return "node-linux-" + npmArch() }

// oldDroid and newDroid are the droids that the tests run, before and since 0.215.
// $DROID_ACP_E2E_DROIDS may name two others, as "0.99.0 0.215.0".
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

// prepare builds the agent and fetches the programs that it needs. It needs the network for what is not cached yet.
func prepare() (p prepared, cleanUp func(), err error) {
	cache, err := cacheDir()
	if err != nil {
		return p, nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return p, nil, err
	}
	p.Droids = make(map[string]string)
	if version := os.Getenv(wireEnv); version != "" {
		p.Droids[version], err = fetchDroid(cache, version)
		return p, func() {}, err
	}
	for _, version := range []string{oldDroid, newDroid} {
		if p.Droids[version], err = fetchDroid(cache, version); err != nil {
			return p, nil, err
		}
	}
	modules, err := fetchClients(cache)
	if err != nil {
		return p, nil, err
	}
	dir, err := os.MkdirTemp("", "droid-acp-e2e-")
	if err != nil {
		return p, nil, err
	}
	p.Node = filepath.Join(modules, nodePackage(), "bin", "node")
	p.ACPX = filepath.Join(modules, "acpx", "dist", "cli.js")
	p.Agent = filepath.Join(dir, "droid-acp")
	p.GoSDK = filepath.Join(dir, "gosdk")
	p.Clients = filepath.Join(dir, "clients")
	return p, func() { _ = os.RemoveAll(dir) }, errors.Join(
		command("..", "make", "build", "BIN="+p.Agent),
		command("..", "go", "build", "-o", p.GoSDK, "./e2e/testdata/clients/gosdk"),
		os.CopyFS(p.Clients, os.DirFS(filepath.Join("testdata", "clients"))),
		os.Symlink(modules, filepath.Join(p.Clients, "node_modules")), // where the scripts look for what they import
	)
}

// npmArch returns npm's name of this machine's architecture.
func npmArch() string {
	if runtime.GOARCH == "amd64" {
		return "x64"
	}
	return runtime.GOARCH
}

// fetchDroid fetches one version of droid. The launcher packages on npm do not have all versions; the binaries themselves are packages.
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

// fetchClients fetches the clients from npm, and returns the directory of their modules.
func fetchClients(cache string) (modules string, err error) {
	var packages, names []string
	for _, c := range npmClients {
		packages = append(packages, c.name+"@"+c.version)
		names = append(names, path.Base(c.name)+"-"+c.version)
	}
	dir := filepath.Join(cache, strings.Join(names, "-"))
	modules = filepath.Join(dir, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	return modules, install(dir, func(tmp string) error {
		args := []string{"install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", tmp}
		return command(tmp, "npm", append(args, packages...)...)
	})
}

// install creates dir with fill, completely or not at all.
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

// command runs a program and shows its output only if it fails.
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
