package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// packed is a file in an archive or a package.
type packed struct {
	Name string // with slashes
	Mode int64
	Data []byte
}

// archiveName returns the name of a system's archive.
func (r *release) archiveName(s system) string {
	if s.OS == "windows" {
		return r.name(s.String() + ".zip")
	}
	return r.name(s.String() + ".tar.gz")
}

// writeArchives writes one archive per system. The program is at the top level, since
// ACP's registry starts it as ./droid-acp.
func (r *release) writeArchives() error {
	for _, s := range systems {
		program, err := os.ReadFile(r.programs[s])
		if err != nil {
			return err
		}
		files := append([]packed{{s.program(), 0o755, program}}, r.extras...)
		pack := tarGz
		if s.OS == "windows" {
			pack = zipped
		}
		data, err := pack(files, r.stamp.Time)
		if err != nil {
			return err
		}
		if err := r.keep(r.archiveName(s), data); err != nil {
			return err
		}
	}
	return nil
}

// tarGz packs files without an owner and with one time.
func tarGz(files []packed, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	zw, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	for _, f := range files {
		if err := tw.WriteHeader(&tar.Header{
			Format: tar.FormatUSTAR, Typeflag: tar.TypeReg,
			Name: f.Name, Mode: f.Mode, Size: int64(len(f.Data)), ModTime: at,
		}); err != nil {
			return nil, err
		}
		if _, err := tw.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	err = zw.Close()
	return b.Bytes(), err
}

// zipped packs files with one time.
func zipped(files []packed, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	zw := zip.NewWriter(&b)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: at}
		header.SetMode(os.FileMode(f.Mode))
		w, err := zw.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	err := zw.Close()
	return b.Bytes(), err
}

// gzipped compresses a single file, without a name or time.
func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	zw, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := zw.Write(data); err != nil {
		return nil, err
	}
	err = zw.Close()
	return b.Bytes(), err
}

// checksum returns the SHA-256 of a file of the release, in hexadecimal.
func (r *release) checksum(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(r.Out, name))
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// writeChecksums writes the checksums of all files so far, as sha256sum -c reads them.
func (r *release) writeChecksums() error {
	entries, err := os.ReadDir(r.Out) // sorted by their names
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, e := range entries {
		sum, err := r.checksum(e.Name())
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, e.Name())
	}
	return r.keep("SHA256SUMS", b.Bytes())
}
