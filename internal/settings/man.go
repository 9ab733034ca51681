package settings

import (
	"fmt"
	"strings"
)

// Man is the manual page droid-acp(1) in the language of man(7). date is the day of what
// it describes, as YYYY-MM-DD.
func Man(commands []Command, version, date string) string {
	m := &manual{}
	m.line(".TH DROID-ACP 1 %q %q %q", date, "droid-acp "+roff(version), "User Commands")
	all := shown(commands)
	m.section("NAME")
	m.line(`droid-acp \- %s`, roff("Factory's droid in editors that speak ACP"))
	m.section("SYNOPSIS")
	for i, c := range all {
		if i > 0 {
			m.line(".br")
		}
		m.line(".B %s", quoted(c.Title()))
		m.text(strings.TrimPrefix(c.Usage(), c.Title()+" "))
	}
	m.section("DESCRIPTION")
	m.text(all[0].Long)
	m.section("COMMANDS")
	for _, c := range all {
		m.item(c.Usage(), c.about())
	}
	m.flags("OPTIONS", append(Common(), versionAndHelp()...), commands)
	for _, c := range all[1:] {
		m.flags("OPTIONS OF "+strings.ToUpper(c.Name), c.Own, nil)
	}
	m.section("ENVIRONMENT")
	m.text("A flag wins over its variable, and that over the default. An empty variable counts as not set.")
	for _, row := range AllSettings(commands) {
		if row.Env != "" {
			m.item(row.Env, "The same as --"+row.Name+".")
		}
	}
	for _, v := range Variables() {
		m.item(v.Name, v.Does)
	}
	m.section("EXIT STATUS")
	for _, c := range all {
		for _, e := range c.Exits {
			m.item(fmt.Sprint(e.Code), c.Word()+": "+e.Means)
		}
	}
	m.examples(all)
	return m.String()
}

// versionAndHelp are the flags that every command has.
func versionAndHelp() []Setting {
	return []Setting{
		{Name: "version", Kind: Switch, Does: "print the version"},
		{Name: "help", Kind: Switch, Does: "print what a command does and its flags"},
	}
}

// manual collects the lines of a page.
type manual struct{ strings.Builder }

func (m *manual) line(format string, args ...any) { fmt.Fprintf(&m.Builder, format+"\n", args...) }

func (m *manual) section(title string) { m.line(".SH %s", quoted(title)) }

// text writes a paragraph. Each sentence begins on a line of its own, as roff likes it.
func (m *manual) text(text string) {
	text = strings.ReplaceAll(roff(text), ". ", ".\n")
	for _, line := range strings.Split(wrap(manWidth, "", text), "\n") {
		if strings.HasPrefix(line, ".") {
			line = `\&` + line // else it would be a macro
		}
		m.line("%s", line)
	}
}

// manWidth is how long the lines of the page's source are.
const manWidth = 78

// item is a name and what is said of it.
func (m *manual) item(name, text string) {
	m.line(".TP")
	m.line(".B %s", quoted(name))
	m.text(text)
}

// flags is a section of flags, unless all are hidden. Of those that not all commands read,
// it says who does.
func (m *manual) flags(title string, rows []Setting, commands []Command) {
	begun := false
	for _, row := range rows {
		if row.Hidden {
			continue
		}
		if !begun {
			m.section(title)
			begun = true
		}
		text := sentence(row.help())
		if who := readers(row.Name, commands); len(who) > 0 {
			text += " Read by " + strings.Join(who, ", ") + "."
		}
		m.item(row.flagUsage(), text)
	}
}

func (m *manual) examples(commands []Command) {
	begun := false
	for _, c := range commands {
		for _, e := range c.Examples {
			if !begun {
				m.section("EXAMPLES")
				begun = true
			}
			m.item(e.Call, sentence(e.Does))
		}
	}
}

// quoted is an argument of a macro.
func quoted(text string) string {
	return `"` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"`
}

// roff writes a text so that roff prints it as it is, but for what a line begins with.
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "~", `\(ti`, "^", `\(ha`, "…", "...", "–", `\(en`).Replace(text)
}
