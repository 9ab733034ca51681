package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests of this file look at what `make release` has made: `make release-check`.
var distFlag = flag.String("dist", "", "the directory that make release filled")

// dist is a finished release.
type dist struct {
	dir     string
	version string
}

func openDist(t *testing.T) dist {
	t.Helper()
	if *distFlag == "" {
		t.Skip("looks at a finished release: make release release-check")
	}
	dir, err := filepath.Abs(*distFlag)
	require.NoError(t, err)
	found, err := filepath.Glob(filepath.Join(dir, "droid-acp_*_sbom.cdx.json"))
	require.NoError(t, err)
	require.Len(t, found, 1, "make release first")
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "droid-acp_"), "_sbom.cdx.json")
	return dist{dir, version}
}

// file is the path of a file whose name says the version.
func (d dist) file(rest string) string {
	return filepath.Join(d.dir, "droid-acp_"+d.version+"_"+rest)
}

func (d dist) read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// unpack are the files of a .tar.gz or a .zip.
func unpack(t *testing.T, path string) map[string]packed {
	t.Helper()
	files := make(map[string]packed)
	if strings.HasSuffix(path, ".zip") {
		archive, err := zip.OpenReader(path)
		require.NoError(t, err)
		defer archive.Close()
		for _, f := range archive.File {
			r, err := f.Open()
			require.NoError(t, err)
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			files[f.Name] = packed{f.Name, int64(f.Mode().Perm()), data}
		}
		return files
	}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	zr, err := gzip.NewReader(f)
	require.NoError(t, err)
	for tr := tar.NewReader(zr); ; {
		header, err := tr.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		data, err := io.ReadAll(tr)
		require.NoError(t, err)
		files[header.Name] = packed{header.Name, header.Mode, data}
	}
}

// unpackTo writes the files of an archive below a directory.
func unpackTo(t *testing.T, path, dir string) {
	t.Helper()
	for _, f := range unpack(t, path) {
		at := filepath.Join(dir, filepath.FromSlash(f.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, writeFile(at, f.Data, os.FileMode(f.Mode)))
	}
}

// bare runs a command with an empty HOME and nothing else in its environment but PATH.
func bare(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	return cmd
}

func succeed(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v\n%s", cmd.Args, out)
	return string(out)
}

func needs(t *testing.T, commands ...string) {
	t.Helper()
	for _, command := range commands {
		if _, err := exec.LookPath(command); err != nil {
			t.Skip("needs " + command)
		}
	}
}

func needsLinux(t *testing.T) system {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	return system{runtime.GOOS, runtime.GOARCH}
}

func TestDistChecksumsAreOfAllFiles(t *testing.T) {
	d := openDist(t)
	entries, err := os.ReadDir(d.dir)
	require.NoError(t, err)
	r := &release{Options: Options{Out: d.dir}}
	var want strings.Builder
	for _, e := range entries {
		if e.Name() == "SHA256SUMS" {
			continue
		}
		sum, err := r.checksum(e.Name())
		require.NoError(t, err)
		want.WriteString(sum + "  " + e.Name() + "\n")
	}
	require.Equal(t, want.String(), string(d.read(t, filepath.Join(d.dir, "SHA256SUMS"))))
}

func TestDistArchivesHoldTheProgramOfTheirSystem(t *testing.T) {
	d := openDist(t)
	for _, s := range systems {
		t.Run(s.String(), func(t *testing.T) {
			r := &release{Options: Options{Out: d.dir}, stamp: stamp{Version: d.version}}
			files := unpack(t, filepath.Join(d.dir, r.archiveName(s)))
			requireStatic(t, s, files[s.program()].Data)
			require.EqualValues(t, 0o755, files[s.program()].Mode)
			for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "THIRD_PARTY_LICENSES", "man/droid-acp.1",
				"completions/droid-acp.bash", "completions/_droid-acp", "completions/droid-acp.fish"} {
				require.NotEmpty(t, files[name].Data, name)
				require.EqualValues(t, 0o644, files[name].Mode, name)
			}
			require.Len(t, files, 9)
			require.Contains(t, string(files["man/droid-acp.1"].Data), strings.ReplaceAll(d.version, "-", `\-`))
			notices := string(files["THIRD_PARTY_LICENSES"].Data)
			require.Contains(t, notices, "github.com/coder/acp-go-sdk")
			require.NotContains(t, notices, "testify", "only what is in the program")
			npm := unpack(t, filepath.Join(d.dir, r.npmFile(npmSuffix(s))))
			require.True(t, bytes.Equal(files[s.program()].Data, npm["package/bin/"+s.program()].Data), "the same program by npm")
		})
	}
}

// requireStatic checks that a program is for a system and, on Linux, needs no library.
func requireStatic(t *testing.T, s system, program []byte) {
	t.Helper()
	r := bytes.NewReader(program)
	switch s.OS {
	case "linux":
		f, err := elf.NewFile(r)
		require.NoError(t, err)
		require.Equal(t, map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[s.Arch], f.Machine)
		for _, p := range f.Progs {
			require.NotEqual(t, elf.PT_INTERP, p.Type, "it is linked dynamically")
		}
	case "darwin":
		f, err := macho.NewFile(r)
		require.NoError(t, err)
		require.Equal(t, map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[s.Arch], f.Cpu)
	case "windows":
		f, err := pe.NewFile(r)
		require.NoError(t, err)
		require.EqualValues(t, map[string]int{"amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64}[s.Arch], f.Machine)
	}
}

func TestDistSBOMNamesEachModule(t *testing.T) {
	d := openDist(t)
	var bom struct {
		SerialNumber string
		Metadata     struct{ Component struct{ Version string } }
		Components   []struct {
			Name, Version, Purl string
			Licenses            []struct{ Expression string }
		}
	}
	require.NoError(t, json.Unmarshal(d.read(t, d.file("sbom.cdx.json")), &bom))
	require.Equal(t, d.version, bom.Metadata.Component.Version)
	require.Regexp(t, "^urn:uuid:[0-9a-f]{8}-", bom.SerialNumber)
	listed := make(map[module]bool)
	for _, c := range bom.Components {
		require.NotEmpty(t, c.Purl)
		require.Regexp(t, "^[A-Z]", c.Licenses[0].Expression, c.Name)
		listed[module{Path: c.Name, Version: c.Version}] = true
	}
	r := &release{programs: make(map[system]string)}
	for _, s := range systems {
		dir := t.TempDir()
		archive := &release{stamp: stamp{Version: d.version}}
		unpackTo(t, filepath.Join(d.dir, archive.archiveName(s)), dir)
		r.programs[s] = filepath.Join(dir, s.program())
	}
	modules, err := r.modules()
	require.NoError(t, err)
	require.Greater(t, len(modules), 3)
	for _, m := range modules {
		require.True(t, listed[module{Path: m.Path, Version: m.Version}], m.Path)
	}
	require.Len(t, listed, len(modules)+1, "the modules and Go")
}

func TestDistFormulaIsRuby(t *testing.T) {
	d := openDist(t)
	file := filepath.Join(d.dir, "droid-acp.rb")
	if _, err := os.Stat(file); err != nil {
		t.Skip("the release was made without an address: BASE_URL")
	}
	text := string(d.read(t, file))
	require.Contains(t, text, `version "`+d.version+`"`)
	for _, s := range systems {
		if s.OS == "windows" {
			continue
		}
		r := &release{Options: Options{Out: d.dir}, stamp: stamp{Version: d.version}}
		sum, err := r.checksum(r.archiveName(s))
		require.NoError(t, err)
		require.Regexp(t, r.archiveName(s)+"\"\n *sha256 \""+sum, text)
	}
	needs(t, "ruby")
	succeed(t, bare(t, "ruby", "-c", file))
}
