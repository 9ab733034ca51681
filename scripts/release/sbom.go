package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"runtime"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes the list of what the programs are made of: Go and the modules, by
// what the linker wrote into the programs. It has no serial number, which would be
// another with each run.
func (r *release) writeSBOM() error {
	modules, err := r.modules()
	if err != nil {
		return err
	}
	purl := "pkg:generic/droid-acp@" + r.stamp.Version
	components := []cdx.Component{{
		BOMRef: "go", Type: cdx.ComponentTypeLibrary, Name: "std", Version: runtime.Version(),
		PackageURL: "pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go"),
	}}
	needs := []string{"go"}
	for _, m := range modules {
		component := cdx.Component{
			BOMRef: "pkg:golang/" + m.Path + "@" + m.Version, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version,
			PackageURL: "pkg:golang/" + m.Path + "@" + m.Version,
		}
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
			component.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}} // Go's hash of the module's tree
		}
		components, needs = append(components, component), append(needs, component.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.stamp.Time.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: purl, Type: cdx.ComponentTypeApplication, Name: "droid-acp", Version: r.stamp.Version, PackageURL: purl,
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		},
		Properties: &[]cdx.Property{{Name: "commit", Value: r.stamp.Commit}},
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: purl, Dependencies: &needs}}
	var b bytes.Buffer
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return r.keep(r.name("sbom.cdx.json"), b.Bytes())
}
