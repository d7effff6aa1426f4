package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletionScripts lets each shell that is installed read the script that is made for it, ask for what may follow,
// and say what it got.
func TestCompletionScripts(t *testing.T) {
	for _, c := range []struct {
		shell, check string // a command line; $1 is the script
		want         string
	}{
		{"bash", `. "$1" && complete -p sojourn`, "__start_sojourn"},
		{"zsh", `autoload -U compinit && compinit -u -D && . "$1" && print -r -- $_comps[sojourn]`,
			"_sojourn"},
		{"fish", `source $argv[1]; complete -c sojourn | string collect`, "sojourn"},
		{"pwsh", `. $args[0]; (Get-Command __sojourn_debug).Name`, "__sojourn_debug"},
	} {
		t.Run(c.shell, func(t *testing.T) {
			name := c.shell
			if name == "pwsh" {
				name = "powershell"
			}
			script := must(t, "completion", name)
			if !strings.Contains(script, "__complete") {
				t.Errorf("the script does not ask sojourn for what may follow: %.200s", script)
			}
			shell, err := exec.LookPath(c.shell)
			if err != nil {
				t.Skipf("%s is not installed: only that a script is made was tested", c.shell)
			}
			path := writeFile(t, filepath.Base("sojourn."+c.shell), script)
			args := []string{"-c", c.check, "sojourn-test", path}
			if c.shell == "fish" {
				args = []string{"-c", c.check, path}
			}
			if c.shell == "pwsh" {
				args = []string{"-NoProfile", "-Command", "& {" + c.check + "}", path}
			}
			out, err := exec.CommandContext(t.Context(), shell, args...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%s %q: %v, %s; must say %q", shell, args, err, out, c.want)
			}
		})
	}
}
