// Command release writes the manual pages and the completions of shells for the sojourn command to a folder.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/sojourn-sched/sojourn/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: release FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// write makes folder/man1 and folder/completions. Equal programs give equal bytes: no page has a date.
func write(folder string) error {
	man, completions := filepath.Join(folder, "man1"), filepath.Join(folder, "completions")
	if err := errors.Join(os.MkdirAll(man, 0o755), os.MkdirAll(completions, 0o755)); err != nil {
		return err
	}
	root := cli.Command(cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Title: "SOJOURN", Section: "1", Source: "Sojourn " + cli.Version, Date: &time.Time{}}
	return errors.Join(
		doc.GenManTree(root, header, man),
		root.GenBashCompletionFileV2(filepath.Join(completions, "sojourn"), true),
		root.GenZshCompletionFile(filepath.Join(completions, "_sojourn")),
		root.GenFishCompletionFile(filepath.Join(completions, "sojourn.fish"), true),
	)
}
