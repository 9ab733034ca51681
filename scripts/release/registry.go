package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// registryID is the entry's id in ACP's registry, which is also the name of its
// folder there. Factory's own entry is "factory-droid".
const registryID = "droid-acp"

// The registry's words for Go's.
var registryArch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// entry is an agent.json of ACP's registry, with the fields that ours has.
type entry struct {
	ID           string       `json:"id"`
	Name         string       `json:"name"`
	Version      string       `json:"version"`
	Description  string       `json:"description"`
	Repository   string       `json:"repository,omitempty"`
	Authors      []string     `json:"authors"`
	License      string       `json:"license"`
	LicenseURL   string       `json:"license_url"`
	Distribution distribution `json:"distribution"`
}

type distribution struct {
	Binary map[string]target `json:"binary"`
}

// target is how the program is had and started on one system.
type target struct {
	Archive string `json:"archive"`
	SHA256  string `json:"sha256"`
	Cmd     string `json:"cmd"`
}

// writeRegistryEntry writes the folder that is proposed to ACP's registry, as an
// archive: packaging/registry/droid-acp with the version, the addresses and the
// checksums of this release. A prerelease has none, as the registry lists numeric
// versions only.
func (r *release) writeRegistryEntry() error {
	if strings.Contains(r.stamp.Version, "-") {
		return nil
	}
	agent, icon, err := r.registryEntry()
	if err != nil {
		return err
	}
	data, err := tarGz([]packed{{registryID + "/agent.json", 0o644, agent}, {registryID + "/icon.svg", 0o644, icon}}, r.stamp.Time)
	if err != nil {
		return err
	}
	return r.keep(r.name("registry-entry.tar.gz"), data)
}

// registryEntry returns the entry's agent.json and icon.svg.
func (r *release) registryEntry() (agent, icon []byte, err error) {
	dir := filepath.Join(r.Root, "packaging", "registry", registryID)
	if icon, err = os.ReadFile(filepath.Join(dir, "icon.svg")); err != nil {
		return nil, nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "agent.json"))
	if err != nil {
		return nil, nil, err
	}
	var e entry
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return nil, nil, err
	}
	e.Version, e.Repository, e.Distribution.Binary = r.stamp.Version, r.Repository, make(map[string]target)
	for _, s := range systems {
		sum, err := r.checksum(r.archiveName(s))
		if err != nil {
			return nil, nil, err
		}
		e.Distribution.Binary[s.OS+"-"+registryArch[s.Arch]] = target{r.archiveURL(s), sum, "./" + s.program()}
	}
	agent, err = json.MarshalIndent(e, "", "  ")
	return append(agent, '\n'), icon, err
}
