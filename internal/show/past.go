package show

import (
	"encoding/json"
	"strings"
)

// What the calls of a conversation that is over have in their inputs and results, for
// who shows them elsewhere than in an editor; Label, Tasks, Plan, ResultText, EndOfCommand
// and EndOfPlan belong to it. All of it is droid's form (0.99 to 0.225).

// EditedLine is a line of an edit as its result tells it.
type EditedLine struct {
	Type    string // "added", "removed" or "unchanged"
	Content string
	Old     int // its number in the file before and after, from 1; 0 where it is in one of them only
	New     int
}

// EditedLines are the lines around what an Edit changed, none where its result does not
// tell them.
func EditedLines(content json.RawMessage) (file string, lines []EditedLine) {
	var result struct {
		FilePath  string `json:"file_path"`
		DiffLines []struct {
			Type       string
			Content    string
			LineNumber struct{ Old, New int }
		} `json:"diffLines"`
	}
	if json.Unmarshal([]byte(ResultText(content)), &result) != nil || result.FilePath == "" {
		return "", nil
	}
	for _, l := range result.DiffLines {
		lines = append(lines, EditedLine{l.Type, l.Content, l.LineNumber.Old, l.LineNumber.New})
	}
	return result.FilePath, lines
}

// NotChanged names the files that a patch left as they were, each with droid's reason,
// "" for none.
func NotChanged(cwd string, content json.RawMessage) string {
	var failed []change
	for path, why := range failedFiles(cwd, content) {
		if why != "" {
			failed = append(failed, change{path: path})
		}
	}
	if len(failed) == 0 {
		return ""
	}
	return notChanged(cwd, failed, content)
}

// Asked is a question of an AskUser, or the answer to one.
type Asked struct {
	Question string
	Topic    string
	Options  []string
	Answer   string
}

// Questionnaire reads questions with their options, as the input of an AskUser has them,
// or with their answers, as its result has them.
func Questionnaire(text string) (list []Asked) {
	answering := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		word := strings.TrimSpace(line)
		if m := questionPattern().FindStringSubmatch(line); m != nil {
			list, answering = append(list, Asked{Question: m[1]}), false
			continue
		}
		if len(list) == 0 {
			continue
		}
		last := &list[len(list)-1]
		if topic, is := strings.CutPrefix(word, "[topic] "); is && !answering {
			last.Topic = topic
			continue
		}
		switch option, isOption := strings.CutPrefix(word, "[option] "); {
		case isOption:
			last.Options = append(last.Options, option)
		case strings.HasPrefix(word, "[answer] "):
			last.Answer, answering = strings.TrimPrefix(word, "[answer] "), true
		case answering:
			last.Answer += "\n" + line
		}
	}
	for i := range list {
		list[i].Answer = withoutWordsForTheModel(strings.TrimSpace(list[i].Answer))
	}
	return list
}
