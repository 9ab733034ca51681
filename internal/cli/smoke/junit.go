package smoke

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"droid-acp/internal/text/visible"
)

// The elements of JUnit's XML as far as CI servers interpret them alike: Jenkins' schema has no other attributes, and GitLab shows the text
// of an element but not its message. Each prompt is a test case.
type (
	testSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		counts
		Suite testSuite `xml:"testsuite"`
	}
	testSuite struct {
		counts
		Skipped    int        `xml:"skipped,attr"`
		Timestamp  string     `xml:"timestamp,attr"`
		Properties []property `xml:"properties>property"`
		Cases      []testCase `xml:"testcase"`
	}
	counts struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Time     string `xml:"time,attr"` // seconds
	}
	property struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	testCase struct {
		Name      string   `xml:"name,attr"`
		ClassName string   `xml:"classname,attr"`
		Time      string   `xml:"time,attr"`
		Failure   *problem `xml:"failure"`
		Error     *problem `xml:"error"`
		Skipped   *problem `xml:"skipped"`
		Output    string   `xml:"system-out,omitempty"`
	}
	problem struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit returns the result as JUnit's XML. An expectation that is not met, and a turn that ended differently, are failures; what prevented
// a turn from ending is an error; a prompt that was not run is skipped.
func (r *Result) JUnit() ([]byte, error) {
	suite := testSuite{counts: counts{Name: "droid-acp smoke", Tests: len(r.Prompts), Time: seconds(r.Seconds)},
		Timestamp:  r.Started.UTC().Format(time.RFC3339),
		Properties: []property{{"agent", visible.Line(r.Agent.Name + " " + r.Agent.Version)}, {"cwd", visible.Line(r.Dir)}, {"outcome", string(r.Outcome)}}}
	for i := range r.Prompts {
		c := r.Prompts[i].testCase(i + 1)
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(testSuites{counts: suite.counts, Suite: suite}, "", "  ")
	return []byte(xml.Header + string(text) + "\n"), err
}

// beforeFailed says why a prompt was not run.
const beforeFailed = "a prompt before it failed"

func (p *PromptResult) testCase(number int) testCase {
	c := testCase{Name: fmt.Sprintf("%d: %s", number, short(p.Prompt)), ClassName: "droid-acp.smoke", Time: seconds(p.Seconds), Output: visible.Text(p.Answer)}
	why := cmp.Or(p.reason(), string(p.Outcome))
	said := &problem{Type: string(p.Outcome), Message: short(why), Text: visible.Text(why)}
	switch {
	case p.Outcome == Passed:
	case p.Outcome == NotRun:
		c.Skipped = &problem{Message: beforeFailed, Text: beforeFailed}
	case p.Error == nil:
		c.Failure = said
	default:
		c.Error = said
	}
	return c
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

// maxShort is how much of a text is used in a title, in characters.
const maxShort = 100

// short returns a text as a title.
func short(text string) string {
	line := []rune(visible.Line(strings.TrimSpace(text)))
	if len(line) > maxShort {
		return string(line[:maxShort-1]) + "…"
	}
	return string(line)
}
