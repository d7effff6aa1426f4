package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is the version that CHANGELOG.md describes, by semantic versioning.
const Version = "0.1.0"

func versionCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "version", Short: "Print the version of this program", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.printJSON(map[string]string{
					"version":  version(),
					"go":       runtime.Version(),
					"platform": runtime.GOOS + "/" + runtime.GOARCH,
				})
			}
			fmt.Fprintln(a.Out, versionLine())
			return nil
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document on standard output")
	return c
}

// versionLine is what version and --version print.
func versionLine() string {
	return fmt.Sprintf("sojourn %s (%s, %s/%s)", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// version returns Version, and the revision that Go stamped into the program, where it did: 0.1.0+1a2b3c4d5e6f.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			revision = "+" + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if revision == "" {
		return Version
	}
	return Version + revision + dirty
}
