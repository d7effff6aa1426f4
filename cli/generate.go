package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/mr/generate"
	"github.com/sojourn-sched/sojourn/internal/workload"
)

// documentsKind is the generator that writes a folder.
const documentsKind = "documents"

// generateCommand makes input for the built-in jobs.
func generateCommand(a *app) *cobra.Command {
	var size, output string
	var seed uint64
	var files int
	c := &cobra.Command{
		Use:   "generate KIND --size SIZE --output FILE",
		Short: "Make input for the built-in jobs: text, documents, ratings, edges, associations, teragen",
		Example: "  sojourn generate text --size 500MB --output words.txt\n  sojourn generate documents --files 200 " +
			"--size 50MB --output docs/",
		Args: atMostOne, ValidArgsFunction: fixedCompletion(append(sortedKeys(generate.All), documentsKind)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				t := newTable("KIND", "WHAT IT MAKES")
				for _, name := range sortedKeys(generate.All) {
					t.row(name, generate.All[name].About)
				}
				t.row(documentsKind, "a folder of texts: inverted-index, term-vector, sequence-count")
				t.print(a.Out)
				return nil
			}
			n, err := workload.ParseSize(size)
			if err != nil || n <= 0 {
				return usagef("--size %q: must be a size above 0, such as 500MB", size)
			}
			if output == "" {
				return usagef("--output is needed: a file, a folder for documents, or - for standard output")
			}
			if args[0] == documentsKind {
				return makeDocuments(generate.Documents{Files: files, Text: generate.Text{Bytes: n, Seed: seed}},
					output)
			}
			e, ok := generate.All[args[0]]
			if !ok {
				return usagef("no generator is named %q: there are %s", args[0],
					strings.Join(append(sortedKeys(generate.All), documentsKind), ", "))
			}
			return makeInput(a, e.New(n, seed), output)
		},
	}
	f := c.Flags()
	f.StringVar(&size, "size", "100MB", "how much to make, approximately")
	f.StringVar(&output, "output", "", "file to write, which must not exist; - is standard output")
	f.Uint64Var(&seed, "seed", 1, "seed of all chance")
	f.IntVar(&files, "files", 100, "number of files, of documents")
	return c
}

func makeInput(a *app, w generate.Writer, path string) error {
	if path == workload.StandardInput {
		return writeAll(w, a.Out)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err := errors.Join(writeAll(w, f), f.Close()); err != nil {
		return failuref("%w", errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(path)))
	}
	return nil
}

func writeAll(w generate.Writer, to io.Writer) error {
	out := bufio.NewWriterSize(to, 1<<20)
	if err := w.Write(out); err != nil {
		return err
	}
	return out.Flush()
}

func makeDocuments(d generate.Documents, dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	err := d.Each(func(name string) (io.WriteCloser, error) { return os.Create(filepath.Join(dir, name)) })
	if err != nil {
		return failuref("%w", errors.Join(fmt.Errorf("write %s: %w", dir, err), os.RemoveAll(dir)))
	}
	return nil
}
