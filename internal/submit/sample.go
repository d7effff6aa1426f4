package submit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Sampling says how much of a job's input is run first, as a job of its own, to learn the job's size (FSPY, III-A).
type Sampling struct {
	Part   float64 // of the input, below 1; 0: Splits
	Splits int     // sizes of a split; 0: Bytes
	Bytes  int64
	Seed   uint64 // decides which files are drawn
}

// Off reports whether no job is sampled.
func (s Sampling) Off() bool { return s.Part == 0 && s.Splits == 0 && s.Bytes == 0 }

// ParseSampling reads what --sample says: a part below 1 as 0.1, a number of splits as 3, or a size as 64MiB.
func ParseSampling(text string) (s Sampling, err error) {
	wrong := fmt.Errorf("%q: must be a part of the input below 1 such as 0.1, a number of splits such as 3, or a size "+
		"such as 64MiB", text)
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > 1<<20 {
			return s, wrong
		}
		return Sampling{Splits: n}, nil
	}
	if part, err := strconv.ParseFloat(text, 64); err == nil {
		if !(part > 0 && part < 1) {
			return s, wrong
		}
		return Sampling{Part: part}, nil
	}
	bytes, err := workload.ParseSize(text)
	if err != nil || bytes < 1 {
		return s, wrong
	}
	return Sampling{Bytes: bytes}, nil
}

// usualSplit is the size of a split where the configuration does not say: HDFS's block.
const usualSplit = 128 << 20

// splitSlop is how much larger than a split the last one of a file may be (Hadoop's FileInputFormat).
const splitSlop = 1.1

// An inputFile is a file of a job's input on the cluster's file system.
type inputFile struct {
	path  string
	bytes int64
}

// compressed reports whether the file must be read as a whole, by the end of its name.
func (f *inputFile) compressed() bool {
	switch strings.ToLower(path.Ext(f.path)) {
	case ".gz", ".bz2", ".zst", ".deflate", ".snappy", ".lz4", ".lzo", ".xz":
		return true
	}
	return false
}

// parseListing reads what 'hadoop fs -ls -R' wrote: permissions, replicas, owner, group, bytes, date, time and path of
// each file. Files that Hadoop's jobs pass over are left out: their names, or those of their folders, begin with '_' or
// '.'. named are the inputs as the user wrote them, whose own names count.
func parseListing(text []byte, named []string) (files []inputFile, err error) {
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) < 8 || !strings.HasPrefix(fields[0], "-") {
			continue // a folder, or a line that counts what is found
		}
		n, err := strconv.ParseInt(fields[4], 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("hadoop fs -ls: %.200q has no size in its fifth field", line)
		}
		name := strings.TrimRight(string(line), "\n")
		name = name[strings.Index(name, " "+fields[6]+" ")+len(fields[6])+2:]
		if !hidden(name, named) {
			files = append(files, inputFile{name, n})
		}
	}
	slices.SortFunc(files, func(a, b inputFile) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

// hidden reports whether Hadoop's jobs pass over a file: its name, or that of a folder above it, begins with '_' or
// '.'. Names in named, the inputs as the user wrote them, hide nothing.
func hidden(name string, named []string) bool {
	for word := range strings.SplitSeq(name, "/") {
		if (strings.HasPrefix(word, "_") || strings.HasPrefix(word, ".")) && word != "." && word != ".." &&
			!slices.ContainsFunc(named, func(in string) bool { return strings.Contains(in, word) }) {
			return true
		}
	}
	return false
}

// inputs describes a job's input before the job is submitted.
type inputs struct {
	files []inputFile
	bytes int64 // of all files
	maps  int   // estimated number of the job's maps
}

// look lists the input of a job if the job is to be sampled or needs cut points; else it returns no files.
func (s *Submitter) look(ctx context.Context, w *work) (in inputs, err error) {
	if s.Sampling.Off() && !s.wantsCuts(w.job) {
		return in, nil
	}
	p := &w.job.Program
	text, err := s.clientOf(w.job).fs(ctx, nil, append([]string{"-ls", "-R"}, p.Input...)...)
	if err != nil {
		return in, fmt.Errorf("input: %w", err)
	}
	if in.files, err = parseListing(text, p.Input); err != nil {
		return in, err
	}
	for i := range in.files {
		f := &in.files[i]
		in.bytes += f.bytes
		in.maps += splitsOf(f, splitOf(p))
	}
	return in, nil
}

// splitOf returns the size of a job's splits.
func splitOf(p *workload.Program) int64 {
	if c, err := input.Configure(map[string]string{keyMostSplit: p.Conf[keyMostSplit]}); err == nil && c.MaxSplit > 0 {
		return min(c.MaxSplit, usualSplit)
	}
	return usualSplit
}

// splitsOf returns how many splits Hadoop makes of a file.
func splitsOf(f *inputFile, split int64) int {
	if f.bytes == 0 || f.compressed() {
		return 1
	}
	return max(1, int(math.Ceil(float64(f.bytes)/float64(split)-(splitSlop-1))))
}

// prepare makes the cut points of a job and runs its sample, as far as the job needs them. It returns the file of the
// cut points and the predicted size for the job's tag, and sets w.done.Sample. A sample that fails is a note and no
// error, unless its application may still run (errLeft). A sample that ctx ends is no error either: the caller looks at
// ctx. clean removes the file of the cut points from this machine, and is never nil; the sample has removed its own.
func (s *Submitter) prepare(ctx context.Context, w *work, in inputs) (z sizing, clean func(), err error) {
	clean = func() {}
	if s.wantsCuts(w.job) {
		if z.cuts, err = s.cut(ctx, w, in); err != nil {
			return z, clean, fmt.Errorf("cut points: %w", err)
		}
		folder := filepath.Dir(z.cuts)
		clean = func() { _ = os.RemoveAll(folder) } // a temporary folder
	}
	if s.Sampling.Off() || s.Sizes == nil {
		return z, clean, nil
	}
	sampled, err := s.sample(ctx, w, in)
	switch {
	case errors.Is(err, errLeft):
		return z, clean, err
	case ctx.Err() != nil:
	case err != nil:
		s.note(w, "it is submitted without a size: %v", err)
	default:
		w.done.Sample = sampled
		z.size = sampled.Predicted.String()
	}
	return z, clean, nil
}

// note makes a remark about the job of w.
func (s *Submitter) note(w *work, format string, args ...any) {
	if s.Notes != nil {
		s.Notes(w.job.Spec.Name, fmt.Sprintf(format, args...))
	}
}

// mostCopied is how many files a sample copies parts of. FSPY reads from ten splits; each copy here takes two Java
// processes.
const mostCopied = 4

// A piece is a file, or its beginning, that a sample reads.
type piece struct {
	file  inputFile
	bytes int64 // of it
}

// whole reports whether the piece is all of the file.
func (p *piece) whole() bool { return p.bytes >= p.file.bytes }

// draw chooses what the sample of a job, by its number, reads: whole files, if the sample has room for at least
// mostCopied of them, else the beginnings of some files. whole says that files cannot be cut, because only the job
// knows their format; compressed files are never cut. The result is nil if the sample would be all of the input.
func (s Sampling) draw(in inputs, split int64, whole bool, job int) []piece {
	part := s.Part
	switch {
	case in.bytes == 0:
		return nil
	case s.Splits > 0:
		part = float64(s.Splits) * float64(split) / float64(in.bytes)
	case s.Bytes > 0:
		part = float64(s.Bytes) / float64(in.bytes)
	}
	if part >= 1 {
		return nil
	}
	lengths := make([]int64, len(in.files))
	for i := range in.files {
		lengths[i] = in.files[i].bytes
	}
	wanted := part * float64(len(lengths))
	plan := theory.SamplePlan{Part: part, Splits: min(len(lengths), mostCopied)}
	if plan.PartOfSplit = wanted / float64(plan.Splits); wanted >= mostCopied || whole {
		plan.Splits, plan.PartOfSplit = max(1, int(math.Ceil(wanted))), 1
	}
	random := rand.New(rand.NewPCG(s.Seed, uint64(job)))
	var pieces []piece
	read := int64(0)
	for _, one := range theory.SemiRandom(lengths, plan, random.IntN) {
		p := piece{in.files[one.Split], max(1, one.Bytes)}
		if p.file.bytes == 0 {
			continue
		}
		if p.file.compressed() {
			if read += p.file.bytes; len(pieces) > 0 && float64(read) > part*float64(in.bytes) {
				break // whole files are enough already
			}
			p.bytes = p.file.bytes
		}
		pieces = append(pieces, p)
	}
	if len(pieces) == 0 || len(pieces) == len(in.files) && !slices.ContainsFunc(pieces, func(p piece) bool {
		return !p.whole()
	}) {
		return nil
	}
	return pieces
}

// A Sampled is the result of a job's sample.
type Sampled struct {
	ID        string     // of its application
	Files     int        // that it read
	Bytes     int64      // of its input
	Part      float64    // of the job's input
	Took      sched.Time // its sojourn time, copying included
	Predicted sched.Time // of the job: what its containers take together
	of        facts
}

// sample runs a sample of a job and predicts the job's size. It is an error if the sample would be all of the input.
func (s *Submitter) sample(ctx context.Context, w *work, in inputs) (_ *Sampled, err error) {
	p := &w.job.Program
	pieces := s.Sampling.draw(in, splitOf(p), w.job.Jar != nil || p.Job == "" && formatted(p.Conf), w.index)
	if pieces == nil {
		return nil, fmt.Errorf("a sample would be all of its input of %d bytes in %d files", in.bytes, len(in.files))
	}
	began, client := time.Now(), s.clientOf(w.job)
	folder := strings.TrimRight(p.Output, "/") + ".sample-" + s.token()
	defer func() {
		_, failed := client.fs(context.WithoutCancel(ctx), nil, "-rm", "-r", "-f", "-skipTrash", folder)
		if failed != nil {
			s.note(w, "%s is left: %v", folder, failed)
		}
	}()
	paths, bytes, err := client.copies(ctx, folder, pieces)
	if err != nil {
		return nil, fmt.Errorf("its sample: %w", err)
	}
	job := *w.job
	spec := *job.Spec
	spec.Name, spec.Deadline, spec.Goal = "probe of "+spec.Name, 0, nil
	job.Spec, job.Program.Input, job.Program.Output = &spec, paths, folder+"/out"
	n, err := reducesOf(p)
	if err != nil {
		return nil, err
	}
	if n != 0 {
		job.Program.Reduces = 1
	}
	// Until it is measured a task counts with the least that the model predicts for one, so that samples come first.
	least := sched.Time(len(pieces)+1) * leastTask
	r, err := s.run(ctx, w, &job, sizing{size: least.String()})
	if err != nil {
		return nil, fmt.Errorf("its sample failed: %w", err)
	}
	if len(r.counters) == 0 {
		r.counters = client.askCounters(ctx, r.app.ID)
	}
	d := &Sampled{
		ID: r.app.ID, Files: len(pieces), Bytes: bytes, Part: float64(bytes) / float64(in.bytes),
		Took: time.Since(began),
	}
	told, err := probedOf(r.counters, bytes)
	if err != nil {
		return nil, fmt.Errorf("its sample %s: %w", r.app.ID, err)
	}
	d.of = facts{in, n, told}
	d.Predicted = s.Sizes.predict(w.index, d.of)
	return d, nil
}

// formatted reports whether a configuration says that files are not lines.
func formatted(conf map[string]string) bool {
	for _, key := range []string{keyFormat, "mapred.input.format.class"} {
		if v := conf[key]; v != "" && !strings.HasSuffix(v, "TextInputFormat") {
			return true
		}
	}
	return false
}

// askCounters asks Hadoop for the counters of a job whose client did not print them. Without a job history server there
// may be none.
func (c *Client) askCounters(ctx context.Context, application string) map[string]int64 {
	f := &following{counters: map[string]int64{}}
	said := &tail{Line: f.line}
	err := c.step(ctx, terms{stepTime, nil, said}, c.beside("mapred"), "job", "-status",
		strings.Replace(application, "application_", "job_", 1))
	if err != nil {
		return nil
	}
	return f.counters
}

// copies makes the input of a sample, and returns its paths and its length in bytes. Whole files are read where they
// are. The beginnings of files are copied below folder, into a folder each, so that files keep their names.
func (c *Client) copies(ctx context.Context, folder string, pieces []piece) (paths []string, n int64, err error) {
	var folders []string
	for i := range pieces {
		if p := &pieces[i]; p.whole() {
			paths, n = append(paths, p.file.path), n+p.file.bytes
		} else {
			folders = append(folders, fmt.Sprintf("%s/in/%d", folder, i))
		}
	}
	if len(folders) == 0 {
		return paths, n, nil
	}
	if _, err := c.fs(ctx, nil, append([]string{"-mkdir", "-p"}, folders...)...); err != nil {
		return nil, 0, err
	}
	for i := range pieces {
		p := &pieces[i]
		if p.whole() {
			continue
		}
		to := fmt.Sprintf("%s/in/%d/%s", folder, i, path.Base(p.file.path))
		err := c.head(ctx, p.file.path, func(from io.Reader) error {
			lines := &firstLines{from: bufio.NewReaderSize(from, 1<<16), left: p.bytes}
			_, err := c.fs(ctx, lines, "-put", "-", to)
			n += lines.given
			return errors.Join(err, lines.failed)
		})
		if err != nil {
			return nil, 0, err
		}
		paths = append(paths, to)
	}
	return paths, n, nil
}

// head calls read with a file of the cluster. What read leaves is not fetched.
func (c *Client) head(ctx context.Context, name string, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	cmd := c.command(ctx, c.Hadoop, "fs", "-cat", name)
	said := &tail{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	whole := &ending{from: out}
	err = read(whole)
	if !whole.ended {
		cancel() // the rest is not wanted, so how the command ends does not matter
	}
	ended := cmd.Wait()
	sweep(cmd)
	if err == nil && whole.ended && ended != nil {
		err = fmt.Errorf("hadoop fs -cat %s: %w%s", name, ended, said)
	}
	return err
}

// An ending is a reader that notes whether it has been read to its end.
type ending struct {
	from  io.Reader
	ended bool
}

func (e *ending) Read(b []byte) (int, error) {
	n, err := e.from.Read(b)
	e.ended = e.ended || err != nil
	return n, err
}

// firstLines is a reader of the first left bytes of a text, and of the rest of the line that is cut by that.
type firstLines struct {
	from   *bufio.Reader
	left   int64
	given  int64 // bytes that were read
	over   bool  // the last line has been read to its end
	failed error // why reading failed; the end of the text is no failure
}

// Read implements io.Reader.
func (f *firstLines) Read(b []byte) (n int, err error) {
	if f.over {
		return 0, io.EOF
	}
	if n, err = f.from.Read(b[:min(int64(len(b)), max(f.left, 1<<10))]); err != nil && err != io.EOF {
		f.failed = err
	}
	if past := f.left - 1; past < int64(n) { // the byte that ends the part, or one behind it
		at := int(max(past, 0))
		if i := bytes.IndexByte(b[at:n], '\n'); i >= 0 {
			n, f.over = at+i+1, true
		}
	}
	f.left -= int64(n)
	f.given += int64(n)
	return n, err
}
