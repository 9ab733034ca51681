package droids

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fixture"
)

var update = flag.Bool("update", false, "write what is generated from the recordings and vocabularies")

const (
	root = "../../.."
	data = root + "/testdata/droids"
)

func recorded(t *testing.T) []*Recorded {
	t.Helper()
	all, err := loadAll(data)
	require.NoError(t, err)
	require.Greater(t, len(all), 1)
	return all
}

// generated holds a file against what is generated, or writes it with -update.
func generated(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return
	}
	was, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, string(was), "go test ./internal/testing/droids -update writes it")
}

// TestGenerated: the page, the README's row of versions and the lists of changes are those of the data.
func TestGenerated(t *testing.T) {
	all := recorded(t)
	tried, err := loadTried(data)
	require.NoError(t, err)
	page := filepath.Join(root, "docs", "dev", "droids.md")
	was, err := os.ReadFile(page)
	require.NoError(t, err)
	at := strings.Index(string(was), "\n|")
	require.Positive(t, at, "%s has a table", page)
	generated(t, page, string(was[:at+1])+tables(all, tried))
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	const row = "\n| versions of droid | "
	before, after, found := strings.Cut(string(readme), row)
	require.True(t, found)
	_, after, _ = strings.Cut(after, "\n")
	generated(t, filepath.Join(root, "README.md"), before+row+inShort(all, tried)+" |\n"+after)
	generated(t, filepath.Join(data, "changes.txt"), changesOf(all))
	vocabularies, err := loadVocabularies(data)
	require.NoError(t, err)
	sdks, err := loadSDKs(data)
	require.NoError(t, err)
	generated(t, filepath.Join(data, "vocabulary", "changes.txt"), vocabularyChanges(vocabularies, sdks))
	for version := range tried {
		_, err := Load(data, version)
		require.NoError(t, err)
	}
}

// TestEachQuirkIsSeenOrNot: of each quirk of docs/dev/protocol.md the page says in which versions it is, or
// why no recording shows that, and not both.
func TestEachQuirkIsSeenOrNot(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "dev", "protocol.md"))
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| `).FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(rows), 40)
	said := map[string]int{}
	for number := range unseen() {
		said[fmt.Sprint(number)]++
	}
	for _, c := range Checks() {
		if c.Quirk != 0 {
			said[fmt.Sprint(c.Quirk)]++
		}
	}
	want := map[string]int{}
	for _, row := range rows {
		want[row[1]] = 1
	}
	require.Equal(t, want, said)
}

// A table that is stale is noticed: one cell more, and one feature the other way.
func TestStaleTable(t *testing.T) {
	all := recorded(t)
	before := tables(all, nil)
	delete(all[0].Talks, "errors")
	require.NotEqual(t, before, tables(all, nil))
}

// TestFeatures checks version.go against the recordings. Versions between two releases with new features count as the older one, so they
// may have more features than assumed, but none fewer.
func TestFeatures(t *testing.T) {
	held := map[string]bool{"0.99.0": true, "0.215.0": true, "0.225.2": true}
	checked := 0
	for _, r := range recorded(t) {
		for _, c := range Checks() {
			if c.Feature == nil || c.Of(r) == Unknown {
				continue
			}
			checked++
			says, does := r.Protocol.Supports(*c.Feature), c.Of(r) == Yes
			if says != does && (says || held[r.Version]) {
				t.Errorf("droid %s (protocol %s): version.go says that it can %s: %t; its recording says %t", r.Version, r.Protocol, c.What, says, does)
			}
		}
	}
	require.Greater(t, checked, 40)
}

// TestNewest: the newest recorded droid is the one beyond which the program says that it knows nothing.
func TestNewest(t *testing.T) {
	all := recorded(t)
	newest := all[len(all)-1].Protocol
	require.Empty(t, newest.Untried())
	newest.Patch++
	require.Contains(t, newest.Untried(), all[len(all)-1].Version)
}

// TestNothingIsStrange: the tables of stream have each kind of event and of permission, and each field, that
// the recorded droids sent.
func TestNothingIsStrange(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(data, "recordings", "*.txtar"))
	require.NoError(t, err)
	for _, path := range paths {
		talks, err := fixture.LoadArchive(path)
		require.NoError(t, err)
		for _, talk := range talks {
			for _, step := range talk.Steps {
				if step.Dir == fixture.FromDroid {
					line, err := new(stream.Decoder).Decode(step.Msg, true)
					require.NoError(t, err)
					require.Empty(t, line.UnknownFields, "%s %s: %s", talk.Version, talk.Name, step.Msg)
				}
			}
		}
	}
}

// The program's tables contain what is in the programs of droids: the fields of the decoded events, the kinds of permission except that of
// a question, which is a separate request, the keys of settings, and the files of a project.
func TestVocabularyIsKnown(t *testing.T) {
	all, err := loadVocabularies(data)
	require.NoError(t, err)
	require.Len(t, all, 6)
	keys, err := os.ReadFile(root + "/internal/droid/projectconfig/vocabulary.go")
	require.NoError(t, err)
	names := ""
	for _, file := range []string{"projectconfig/project.go", "config/config.go"} {
		text, err := os.ReadFile(root + "/internal/droid/" + file)
		require.NoError(t, err)
		names += string(text)
	}
	for version, v := range all {
		for _, name := range v["types"] {
			kind, field, _ := strings.Cut(name, ".")
			if field == "" || kind == "tool_result" || strings.Contains(kind, "mission") { // tool_result is a block of a message, too
				continue
			}
			line, err := new(stream.Decoder).Decode([]byte(`{"type":"notification","method":"droid.session_notification","params":{"notification":{"type":"`+kind+`","`+field+`":null}}}`), true)
			require.NoError(t, err)
			if _, unknown := line.Event.(stream.Unknown); !unknown {
				require.Empty(t, line.UnknownFields, "droid %s", version)
			}
		}
		for _, kind := range v["permission kinds"] {
			require.True(t, kind == "ask_user" || stream.KnowsConfirmation(kind), "droid %s: %s", version, kind)
		}
		for _, key := range v["settings"] {
			require.Contains(t, string(keys), `"`+key+`"`, "a key of settings of droid %s", version)
		}
		for _, name := range v["files"] {
			require.True(t, strings.HasSuffix(name, ".md") || strings.Contains(names, `"`+name+`"`), "droid %s: .factory/%s", version, name)
		}
	}
}

// TestSDKs: the vocabulary of the newest droid lacks no name that Factory's SDKs have, so nothing of its program
// is overlooked, but for a field of every block of a message, and one that droids have no more since 0.215.
// What else only one of the two has stands in changes.txt.
func TestSDKs(t *testing.T) {
	all, err := loadVocabularies(data)
	require.NoError(t, err)
	newest := all[slices.MaxFunc(slices.Collect(maps.Keys(all)), CompareVersions)]
	sdks, err := loadSDKs(data)
	require.NoError(t, err)
	lacking := map[string][]string{}
	for section, names := range sdks {
		if names = without(names, newest[section]); len(names) > 0 {
			lacking[section] = names
		}
	}
	require.Equal(t, map[string][]string{"types": {"exit_spec_mode.optionNames", "tool_result.id"}}, lacking)
}

// TestNoTextOfDroids: what is recorded has no words that the scenario does not have: texts of droid's are
// one sign each.
func TestNoTextOfDroids(t *testing.T) {
	for _, r := range recorded(t) {
		for name, talk := range r.Talks {
			s, err := loadScenario(filepath.Join(data, "scenarios", name+".json"), nil)
			require.NoError(t, err)
			own := strings.ReplaceAll(strings.Join(s.Own(), "\x00"), "Error: ", "")
			for _, said := range talk.droids() {
				for path, text := range said.Fields() {
					text = strings.ReplaceAll(text, "Error: ", "")
					require.False(t, strings.Contains(text, " ") && !strings.Contains(own, text), "%s %s: %s is %q", r.Version, name, path, text)
				}
			}
		}
	}
}

func (t Talk) droids() (found []Said) {
	for _, s := range t {
		if s.Dir == fixture.FromDroid {
			found = append(found, s)
		}
	}
	return found
}

// change is a recording with one conversation changed line by line.
func change(t *testing.T, r *Recorded, by func(name string, talk Talk) Talk) *Recorded {
	t.Helper()
	out := &Recorded{Version: r.Version, Protocol: r.Protocol, Talks: map[string]Talk{}}
	for name, talk := range r.Talks {
		var copied Talk
		text, err := json.Marshal(talk)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &copied))
		out.Talks[name] = by(name, copied)
	}
	return out
}

func relabel(s Said) Said {
	s.Label = labelOf(s)
	return s
}

// TestCompareNamesFaults puts faults into a recording and has each named.
func TestCompareNamesFaults(t *testing.T) {
	all := recorded(t)
	r := all[len(all)-1]
	require.Empty(t, Compare(r, r))
	each := func(kind string, by func(Said) []Said) func(string, Talk) Talk {
		return func(_ string, talk Talk) (out Talk) {
			for _, s := range talk {
				if s.Dir == fixture.FromDroid && s.Kind == kind {
					for _, s := range by(s) {
						out = append(out, relabel(s))
					}
					continue
				}
				out = append(out, s)
			}
			return out
		}
	}
	for name, tc := range map[string]struct {
		by   func(string, Talk) Talk
		want string
	}{
		"dropped": {func(name string, talk Talk) Talk {
			if at := talk.at(0, "permission_resolved"); name == "exec_allowed" && at > 0 {
				return append(talk[:at:at], talk[at+1:]...)
			}
			return talk
		}, "no longer: permission_resolved proceed_once (exec_allowed)"},
		"dropped everywhere": {each("agent_turn_completed", func(Said) []Said { return nil }), "gone: agent_turn_completed"},
		"renamed": {each("agent_turn_completed", func(s Said) []Said { s.Kind = "turn_done"; return []Said{s} }),
			"renamed: agent_turn_completed is turn_done"},
		"twice": {each("request ask_user", func(s Said) []Said {
			return []Said{s, {Dir: s.Dir, Kind: "tool_result", Body: map[string]any{"isError": false}}, s}
		}), "request ask_user: 2 times instead of once (ask, ask_cancelled, ask_interrupted, ask_without_options)"},
		"reordered": {func(name string, talk Talk) Talk {
			if at, to := talk.at(0, "agent_turn_completed"), talk.at(0, "create_message assistant"); name == "exec_refused" && at > to && to > 0 {
				moved := append(Talk{}, talk[:to]...)
				moved = append(append(moved, talk[at]), talk[to:at]...)
				return append(moved, talk[at+1:]...)
			}
			return talk
		}, "reordered: agent_turn_completed completed now comes behind"},
		"a field new":  {each("tool_result", func(s Said) []Said { s.Body["hurry"] = "very"; return []Said{s} }), "field new: hurry of tool_result"},
		"a field gone": {each("tool_result", func(s Said) []Said { delete(s.Body, "isError"); return []Said{s} }), "field gone: isError of tool_result"},
		"a field renamed": {each("tool_result", func(s Said) []Said {
			if is, told := s.Body["isError"]; told {
				s.Body["failed"] = is
				delete(s.Body, "isError")
			}
			return []Said{s}
		}), "field renamed: isError of tool_result is failed"},
	} {
		require.Contains(t, strings.Join(Compare(r, change(t, r, tc.by)), "\n"), tc.want, name)
	}
}
