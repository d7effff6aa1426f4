package sojourn

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The widest lines, in columns; a tab is four.
const (
	widestCode = 120 // of scripts and scenarios as well
	widestText = 100 // of Markdown, apart from tables, code and links
)

// measured are the endings of the files whose lines TestTidyLines measures. Lines of terms.js that are one text are not
// measured: the words of the page, from which its interface is described.
var measured = []string{".go", ".md", ".js", ".css", ".sh", ".py"}

// TestTidyLines holds lines of code, comments and documents to a width.
func TestTidyLines(t *testing.T) {
	found := map[string][]string{}
	for _, path := range slices.Concat(slices.Collect(tracked(t, measured...)), scenarios(t)) {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // removed and not yet committed
		}
		widest, reader := widestCode, &markdown{}
		if filepath.Ext(path) == ".md" {
			widest = widestText
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasSuffix(path, "/terms.js") && strings.HasPrefix(line, `  "`) {
				continue
			}
			if widest == widestText && (reader.code(line) || strings.HasPrefix(strings.TrimSpace(line), "|") ||
				strings.Contains(line, "](")) {
				continue
			}
			if w := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t"); w > widest {
				dir := filepath.ToSlash(filepath.Dir(path))
				found[dir] = append(found[dir], fmt.Sprintf("%s:%d has %d columns, more than %d", path, i+1, w, widest))
			}
		}
	}
	ratchet(t, "longLines", found, nil)
}

// A markdown reads a document line by line and knows which lines are code.
type markdown struct {
	fenced, indented bool // within a block of code between fences, or of one by its indentation
	blank            bool // the line before was empty
	begun            bool // a line was read
	content          int  // column at which the text of the present list item begins; 0: outside lists
}

var listItem = regexp.MustCompile(`^ *(?:[-*+]|\d+[.)]) +`)

// code reports whether a line is code: between fences, or four columns deeper than the text around it and after an
// empty line. The lines that continue an item of a list are text, however deep it is.
func (m *markdown) code(line string) bool {
	defer func() { m.begun, m.blank = true, strings.TrimSpace(line) == "" }()
	if strings.HasPrefix(strings.TrimSpace(line), "```") {
		m.fenced, m.indented = !m.fenced, false
		return true
	}
	if m.fenced {
		return true
	}
	if strings.TrimSpace(line) == "" {
		return m.indented
	}
	depth := len(line) - len(strings.TrimLeft(line, " "))
	if m.blank && depth < m.content && !listItem.MatchString(line) {
		m.content = 0
	}
	m.indented = depth >= m.content+4 && (m.indented || m.blank || !m.begun)
	if m.indented {
		return true
	}
	if item := listItem.FindString(line); item != "" {
		m.content = len(item)
	}
	return false
}

// TestMarkdownCode tells text from code in a document with nested lists.
func TestMarkdownCode(t *testing.T) {
	const document = `text
    continues a paragraph

    !code

    !code

1. item
   - nested item
     that goes on
       however deep

     of two paragraphs

         !code in the item
2. item

text

    !code
- item
` + "```" + `
!fenced
` + "```" + `
    that goes on`
	var m markdown
	for i, line := range strings.Split(document, "\n") {
		trimmed := strings.TrimSpace(line)
		want := strings.HasPrefix(trimmed, "!") || strings.HasPrefix(trimmed, "```")
		if got := m.code(line); got != want && trimmed != "" {
			t.Errorf("line %d %q is code: %v, want %v", i+1, line, got, want)
		}
	}
}

// phrases are those that plain technical English does without, and what to write instead.
var phrases = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\bno` + `body\b`), "name the actor: no job, no client"},
	{regexp.MustCompile(`(?i)\bsome` + `body\b`), "name the actor: a user, a client"},
	{regexp.MustCompile(`(?i)\bwho` + `ever\b`), "name the actor: the caller, the policy"},
	{regexp.MustCompile(`(?i)\bwho (calls|asks|reads|knows|runs|wants)\b`), "name the actor: the caller, the user"},
	{regexp.MustCompile(`(?i)\bwh` + `om\b`), "name the person or the program"},
	{regexp.MustCompile(`(?i)\bof wh` + `ich\b`), "two sentences, with the noun again"},
	{regexp.MustCompile(`(?i)\bwhich of th` + `em\b`), "the noun again"},
	{regexp.MustCompile(`(?i)\bbe it\b`), "whether"},
	{regexp.MustCompile(`(?i)\bfor` + `e(tell|told|tells)\b`), "predict"},
	{regexp.MustCompile(`(?i)\b(has|have|had|having) ` +
		`(it|them|jobs|tasks|nodes|programs|policies|` +
		`(?:an?|the|all|every|each|its|their|what is|what was) (?:\w+ ){0,2}?\w+) ` +
		`(done|run|made|told|kept|sent|begun|taken|learned|\w{2,}ed) ` +
		`(again|anew|at|by|for|from|in|of|on|that|to|until|when|while|with)\b`), "a plain verb: makes, asks, " +
		"starts, ends"},
	{regexp.MustCompile(`(?i)^(// )?\w+ has (an?|the|all|every|each|its) (\w+ ` +
		`){1,2}(stay|go|come|end|learn|wait|show|count|start|stop)\b`), "a plain verb"},
}

// TestTidyWords looks for the phrases in comments, messages and documents.
func TestTidyWords(t *testing.T) {
	found := map[string][]string{}
	look := func(path string, line int, text string) {
		for _, p := range phrases {
			if m := p.pattern.FindString(text); m != "" {
				dir := filepath.ToSlash(filepath.Dir(path))
				found[dir] = append(found[dir], fmt.Sprintf("%s:%d: %q: %s", path, line, m, p.instead))
			}
		}
	}
	list, set := sources(t)
	for _, s := range list {
		for _, group := range s.file.Comments {
			var words []string
			for _, c := range group.List {
				words = append(words, strings.TrimSpace(strings.TrimPrefix(c.Text, "//")))
			}
			look(s.path, set.Position(group.Pos()).Line, strings.Join(words, " "))
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, " ") &&
				!strings.HasPrefix(s.path, "tidy_") {
				look(s.path, set.Position(lit.Pos()).Line, lit.Value)
			}
			return true
		})
	}
	for path := range tracked(t, ".md") {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		at := 1
		for paragraph := range strings.SplitSeq(string(text), "\n\n") {
			look(path, at, strings.Join(strings.Fields(paragraph), " "))
			at += strings.Count(paragraph, "\n") + 2
		}
	}
	for _, path := range scenarios(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		line, comment := 0, 0 // the present line, and the one at which a comment begins
		words := ""
		for l := range strings.Lines(string(text) + "\n") {
			line++
			if said, ok := strings.CutPrefix(strings.TrimSpace(l), "#"); ok {
				if words == "" {
					comment = line
				}
				words += said
				continue
			}
			look(path, comment, strings.TrimSpace(words))
			words = ""
		}
	}
	ratchet(t, "plainWords", found, nil)
}

// scenarios returns the files of scenarios of policies: data, with comments from which readers learn the policies.
func scenarios(t *testing.T) (list []string) {
	t.Helper()
	for path := range everyFile(t) {
		if strings.Contains(path, "testdata/") && filepath.Ext(path) == ".txt" &&
			(strings.HasPrefix(path, "policy/") || strings.HasPrefix(path, "examples/own/")) {
			list = append(list, path)
		}
	}
	return list
}

// ratchet fails the test where a folder has more findings than it may, and logs where it has fewer.
func ratchet(t *testing.T, name string, found map[string][]string, allowed map[string]int) {
	t.Helper()
	if os.Getenv("TIDY_COUNT") != "" { // prints the numbers as they are
		for _, dir := range sortedKeys(found) {
			fmt.Printf("%s\t%q: %d,\n", name, dir, len(found[dir]))
		}
		return
	}
	for _, dir := range sortedKeys(found) {
		if n := len(found[dir]); n > allowed[dir] {
			t.Errorf("%s: %d findings, and %d are allowed:\n%s", dir, n, allowed[dir], strings.Join(found[dir], "\n"))
		}
	}
	for dir, n := range allowed {
		if len(found[dir]) < n {
			t.Logf("%s[%q] is %d and can be %d", name, dir, n, len(found[dir]))
		}
	}
}

func sortedKeys[T any](m map[string]T) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// tracked yields the files of the tree with some endings, outside testdata.
func tracked(t *testing.T, endings ...string) func(yield func(string) bool) {
	t.Helper()
	files := everyFile(t)
	return func(yield func(string) bool) {
		for path := range files {
			if slices.Contains(endings, filepath.Ext(path)) && !strings.Contains(path, "testdata/") && !yield(path) {
				return
			}
		}
	}
}
