package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// registrySchema is the registry's schema of an agent.json, written anew.
//
//go:embed registry.schema.json
var registrySchema []byte

// takenIDs are ids of entries that ours must not be taken for.
var takenIDs = []string{"factory-droid"}

// checkEntry is the registry's check of an entry, without what needs the network, as
// its build_registry.py had it in autumn 2026. What it says are the reasons to refuse
// the entry. It is stricter in one thing: the registry warns where a system is missing,
// and we offer all six.
func checkEntry(folder string, agent, icon []byte) (problems []string) {
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(agent))
	if err != nil {
		return []string{"agent.json is no JSON: " + err.Error()}
	}
	if err := compileRegistrySchema().Validate(instance); err != nil {
		return []string{"agent.json does not follow the schema: " + err.Error()}
	}
	var e listed
	if err := json.Unmarshal(agent, &e); err != nil {
		return []string{err.Error()}
	}
	if e.ID != folder {
		problems = append(problems, fmt.Sprintf("the id %q is not the folder's name %q", e.ID, folder))
	}
	for _, taken := range takenIDs {
		if e.ID == taken {
			problems = append(problems, fmt.Sprintf("the id %q is another agent's", taken))
		}
	}
	for _, platform := range registryPlatforms() {
		for _, problem := range e.checkTarget(platform) {
			problems = append(problems, platform+": "+problem)
		}
	}
	for kind, name := range map[string]string{"npx": e.Distribution.Npx.Package, "uvx": e.Distribution.Uvx.Package} {
		if at := strings.LastIndexAny(name, "@="); name != "" && (at < 1 || name[at+1:] != e.Version) {
			problems = append(problems, fmt.Sprintf("%s: the package %q does not name the version %s", kind, name, e.Version))
		}
	}
	sort.Strings(problems)
	return append(problems, checkIcon(icon)...)
}

// listed is what the check reads of an agent.json.
type listed struct {
	ID, Version  string
	Distribution struct {
		Binary   map[string]struct{ Archive, Cmd, SHA256 string }
		Npx, Uvx struct{ Package string }
	}
}

func (e *listed) checkTarget(platform string) (problems []string) {
	target, ok := e.Distribution.Binary[platform]
	if !ok {
		return []string{"there is no program"}
	}
	problems = checkArchive(target.Archive, e.Version)
	if target.SHA256 == "" {
		problems = append(problems, "there is no sha256")
	}
	if strings.HasSuffix(target.Cmd, ".exe") != strings.HasPrefix(platform, "windows") {
		problems = append(problems, fmt.Sprintf("the command is %q", target.Cmd))
	}
	return problems
}

func compileRegistrySchema() *jsonschema.Schema {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(registrySchema))
	if err != nil {
		panic(err) // it is a part of this program
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("registry.schema.json", schema); err != nil {
		panic(err)
	}
	return compiler.MustCompile("registry.schema.json")
}

func registryPlatforms() (all []string) {
	for _, s := range systems {
		all = append(all, s.OS+"-"+registryArch[s.Arch])
	}
	return all
}

// versionInURL finds the version in the address of a forge's release.
var versionInURL = regexp.MustCompile(`/(?:download|releases)/v?([0-9.]+)/`)

func checkArchive(url, version string) (problems []string) {
	if strings.Contains(url, "/latest/") {
		problems = append(problems, "the address has /latest/ instead of a version")
	}
	if found := versionInURL.FindStringSubmatch(url); found != nil && found[1] != version {
		problems = append(problems, fmt.Sprintf("the address is of version %s, not of %s", found[1], version))
	}
	for _, installer := range []string{".dmg", ".pkg", ".deb", ".rpm", ".msi", ".appimage"} {
		if strings.HasSuffix(strings.ToLower(url), installer) {
			problems = append(problems, "the address is that of an installer: "+installer)
		}
	}
	return problems
}

// checkIcon says what the registry would not take of an icon: it is an SVG of 16×16
// without comments, whose colours are all currentColor.
func checkIcon(icon []byte) (problems []string) {
	if bytes.Contains(icon, []byte("<!--")) {
		problems = append(problems, "the icon has a comment")
	}
	current, first := false, true
	for decoder := xml.NewDecoder(bytes.NewReader(icon)); ; {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return append(problems, "the icon is no XML: "+err.Error())
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if first {
			first = false
			problems = append(problems, checkIconSize(element)...)
		}
		if element.Name.Local == "style" {
			problems = append(problems, "the icon has a style sheet, where the registry looks for colours")
		}
		for _, colour := range iconColours(element) {
			switch strings.ToLower(colour) {
			case "currentcolor":
				current = true
			case "none", "inherit":
			default:
				problems = append(problems, fmt.Sprintf("the icon has the colour %q", colour))
			}
		}
	}
	if !current {
		problems = append(problems, "the icon does not use currentColor")
	}
	return problems
}

func checkIconSize(svg xml.StartElement) []string {
	if svg.Name.Local != "svg" {
		return []string{"the icon is no SVG"}
	}
	width, height := attribute(svg, "width"), attribute(svg, "height")
	if box := strings.Fields(attribute(svg, "viewBox")); (width == "" || height == "") && len(box) == 4 {
		width, height = box[2], box[3]
	}
	w, werr := strconv.ParseFloat(strings.TrimSuffix(width, "px"), 64)
	h, herr := strconv.ParseFloat(strings.TrimSuffix(height, "px"), 64)
	if werr != nil || herr != nil || w != 16 || h != 16 {
		return []string{fmt.Sprintf("the icon is %q by %q, not 16 by 16", width, height)}
	}
	return nil
}

// iconColours are the colours of an element, by its attributes and its inline style.
func iconColours(element xml.StartElement) (colours []string) {
	for _, name := range []string{"fill", "stroke"} {
		if colour := strings.TrimSpace(attribute(element, name)); colour != "" {
			colours = append(colours, colour)
		}
	}
	for _, property := range strings.Split(attribute(element, "style"), ";") {
		name, value, _ := strings.Cut(property, ":")
		if name = strings.ToLower(strings.TrimSpace(name)); name == "fill" || name == "stroke" {
			colours = append(colours, strings.TrimSpace(value))
		}
	}
	return colours
}

func attribute(element xml.StartElement, name string) string {
	for _, a := range element.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
