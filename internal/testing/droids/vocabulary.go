package droids

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Vocabulary are names found in droid's program, by category: "methods"; "types", those of notifications and their contents, with their
// fields; enumerations such as "permission kinds"; "tools"; "settings"; "files" in a directory .factory. Nothing else of the program is
// stored.
type Vocabulary map[string][]string

// anchors identify an enumeration in the program: the one that has both values.
var anchors = map[string][2]string{
	"permission kinds":    {"exec", "exit_spec_mode"},
	"permission answers":  {"proceed_once", "proceed_always"},
	"working states":      {"idle", "executing_tool"},
	"ends of a turn":      {"permission_rejected", "spec_handoff"},
	"autonomy modes":      {"auto-low", "auto-high"},
	"interaction modes":   {"spec", "agi"},
	"reasoning efforts":   {"xhigh", "minimal"},
	"providers":           {"anthropic", "generic-chat-completion-api"},
	"sources of settings": {"org", "folder"},
}

var (
	// A string enumeration as compiled from TypeScript: ((e)=>{e.Idle="idle";e.Thinking="thinking"})(X||={}).
	enumeration = regexp.MustCompile(`\(\(([\w$]+)\)=>\{((?:[\w$]+\.[\w$]+="[\w.:/-]+"[;,]?)+)\}\)\(`)
	member      = regexp.MustCompile(`="([\w.:/-]+)"`)
	// A schema of an object with a type: object({type:literal("create_message"),message:…}), and of a request .extend({method:literal(…)}).
	typed  = regexp.MustCompile(`\{type:[\w$.]+\("([a-z][a-z0-9_]*)"\)[,}]`)
	method = regexp.MustCompile(`\{method:[\w$.]+\("(droid\.[a-z0-9_]+)"\)`)
	// The names of tools are adjacent: a="LS",b="Read";var c="Edit".
	tools = regexp.MustCompile(`(?:[\w$]+="[A-Z][A-Za-z]+"(?:,|;var )){2,}[\w$]+="[A-Z][A-Za-z]+"`)
	// A file of a project or of the user is named in a string, or joined: join(x(),".factory","automations"). The list of the user's own
	// begins with missions (0.215, 0.225).
	file  = regexp.MustCompile(`\.factory(?:/|",")([a-zA-Z][\w-]*(?:\.(?:jsonl?|md|sh|ya?ml))?)`)
	files = regexp.MustCompile(`\["missions"(?:,"[\w-]+")+\]`)
	word  = regexp.MustCompile(`[\w-]+`)
	// All settings in a settings file are optional.
	setting = regexp.MustCompile(`^[a-zA-Z][A-Za-z0-9]*$`)
)

// ReadVocabulary extracts the names from a droid program. The error names a section that was not found: the program is then built
// differently from previous ones.
func ReadVocabulary(program []byte) (Vocabulary, error) {
	v := Vocabulary{}
	for _, m := range enumeration.FindAllSubmatch(program, -1) {
		var values []string
		for _, one := range member.FindAllSubmatch(m[2], -1) {
			values = append(values, string(one[1]))
		}
		for section, anchor := range anchors {
			if slices.Contains(values, anchor[0]) && slices.Contains(values, anchor[1]) {
				v.add(section, values...)
			}
		}
	}
	for _, m := range method.FindAllSubmatch(program, -1) {
		v.add("methods", string(m[1]))
	}
	v.types(program)
	for _, list := range tools.FindAll(program, -1) {
		if bytes.Contains(list, []byte(`="ApplyPatch"`)) {
			for _, m := range member.FindAllSubmatch(list, -1) {
				v.add("tools", string(m[1]))
			}
		}
	}
	for _, m := range file.FindAllSubmatch(program, -1) {
		v.add("files", string(m[1]))
	}
	for _, list := range files.FindAll(program, -1) {
		v.add("files", strings.Fields(string(bytes.Join(word.FindAll(list, -1), []byte(" "))))...)
	}
	v.settings(program)
	var missing []string
	for _, section := range slices.Concat(slices.Collect(maps.Keys(anchors)), []string{"methods", "types", "tools", "settings", "files"}) {
		if len(v[section]) == 0 && section != "ends of a turn" { // since 0.215
			missing = append(missing, section)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("the program has no %s where others have them", strings.Join(missing, ", "))
	}
	return v, nil
}

func (v Vocabulary) add(section string, names ...string) {
	for _, name := range names {
		if at, there := slices.BinarySearch(v[section], name); !there {
			v[section] = slices.Insert(v[section], at, name)
		}
	}
}

// near is the maximum distance between the schemas of two protocol types: they are all close together (0.99 to 0.225).
const near = 8_000

// blocks are types of content, which are among the others in some programs only, as are those with one-word names.
var blocks = []string{"tool_use", "redacted_thinking", "json_schema"}

// types adds the types around create_message.
func (v Vocabulary) types(program []byte) {
	all := typed.FindAllSubmatchIndex(program, -1)
	for at := range all {
		if string(program[all[at][2]:all[at][3]]) != "create_message" {
			continue
		}
		first, last := at, at
		for first > 0 && all[first][0]-all[first-1][0] < near {
			first--
		}
		for last+1 < len(all) && all[last+1][0]-all[last][0] < near {
			last++
		}
		// The notification of a result is the block of one with another field, at any distance before it.
		for i := at; i >= 0; i-- {
			fields := keys(program[all[i][0]:])
			if string(program[all[i][2]:all[i][3]]) == "tool_result" && slices.Contains(fields, "toolUseId") {
				v.addType("tool_result", fields)
				break
			}
		}
		for _, m := range all[first : last+1] {
			of := string(program[m[2]:m[3]])
			if slices.Contains(blocks, of) || !strings.Contains(of, "_") && of != "error" && !slices.Contains(v["permission kinds"], of) {
				continue
			}
			v.addType(of, keys(program[m[0]:]))
		}
	}
}

func (v Vocabulary) addType(of string, fields []string) {
	v.add("types", of)
	for _, field := range fields {
		v.add("types", of+"."+field)
	}
}

// settings adds the names in the schema of a settings file: the objects with only optional fields.
func (v Vocabulary) settings(program []byte) {
	for rest, at := program, 0; ; {
		i := bytes.Index(rest[at:], []byte("{sessionDefaultSettings:"))
		if i < 0 {
			return
		}
		at += i
		if object := rest[at:min(len(rest), at+40_000)]; bytes.Contains(object[:min(len(object), 400)], []byte(".optional()")) {
			v.add("settings", keys(object)...)
		}
		at++
	}
}

// keys returns the top-level names, except type, of the object that text begins with.
func keys(text []byte) (names []string) {
	depth, begin := 0, -1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '(', '[':
			if depth++; depth == 1 {
				begin = i + 1
			}
		case '}', ')', ']':
			if depth--; depth == 0 {
				return names
			}
		case '"', '`', '\'':
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case ',':
			if depth == 1 {
				begin = i + 1
			}
		case ':':
			if depth == 1 && begin >= 0 {
				if name := string(text[begin:i]); setting.MatchString(name) && name != "type" {
					names = append(names, name)
				}
				begin = -1
			}
		}
	}
	return names
}

func vocabularyPath(dir, version string) string {
	return filepath.Join(dir, "vocabulary", version+".txt")
}

// Write writes the names, one section per heading.
func (v Vocabulary) Write(dir, version string) error {
	var b strings.Builder
	for _, section := range sorted(v) {
		fmt.Fprintf(&b, "[%s]\n%s\n", section, strings.Join(v[section], "\n"))
	}
	return os.WriteFile(vocabularyPath(dir, version), []byte(b.String()), 0o644)
}

// LoadVocabularies reads all stored vocabularies, by version of droid.
func LoadVocabularies(dir string) (map[string]Vocabulary, error) {
	paths, err := filepath.Glob(vocabularyPath(dir, "[0-9]*"))
	if err != nil {
		return nil, err
	}
	all := map[string]Vocabulary{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		v, section := Vocabulary{}, ""
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") {
				section = strings.Trim(line, "[]")
				continue
			}
			v.add(section, line)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".txt")] = v
	}
	return all, nil
}

// LoadSDKs reads the names in Factory's SDKs, in the sections of a vocabulary: extracted from their sources by a person; the file says
// which.
func LoadSDKs(dir string) (Vocabulary, error) {
	text, err := os.ReadFile(filepath.Join(dir, "vocabulary", "sdks.json"))
	if err != nil {
		return nil, err
	}
	var read struct{ Names, Types map[string]string }
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, err
	}
	v := Vocabulary{}
	for section, names := range read.Names {
		v.add(section, strings.Fields(names)...)
	}
	for of, fields := range read.Types {
		v.addType(of, strings.Fields(fields))
	}
	return v, nil
}

// VocabularyChanges lists the names that each version added and removed, then those that only the newest has, and those that only Factory's
// SDKs have.
func VocabularyChanges(all map[string]Vocabulary, sdks Vocabulary) string {
	var b strings.Builder
	versions := slices.SortedFunc(maps.Keys(all), CompareVersions)
	for i := 1; i < len(versions); i++ {
		fmt.Fprintf(&b, "== %s, compared with %s\n", versions[i], versions[i-1])
		after := all[versions[i]]
		differences(&b, sorted(after), all[versions[i-1]], after)
	}
	newest := versions[len(versions)-1]
	fmt.Fprintf(&b, "== %s, compared with Factory's SDKs (sdks.json)\n", newest)
	differences(&b, sorted(sdks), sdks, all[newest])
	return b.String()
}

// differences writes the names that only one of two vocabularies has in some sections.
func differences(b *strings.Builder, sections []string, before, after Vocabulary) {
	for _, section := range sections {
		for _, of := range []struct {
			sign         string
			these, those []string
		}{{"+", after[section], before[section]}, {"-", before[section], after[section]}} {
			if names := without(of.these, of.those); len(names) > 0 {
				b.WriteString(of.sign + " " + section + ": " + strings.Join(names, " ") + "\n")
			}
		}
	}
	b.WriteByte('\n')
}

// without returns the names that others lack.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
