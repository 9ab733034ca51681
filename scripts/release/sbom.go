package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// writeSBOM writes the list of what the programs are made of: Go and the modules, by
// what the linker wrote into the programs. Its serial number is made of what is in it, so
// the same release has the same one.
func (r *release) writeSBOM() error {
	purl := "pkg:generic/droid-acp@" + r.stamp.Version
	var components []cdx.Component
	var needs []string
	serial := sha256.New()
	fmt.Fprintln(serial, purl, r.stamp.Commit)
	for _, p := range r.parts {
		ref := "pkg:golang/" + p.Path + "@" + p.Version
		component := cdx.Component{
			BOMRef: ref, Type: cdx.ComponentTypeLibrary, Name: p.Path, Version: p.Version, PackageURL: ref,
			Licenses: &cdx.Licenses{{Expression: strings.Join(p.spdx, " AND ")}},
		}
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(p.Sum, "h1:")); err == nil && len(sum) > 0 {
			component.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}} // Go's hash of the module's tree
		}
		components, needs = append(components, component), append(needs, ref)
		fmt.Fprintln(serial, ref, p.Sum)
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.Nil, serial.Sum(nil)).String()
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
