package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/safefile"
	"github.com/sojourn-sched/sojourn/internal/workload"
)

// leaving are the flags that say which files a run leaves behind.
type leaving struct {
	record    string
	perJob    string
	plots     plots
	overwrite bool
}

// register registers them; overwrite says what that flag replaces.
func (l *leaving) register(c *cobra.Command, overwrite string) {
	fl := c.Flags()
	fl.StringVar(&l.perJob, "per-job", "", "write one CSV line a job to this file; with several policies the name "+
		"contains {policy}")
	fl.BoolVar(&l.overwrite, "overwrite", false, overwrite)
}

// registerRecord registers the flag of engines that leave records.
func (l *leaving) registerRecord(c *cobra.Command) {
	c.Flags().
		StringVar(&l.record, "record", "", "leave a record of the run in this file; with several policies the name "+
			"contains {policy}")
}

// A flagFile is a file and the word of the command line that names it.
type flagFile struct{ flag, path string }

func (f flagFile) String() string { return f.flag + " " + f.path }

// check refuses, before anything is opened, files to leave behind that would destroy what the run reads or each other,
// that exist and are not to be replaced, or that cannot be made. reads lists what the run reads; check calls it only if
// the run leaves files.
func (l *leaving) check(policies []string, reads func() []flagFile) error {
	var writes []flagFile
	for _, f := range []flagFile{{"record", l.record}, {"per-job", l.perJob}} {
		if err := checkNamed(f.flag, f.path, policies); err != nil {
			return err
		}
		if f.path == "" {
			continue
		}
		for _, p := range policies {
			writes = append(writes, flagFile{"--" + f.flag, named(f.path, p)})
		}
	}
	writes = append(writes, l.plots.files(policies)...)
	var others []flagFile
	if len(writes) > 0 {
		others = reads()
	}
	for _, w := range writes {
		for _, o := range others {
			if sameFile(w.path, o.path) {
				return usagef("%s and %s are one file, and part of it would be lost: give %s "+
					"another name", o, w, w.flag)
			}
		}
		others = append(others, w)
	}
	for _, w := range writes {
		if err := l.room(w); err != nil {
			return err
		}
	}
	return nil
}

// room refuses a file that cannot be made, or exists and is not to be replaced. Devices and pipes are written as they
// are.
func (l *leaving) room(w flagFile) error {
	info, err := os.Stat(w.path)
	switch {
	case err == nil && info.IsDir():
		return usagef("%s is a folder: give the name of a file", w)
	case err == nil && info.Mode().IsRegular() && !l.overwrite:
		return usagef("%s exists: choose another name, remove it, or say --overwrite", w)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return usageError{fmt.Errorf("%s: %w", w.flag, err)}
	}
	if dir, err := os.Stat(filepath.Dir(w.path)); err != nil {
		return usageError{fmt.Errorf("%s: %w", w, err)}
	} else if !dir.IsDir() {
		return usagef("%s: %s is not a folder", w, filepath.Dir(w.path))
	}
	return nil
}

// sameFile reports whether two names are of one file, whether the file exists or not. Devices are never the same file,
// because writing to a device loses nothing.
func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return x.Mode().IsRegular() && os.SameFile(x, y)
	}
	return errA != nil && errB != nil && whereabouts(a) == whereabouts(b)
}

// whereabouts returns a clean path of a file that need not be there, without links among the folders above it that are
// there.
func whereabouts(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	path = filepath.Clean(path)
	dir, name := filepath.Split(path)
	if name == "" {
		return path
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(real, name)
	}
	return filepath.Join(whereabouts(dir), name)
}

// equalFolders reports whether two output directories have files of the same names, with the same bytes in each. All
// files count, hidden ones too. Outputs have no folders: one with the same name in both is an error.
func equalFolders(a, b string) (bool, error) {
	names, err := os.ReadDir(a)
	if err != nil {
		return false, err
	}
	others, err := os.ReadDir(b)
	if err != nil || len(names) != len(others) {
		return false, err
	}
	for i, n := range names {
		if others[i].Name() != n.Name() {
			return false, nil
		}
		same, err := equalFiles(filepath.Join(a, n.Name()), filepath.Join(b, n.Name()))
		if !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// equalFiles reports whether two files have the same bytes.
func equalFiles(a, b string) (bool, error) {
	fa, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer fa.Close()
	fb, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer fb.Close()
	ra, rb := bufio.NewReaderSize(fa, 1<<20), bufio.NewReaderSize(fb, 1<<20)
	var pa, pb [1 << 16]byte
	for {
		na, ea := io.ReadFull(ra, pa[:])
		nb, eb := io.ReadFull(rb, pb[:])
		if !bytes.Equal(pa[:na], pb[:nb]) {
			return false, nil
		}
		ended := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
		switch {
		case ended(ea) || ended(eb):
			return ended(ea) == ended(eb), nil
		case ea != nil:
			return false, ea
		case eb != nil:
			return false, eb
		}
	}
}

// newDraft begins an output file, which all may read that the user's umask lets.
func newDraft(path string) (*safefile.Draft, error) { return safefile.NewDraft(path, 0o666) }

// keep gives an output file its name.
func keep(d *safefile.Draft) error {
	if err := d.Keep(); err != nil {
		return failuref("%w", err)
	}
	return nil
}

// A jobTable writes what became of each job as CSV. A nil one writes nothing.
type jobTable struct {
	path string
	csv  *record.JobsCSV
	file *safefile.Draft
}

// newJobTable begins a table; nil without a path. It is to be kept, and dropped in any case.
func newJobTable(path string) (*jobTable, error) {
	if path == "" {
		return nil, nil
	}
	f, err := newDraft(path)
	if err != nil {
		return nil, err
	}
	return &jobTable{path, record.NewJobsCSV(f), f}, nil
}

func (t *jobTable) write(row *record.JobRow) {
	if t != nil {
		t.csv.Write(row)
	}
}

// keep gives the table its name: no row is missing.
func (t *jobTable) keep() error {
	if t == nil {
		return nil
	}
	if err := t.csv.Close(); err != nil {
		return failuref("write %s: %w", t.path, err)
	}
	return keep(t.file)
}

// drop removes a table that was not kept.
func (t *jobTable) drop() {
	if t != nil {
		t.file.Drop()
	}
}

// A product is a file that a verb makes, which gets its name when it is whole.
type product struct {
	path      string
	overwrite bool
}

// register registers --output, whose default is usual, and --overwrite.
func (p *product) register(c *cobra.Command, usual, about string) {
	c.Flags().StringVar(&p.path, "output", usual, about)
	c.Flags().BoolVar(&p.overwrite, "overwrite", false, "replace what --output names, if it exists")
}

// file is the product as its flag names it.
func (p *product) file() flagFile { return flagFile{"--output", p.path} }

// make lets fill write the product to its file, or to standard output.
func (p *product) make(a *app, fill func(io.Writer) error) error {
	if p.path == workload.StandardInput {
		return fill(a.Out)
	}
	if err := (&leaving{overwrite: p.overwrite}).room(p.file()); err != nil {
		return err
	}
	f, err := newDraft(p.path)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	defer f.Drop()
	if err := fill(f); err != nil {
		return fmt.Errorf("write %s: %w", p.path, err)
	}
	return keep(f)
}

// whileIn is a writer that returns the context's error once that has ended.
type whileIn struct {
	ctx context.Context
	to  io.Writer
}

func (w whileIn) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.to.Write(b)
}
