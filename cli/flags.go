package cli

import (
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// output are the flags that say how results are shown.
type output struct {
	json     bool
	progress string
	quiet    bool
	verbose  bool
}

func (o *output) register(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "one JSON document on standard output")
	f.StringVar(&o.progress, "progress", "auto", "a progress bar on standard error: auto (on a terminal), "+
		"always, never")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "results and errors only")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "structured logs on standard error")
	completeFlag(c, "progress", "auto", "always", "never")
}

func (o *output) check() error {
	switch o.progress {
	case "auto", "always", "never":
		return nil
	}
	return usagef("--progress %q: must be auto, always or never", o.progress)
}

// bar reports whether to draw progress on w. Lines of -v would stand within the bar.
func (o *output) bar(w io.Writer) bool {
	if o.quiet || o.progress == "never" || o.verbose && o.progress != "always" {
		return false
	}
	f, ok := w.(*os.File)
	return o.progress == "always" || ok && term.IsTerminal(int(f.Fd()))
}

func (o *output) logger(w io.Writer) *slog.Logger {
	level := slog.LevelWarn
	if o.verbose {
		level = slog.LevelDebug
	}
	if o.quiet {
		level = slog.LevelError
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// inName stands in the name of a file for the policy of a run.
const inName = "{policy}"

// named puts a policy's name into a file name that has {policy} in it.
func named(path, policy string) string { return strings.ReplaceAll(path, inName, fileName(policy)) }

// fileName makes a policy's spec a part of a file name.
func fileName(spec string) string {
	return strings.NewReplacer("{", "-", "}", "", ":", "-", ",", "-", "=", "", "/", "-", " ", "").Replace(spec)
}

// checkNamed refuses one file name for several policies.
func checkNamed(flag, path string, policies []string) error {
	if path != "" && len(policies) > 1 && !strings.Contains(path, inName) {
		return usagef("--%s %s: with several policies the name must contain {policy}", flag, path)
	}
	return nil
}
