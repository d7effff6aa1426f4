package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// offered returns what shells are told may follow a command line, and the directive that comes with it.
func offered(t *testing.T, line ...string) (words []string, directive string) {
	t.Helper()
	all := strings.Split(strings.TrimSuffix(must(t, append([]string{"__complete"}, line...)...), "\n"), "\n")
	last := len(all) - 1
	for _, w := range all[:last] {
		word, _, _ := strings.Cut(w, "\t")
		words = append(words, word)
	}
	return words, all[last]
}

// TestCompletionOffersChoices asks for the values of flags that have a fixed set of them, as the scripts of all shells
// do. Directives are sums: 2 is no space after the word, 4 is no names of files.
func TestCompletionOffersChoices(t *testing.T) {
	policies, _ := offered(t, "policies", "")
	if len(policies) < 20 || !slices.Contains(policies, "hfsp") {
		t.Fatalf("there are policies %q", policies)
	}
	for _, c := range []struct {
		line      string
		want      []string
		directive string
	}{
		{"sim --policy", policies, ":4"},
		{"run --policy", policies, ":4"},
		{"rm --policy", policies, ":4"},
		{"fluid --policy", []string{"fifo", "fsp", "gittins", "las", "ps", "psbs", "spt", "srpt"}, ":4"},
		{"sim --plot", []string{"difference=", "gantt=", "shares=", "sojourn=", "tail=", "utilisation="}, ":2"},
		{"run --plot-axis", []string{"auto", "linear", "log"}, ":4"},
		{"sim --progress", []string{"always", "auto", "never"}, ":4"},
		{"sim --costs", []string{"hadoop", "none"}, ":4"},
		{"model --form", []string{"default", "fifo", "thesis"}, ":4"},
		{"model --what-if", []string{"copiers=", "disks=", "jobs=", "map-memory=", "nodes=", "reduce-memory=",
			"slow-start="}, ":2"},
		{"workload convert --to", []string{"sls", "swim", "yaml"}, ":4"},
		{"workload generate --format", []string{"sls", "swim", "yaml"}, ":4"},
		{"workload generate --mix", []string{"facebook"}, ":4"},
		{"record export --format", []string{"chrome", "csv", "json"}, ":4"},
		{"run --goal", []string{"lateness", "response", "stretch", "tardiness", "tardy"}, ":4"},
	} {
		got, directive := offered(t, append(strings.Fields(c.line), "")...)
		slices.Sort(got)
		if !slices.Equal(got, c.want) || directive != c.directive {
			t.Errorf("%s: %q %s, want %q %s", c.line, got, directive, c.want, c.directive)
		}
	}
	for _, c := range []struct {
		typed     string
		has, lack string // a word that is offered, and one that is not
		directive string
	}{
		{"fifo,", "fifo,hfsp", "hfsp", ":4"},
		{"fair:", "fair:delay=", "fair", ":6"},
		{"fair:delay=5s,", "fair:delay=5s,preempt=", "fair:delay=5s,delay=", ":6"},
		{"late{", "late{fair", "fair", ":4"},
		{"late{fair:", "late{fair:delay=", "late{fair:cap=", ":6"},
		{"late{fair}:", "late{fair}:cap=", "late{fair}:delay=", ":6"},
	} {
		got, directive := offered(t, "sim", "--policy", c.typed)
		if !slices.Contains(got, c.has) || slices.Contains(got, c.lack) || directive != c.directive {
			t.Errorf("--policy %s: %q %s; must have %s and not %s, and %s", c.typed, got, directive, c.has, c.lack,
				c.directive)
		}
	}
	for _, line := range []string{"sim", "run", "rm"} {
		if got, _ := offered(t, line, "--estimator", ""); !slices.Contains(got, "history") {
			t.Errorf("%s --estimator: %q lacks history", line, got)
		}
	}
}

// A tabbing is how a shell is made to complete "sojourn sim --policy h" as if the tabulator was pressed. In its program
// $1 is the script under test, and $2 a file with what sojourn answers. A function stands for sojourn, which writes to
// the file $3 what it is asked.
type tabbing struct {
	shell, program string
	asks           string // what the script asks sojourn for, where no shell is there to do it
}

var tabbings = []tabbing{
	{"bash", `. "$1"
		answer=$2 asked=$3
		sojourn() { echo "$*" >"$asked"; cat "$answer"; }
		_init_completion() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}; }
		COMP_WORDS=(sojourn sim --policy h) COMP_CWORD=3 COMP_TYPE=9
		__start_sojourn 2>/dev/null
		printf '%s\n' "${COMPREPLY[@]}"`, `__complete ${args[*]}`},
	{"zsh", `autoload -U compinit && compinit -u -D && . "$1" && print -r -- $_comps[sojourn]`,
		`__complete ${words[2,-1]}`},
	{"fish", `source $argv[1]
		set -g answer $argv[2]
		set -g asked $argv[3]
		function sojourn; echo $argv >$asked; cat $answer; end
		complete -C 'sojourn sim --policy h'`, `__complete $args[2..-1] $lastArg`},
	{"pwsh", `& {. $args[0]; (Get-Command __sojourn_debug).Name}`, `__complete $Arguments`},
}

// TestCompletionScripts lets each shell that is installed read the script that is made for it. bash and fish complete a
// line by it.
func TestCompletionScripts(t *testing.T) {
	answer := writeFile(t, "answer", must(t, "__complete", "sim", "--policy", "h"))
	for _, c := range tabbings {
		t.Run(c.shell, func(t *testing.T) {
			name := c.shell
			if name == "pwsh" {
				name = "powershell"
			}
			script := must(t, "completion", name)
			if !strings.Contains(script, c.asks) {
				t.Errorf("the script does not ask sojourn for what may follow by %q", c.asks)
			}
			shell, err := exec.LookPath(c.shell)
			if err != nil {
				t.Skipf("%s is not installed: only what its script asks for was tested", c.shell)
			}
			path := writeFile(t, filepath.Base("sojourn."+c.shell), script)
			asked := writeFile(t, "asked", "")
			args := []string{"-c", c.program, "sojourn-test", path, answer, asked}
			switch c.shell {
			case "fish":
				args = slices.Delete(args, 2, 3)
			case "pwsh":
				args = []string{"-NoProfile", "-Command", c.program, path}
			}
			cmd := exec.CommandContext(t.Context(), shell, args...)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // without the user's own settings
			var said, problems strings.Builder
			cmd.Stdout, cmd.Stderr = &said, &problems
			err = cmd.Run()
			got := said.String()
			switch c.shell {
			case "zsh":
				if err != nil || !strings.Contains(got, "_sojourn") {
					t.Errorf("zsh: %v, %s%s; must say _sojourn", err, got, &problems)
				}
				return
			case "pwsh":
				if err != nil || !strings.Contains(got, "__sojourn_debug") {
					t.Errorf("pwsh: %v, %s%s; must say __sojourn_debug", err, got, &problems)
				}
				return
			}
			var words []string
			for line := range strings.Lines(got) {
				words = append(words, strings.Fields(line)[0])
			}
			slices.Sort(words)
			if want := []string{"hardware", "hfsp"}; !slices.Equal(words, want) {
				t.Errorf("%s offers %q, must offer %q; %v, %s", c.shell, words, want, err, &problems)
			}
			if text, err := os.ReadFile(asked); string(text) != "__complete sim --policy h\n" {
				t.Errorf("%s asks %q for what may follow: %v, %s", c.shell, text, err, &problems)
			}
		})
	}
}
