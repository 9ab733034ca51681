package export

import (
	"path"
	"strings"
	"sync"
)

// language says what the colours of code in a language go by. The table is data of its
// program and costs a start nothing; what is looked up is made with the first page.
type language struct {
	names    string   // of the language and extensions of its files, the first one for people
	line     string   // what begins a comment to the end of the line
	block    []string // what begins and ends a comment, by turns
	quotes   string   // what begins and ends a string in one line, with \ before what is part of it
	long     string   // the same, in several lines
	raw      string   // in several lines, and \ is nothing special
	triple   bool     // three of the quotes begin and end a longer string
	char     bool     // ' quotes one sign, and stands for other things too
	inWord   string   // signs that words have besides letters, digits and _
	keys     string   // signs that follow names of values
	anyCase  bool     // keywords are written in any case
	keywords string
	types    string // and other names that the language has itself
	scan     func(*scanner)
}

const (
	cWords  = "auto break case const continue default do else enum extern for goto if inline register restrict return sizeof static struct switch typedef union volatile while #include #define #if #ifdef #ifndef #else #elif #endif #pragma #undef #error"
	cTypes  = "bool char double float int long short signed unsigned void size_t ssize_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t NULL true false"
	jsWords = "abstract as async await break case catch class const continue debugger declare default delete do else enum export extends finally for from function get if implements import in instanceof interface keyof let namespace new of private protected public readonly return set static super switch this throw try type typeof var while with yield"
	jsTypes = "any bigint boolean false never null number object string symbol true undefined unknown void Array Date Error Map Math Object Promise Record RegExp Set console document JSON window"
)

var languages = []language{
	{names: "Go golang go", line: "//", block: []string{"/*", "*/"}, quotes: `"'`, raw: "`",
		keywords: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var",
		types:    "any append bool byte cap clear close comparable complex64 complex128 copy delete error false float32 float64 int int8 int16 int32 int64 iota len make max min new nil panic print println recover rune string true uint uint8 uint16 uint32 uint64 uintptr"},
	{names: "Python py python3 py3 pyi", line: "#", quotes: `"'`, triple: true, inWord: "@",
		keywords: "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield",
		types:    "False None True bool bytes dict enumerate float int isinstance len list object open print range self set str super tuple type zip"},
	{names: "JavaScript js jsx mjs cjs", line: "//", block: []string{"/*", "*/"}, quotes: `"'`, long: "`", inWord: "$@", keywords: jsWords, types: jsTypes},
	{names: "TypeScript ts tsx mts cts", line: "//", block: []string{"/*", "*/"}, quotes: `"'`, long: "`", inWord: "$@", keywords: jsWords, types: jsTypes},
	{names: "JSON jsonc json5 jsonl webmanifest", line: "//", block: []string{"/*", "*/"}, quotes: `"`, keys: ":", keywords: "true false null"},
	{names: "YAML yml", line: "#", quotes: `"'`, inWord: "-./", keys: ":", keywords: "true false null yes no"},
	{names: "TOML ini cfg conf properties", line: "#", quotes: `"'`, triple: true, inWord: "-.", keys: "=", keywords: "true false"},
	{names: "Shell sh bash zsh ksh console shell-session", line: "#", long: `"`, raw: "'", inWord: "-",
		keywords: "case do done elif else esac fi for function if in select then until while break continue exit return export local readonly set shift trap unset",
		types:    "alias cd command echo eval exec false printf pwd read source test true type ulimit umask wait"},
	{names: "HTML htm xhtml vue svelte", scan: (*scanner).markup},
	{names: "XML svg xsl xsd plist csproj", scan: (*scanner).markup},
	{names: "CSS scss less", block: []string{"/*", "*/"}, quotes: `"'`, inWord: "-@", keys: ":",
		keywords: "@charset @container @font-face @import @include @keyframes @layer @media @mixin @namespace @page @property @supports @use"},
	{names: "SQL mysql postgresql postgres sqlite", line: "--", block: []string{"/*", "*/"}, raw: `'"`, anyCase: true,
		keywords: "add all alter and as asc begin between by case check column commit constraint create cross database default delete desc distinct drop else end except exists foreign from full grant group having if in index inner insert intersect into is join key left like limit not null offset on or order outer primary references returning revoke right rollback select set table then transaction trigger union unique update using values view when where with",
		types:    "bigint blob boolean bytea char date decimal double float int integer interval json jsonb numeric real serial smallint text time timestamp uuid varchar avg coalesce count max min sum now"},
	{names: "Rust rs", line: "//", block: []string{"/*", "*/"}, long: `"`, char: true,
		keywords: "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return static struct super trait type union unsafe use where while",
		types:    "Box Err None Ok Option Result Self Some String Vec bool char f32 f64 false i128 i16 i32 i64 i8 isize self str true u128 u16 u32 u64 u8 usize"},
	{names: "C h", line: "//", block: []string{"/*", "*/"}, quotes: `"'`, inWord: "#", keywords: cWords, types: cTypes},
	{names: "C++ cpp cc cxx hpp hh hxx ino", line: "//", block: []string{"/*", "*/"}, quotes: `"'`, inWord: "#", types: cTypes + " string vector nullptr wchar_t",
		keywords: cWords + " catch class concept const_cast consteval constexpr co_await co_return co_yield decltype delete dynamic_cast explicit export final friend mutable namespace new noexcept operator override private protected public reinterpret_cast requires static_assert static_cast template this throw try typeid typename using virtual"},
	{names: "C# cs csharp", line: "//", block: []string{"/*", "*/"}, quotes: `"'`, inWord: "#",
		keywords: "abstract as async await base break case catch class const continue default delegate do else enum event explicit extern finally fixed for foreach get goto if implicit in init interface internal is lock namespace new operator out override params partial private protected public readonly record ref return sealed set sizeof stackalloc static struct switch this throw try typeof unsafe using var virtual volatile when where while yield #if #else #endif #region #endregion #nullable",
		types:    "bool byte char decimal double dynamic false float int long null object sbyte short string true uint ulong ushort void"},
	{names: "Java", line: "//", block: []string{"/*", "*/"}, quotes: `"'`, triple: true, inWord: "@",
		keywords: "abstract assert break case catch class const continue default do else enum extends final finally for if implements import instanceof interface native new package permits private protected public record return sealed static super switch synchronized this throw throws transient try var volatile while yield",
		types:    "Boolean Integer List Long Map Object Set String boolean byte char double false float int long null short true void"},
	{names: "Kotlin kt kts", line: "//", block: []string{"/*", "*/"}, quotes: `"'`, triple: true, inWord: "@",
		keywords: "abstract as break by catch class companion const constructor continue data do else enum expect final finally for fun get if import in infix init inline inner interface internal is lateinit object open operator out override package private protected public return sealed set super suspend this throw try typealias val var vararg when where while",
		types:    "Any Array Boolean Byte Char Double Float Int List Long Map Nothing Set Short String Unit false null true"},
	{names: "Swift", line: "//", block: []string{"/*", "*/"}, quotes: `"`, triple: true, inWord: "@#",
		keywords: "actor as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough fileprivate final for func guard if import in init inout internal is lazy let mutating open operator override private protocol public repeat rethrows return static struct subscript super switch throw throws try typealias var weak where while",
		types:    "Any Array Bool Character Dictionary Double Float Int Optional Self Set String UInt Void false nil self true"},
	{names: "Ruby rb rake gemspec", line: "#", quotes: `"'`, inWord: "@?!",
		keywords: "alias and begin break case class def do else elsif end ensure for if in module next not or redo require require_relative rescue retry return super then undef unless until when while yield",
		types:    "attr_accessor attr_reader attr_writer false include nil private protected public puts raise self true"},
	{names: "PHP", line: "//", block: []string{"/*", "*/"}, long: `"'`, inWord: "$",
		keywords: "abstract and as break case catch class clone const continue declare default do echo else elseif empty enum extends final finally fn for foreach function global if implements include include_once instanceof interface isset list match namespace new or print private protected public readonly require require_once return static switch throw trait try unset use var while yield",
		types:    "array bool callable false float int iterable mixed null object self string true void $this"},
	{names: "Diff patch udiff", scan: (*scanner).diff},
	{names: "Markdown md mdx", scan: (*scanner).headings},
	{names: "Dockerfile docker containerfile", line: "#", quotes: `"'`, inWord: "-",
		keywords: "ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR"},
	{names: "Makefile make mk gnumakefile", line: "#", quotes: `"'`, inWord: "-.", keys: ":=",
		keywords: "define else endef endif export ifdef ifeq ifndef ifneq include override unexport vpath"},
}

// grammar is a language with its words, each by the class of its colour.
type grammar struct {
	*language
	words map[string]string
}

// grammars are the languages by each of their names, in lower case.
var grammars = sync.OnceValue(func() map[string]*grammar {
	all := make(map[string]*grammar)
	for i := range languages {
		g := &grammar{&languages[i], make(map[string]string)}
		for _, word := range strings.Fields(g.keywords) {
			g.words[word] = classKeyword
		}
		for _, word := range strings.Fields(g.types) {
			g.words[word] = classType
		}
		for _, name := range strings.Fields(g.names) {
			all[strings.ToLower(name)] = g
		}
	}
	return all
})

// grammarFor finds the language that is called so, or that a file of the name is in by
// its extension or its whole name; nil where there is none.
func grammarFor(what string) *grammar {
	what = strings.ToLower(strings.TrimSpace(what))
	if g := grammars()[what]; g != nil {
		return g
	}
	base := path.Base(strings.ReplaceAll(what, `\`, "/"))
	if g := grammars()[strings.TrimPrefix(path.Ext(base), ".")]; g != nil {
		return g
	}
	if strings.HasSuffix(base, "file") {
		return grammars()[base]
	}
	return nil
}
