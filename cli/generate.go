package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/mr/generate"
	"github.com/sojourn-sched/sojourn/internal/safefile"
	"github.com/sojourn-sched/sojourn/internal/workload"
)

// documentsKind is the generator that writes a folder.
const documentsKind = "documents"

// generateCommand makes input for the built-in jobs.
func generateCommand(a *app) *cobra.Command {
	var size string
	var made product
	var seed uint64
	var files int
	c := &cobra.Command{
		Use:   "generate KIND --size SIZE --output FILE",
		Short: "Make input for the built-in jobs: text, ratings, edges and others",
		Example: "  sojourn generate text --size 500MB --output words.txt\n  sojourn generate documents --files 200 " +
			"--size 50MB --output docs/",
		Args: atMostOne, ValidArgsFunction: fixedCompletion(append(sortedKeys(generate.All), documentsKind)),
		RunE: func(cmd *cobra.Command, args []string) error {
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
			if made.path == "" {
				return usagef("--output is needed: a file, a folder for documents, or - for standard output")
			}
			if args[0] == documentsKind {
				if files < 1 {
					return usagef("--files %d: must be 1 or more", files)
				}
				return makeDocuments(cmd.Context(), generate.Documents{Files: files,
					Text: generate.Text{Bytes: n, Seed: seed}}, &made)
			}
			e, ok := generate.All[args[0]]
			if !ok {
				return usagef("no generator is named %q: there are %s", args[0],
					strings.Join(append(sortedKeys(generate.All), documentsKind), ", "))
			}
			err = made.make(a, func(to io.Writer) error {
				if err := writeAll(e.New(n, seed), whileIn{cmd.Context(), to}); err != nil {
					return failuref("%w", err)
				}
				return nil
			})
			if made.path == "-" {
				return leaves(err, "standard output has a part; the same command begins anew")
			}
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&size, "size", "100MB", "how much to make, approximately")
	made.register(c, "", "file to write, a folder for documents; - is standard output")
	f.Uint64Var(&seed, "seed", 1, "seed of all chance")
	f.IntVar(&files, "files", 100, "number of files, of documents")
	return c
}

func writeAll(w generate.Writer, to io.Writer) error {
	out := bufio.NewWriterSize(to, 1<<20)
	if err := w.Write(out); err != nil {
		return err
	}
	return out.Flush()
}

// makeDocuments makes a folder of texts. It replaces a folder only if nothing but such texts is in it. It ends with
// the context.
func makeDocuments(ctx context.Context, d generate.Documents, made *product) error {
	info, err := os.Stat(made.path)
	switch {
	case err == nil && !info.IsDir():
		return usagef("%s is no folder: documents need a folder that does not exist", made.file())
	case err == nil && !made.overwrite:
		return usagef("%s exists: choose another name, remove it, or say --overwrite", made.file())
	case err == nil:
		entries, err := os.ReadDir(made.path)
		if err != nil {
			return usageError{fmt.Errorf("%s: %w", made.file(), err)}
		}
		for _, e := range entries {
			if ours, _ := filepath.Match("doc-*.txt", e.Name()); !ours {
				return usagef("%s has %s, which is no document of this command: choose another name", made.file(),
					e.Name())
			}
		}
	}
	draft, err := safefile.NewDraftFolder(made.path)
	if err != nil {
		return usageError{fmt.Errorf("--output: %w", err)}
	}
	defer draft.Drop()
	err = d.Each(func(name string) (io.WriteCloser, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return os.Create(filepath.Join(draft.Name, name))
	})
	if err != nil {
		return failuref("write %s: %w", made.path, err)
	}
	if err := draft.Keep(made.overwrite); err != nil {
		return failuref("%w", err)
	}
	return nil
}
