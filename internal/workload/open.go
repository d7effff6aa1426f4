package workload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/internal/jobhistory"
	"github.com/sojourn-sched/sojourn/internal/unpack"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Format is a format of workload files.
type Format string

// The formats.
const (
	// tab-separated: job, submit s, gap s, map input bytes, shuffle bytes, output bytes (Chen et al., MASCOTS 2011)
	SWIM  Format = "swim"
	Rumen Format = "rumen" // Hadoop's job histories as JSON: one LoggedJob after the other
	SLS   Format = "sls"   // JSON input of YARN's Scheduler Load Simulator
	YAML  Format = "yaml"  // our own: jobs with their tasks, or with the programs to run
	// the history of a MapReduce job that its ApplicationMaster wrote, or a folder with such files
	JobHistory Format = "jhist"
	JobText    Format = "mapred-history" // what `mapred job -history all` prints
	YARNApps   Format = "yarn-apps"      // YARN's answer to GET /ws/v1/cluster/apps
	SparkLog   Format = "spark-log"      // Spark's event log of an application
	Sacct      Format = "sacct"          // Slurm's `sacct --parsable2`
	SWF        Format = "swf"            // the Standard Workload Format of the Parallel Workloads Archive
	Google     Format = "google-2019"    // instance_events of Google's cluster-usage traces
	Alibaba    Format = "alibaba-2018"   // batch_task.csv of Alibaba's cluster-trace-v2018
)

// readers read the formats whose times count from 1970, or from any instant: their first job is submitted at 0.
var readers = map[Format]func(*input, *Options, emit) error{
	Rumen: readRumen, JobHistory: readHistory, JobText: readJobText, YARNApps: readYARNApplications,
	SparkLog: readSparkLog, Sacct: readSacct, SWF: readSWF, Google: readGoogle, Alibaba: readAlibaba,
}

// StandardInput is the path that means standard input.
const StandardInput = "-"

// window is how many jobs are read ahead to put those that are slightly out of order in order.
const window = 10_000

// A File is a workload in a file.
type File struct {
	Path   string
	Format Format
	Queues []*sched.QueueSpec // that the file asks for; nil: none
	Jobs   Source
	Report *Report // of the last pass of Jobs; not to be read while passes go on

	passes sync.Mutex // held while a pass sets Report
}

// passed notes the report of a pass of Jobs that ends. Passes may go on side by side.
func (f *File) passed(r *Report) {
	f.passes.Lock()
	defer f.passes.Unlock()
	*f.Report = *r
}

// Open opens the workload at a path; what format it has, and how it is compressed, shows in its content.
// Jobs opens the file again for each pass; standard input has one pass.
func Open(path string, o Options) (*File, error) {
	if path == StandardInput {
		return Read("standard input", os.Stdin, o)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return openFolder(path, o)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open workload: %w", err)
	}
	defer f.Close()
	w, err := Read(path, f, o)
	if err != nil {
		return nil, err
	}
	w.Jobs = func(yield func(*sched.JobSpec, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(nil, fmt.Errorf("open workload: %w", err))
			return
		}
		defer f.Close()
		again, err := Read(path, f, o)
		if err != nil {
			yield(nil, err)
			return
		}
		again.Jobs(yield)
		w.passed(again.Report)
	}
	return w, nil
}

// Read reads a workload from r; errors call it name. Its Jobs have one pass, which reads on from r.
func Read(name string, r io.Reader, o Options) (*File, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("workload options: %w", err)
	}
	in, err := open(name, r)
	if err != nil {
		return nil, err
	}
	format, err := in.sniff()
	if err != nil {
		in.close()
		return nil, err
	}
	return in.file(format, &o)
}

// file returns what a text holds that has a format.
func (in *input) file(format Format, o *Options) (f *File, err error) {
	f = &File{Path: in.name, Format: format, Report: &Report{}}
	in.report = f.Report
	var jobs func(emit) error
	switch format {
	case SWIM:
		jobs = func(e emit) error { return readSWIM(in, o, e) }
	case SLS:
		jobs = func(e emit) error { return readSLS(in, o, e) }
	case YAML:
		y := newYAMLJobs(in, o)
		if f.Queues, err = y.head(); err != nil {
			in.close()
			return nil, err
		}
		jobs = y.jobs
	default:
		jobs = func(e emit) error { return readers[format](in, o, e) }
	}
	passed := false
	f.Jobs = func(yield func(*sched.JobSpec, error) bool) {
		if passed {
			yield(nil, fmt.Errorf("%s: can be read only once", in.name))
			return
		}
		passed = true
		defer in.close()
		inOrder(in.name, jobs)(yield)
	}
	if readers[format] != nil {
		f.Jobs = fromZero(f.Jobs)
	}
	return f, nil
}

// emit takes a job, and the line where it stands; it returns false to have no more.
type emit func(spec *sched.JobSpec, line int) (more bool)

// input is the text of a workload.
type input struct {
	*bufio.Reader
	name   string
	close  func()
	report *Report
}

// known names the formats in messages.
const known = "SWIM, Rumen, SLS, YAML, a job history, mapred job -history, YARN's applications, Spark's event log, " +
	"sacct, SWF, or a table of Google's or Alibaba's traces"

// lineMax is the length in bytes of the longest line of a SWIM file, and of the text that shows the format of a file.
const lineMax = 1 << 16

// byteOrder is U+FEFF in UTF-8, which some editors write first.
var byteOrder = []byte{0xef, 0xbb, 0xbf}

// open returns the text of r, decompressed within the limits of unpack.Text.
func open(name string, r io.Reader) (*input, error) {
	in := &input{name: name}
	text, err := unpack.NewReader(r, unpack.Text)
	if err != nil {
		return nil, in.broken(err)
	}
	in.Reader, in.close = bufio.NewReaderSize(text, lineMax), text.Close
	if mark, _ := in.Peek(len(byteOrder)); bytes.Equal(mark, byteOrder) {
		in.Discard(len(byteOrder))
	}
	return in, nil
}

// errCut is wrapped by errors of files that end in the middle.
var errCut = errors.New("the file is cut off")

// broken returns the error of a file whose bytes cannot be read.
func (in *input) broken(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("read %s: ends in the middle: %w", in.name, errCut)
	case errors.Is(err, unpack.ErrExpands):
		return fmt.Errorf("read %s: %w; if the file is meant to be so, decompress it first", in.name, err)
	}
	return fmt.Errorf("read %s: %w", in.name, err)
}

// at says what is wrong at a line and a column, both from 1; zero: not known.
func (in *input) at(line, column int, format string, args ...any) error {
	where := in.name
	if line > 0 {
		where = fmt.Sprintf("%s:%d", where, line)
	}
	if column > 0 {
		where = fmt.Sprintf("%s:%d", where, column)
	}
	return fmt.Errorf("%s: %w", where, fmt.Errorf(format, args...))
}

// sniff tells the format by the beginning of the text.
func (in *input) sniff() (Format, error) {
	start, err := in.Peek(lineMax)
	if err != nil && err != io.EOF {
		return "", in.broken(err)
	}
	text := bytes.TrimLeft(start, " \t\r\n")
	if len(text) == 0 {
		return "", in.at(0, 0, "is empty; it should hold a workload: %s", known)
	}
	if jobhistory.Sniff(text) {
		return JobHistory, nil
	}
	if bytes.IndexByte(start, 0) >= 0 || !validPrefix(start) {
		return "", in.at(1, 0, "is not text; it should hold a workload, as it is or compressed by gzip, zstd or "+
			"bzip2: %s", known)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	for len(first) > 0 && first[0] == '#' {
		_, text, _ = bytes.Cut(text, []byte("\n"))
		text = bytes.TrimLeft(text, " \t\r\n")
		first, _, _ = bytes.Cut(text, []byte("\n"))
	}
	if f := sniffHistory(string(first), text); f != "" {
		return f, nil
	}
	braced := len(first) > 0 && (first[0] == '{' || first[0] == '[')
	switch has := func(key string) bool { return bytes.Contains(text, []byte(key)) }; {
	case isSWIM(first) || !braced && bytes.IndexByte(first, '\t') > 0:
		return SWIM, nil
	case braced && (has(`"job.tasks"`) || has(`"am.type"`) || has(`"job.start.ms"`) || has(`"num.nodes"`)):
		return SLS, nil
	case braced && (has(`"jobID"`) || has(`"mapTasks"`) || has(`"submitTime"`)):
		return Rumen, nil
	}
	return YAML, nil
}

// sniffHistory tells the formats of other systems' histories by the first line and the beginning of a text; "": none.
func sniffHistory(first string, text []byte) Format {
	first = strings.TrimRight(first, "\r")
	has := func(key string) bool { return bytes.Contains(text, []byte(key)) }
	switch {
	case isSparkLog(first):
		return SparkLog
	case strings.HasPrefix(first, ";") && !isSWIM([]byte(first)) || isSWF(first):
		return SWF
	case strings.Contains(first, "JobID") && strings.Contains(first, "|"):
		return Sacct
	case strings.HasPrefix(first, "{") && has(`"collection_id"`),
		strings.Contains(first, ",") && strings.Contains(first, "collection_id"):
		return Google
	case isAlibaba(first):
		return Alibaba
	case strings.HasPrefix(first, "{") && has(`"apps"`) && (has(`"applicationType"`) || has(`"finalStatus"`)):
		return YARNApps
	case strings.HasPrefix(first, jobTextMark) || has("\n"+jobTextMark):
		return JobText
	}
	return ""
}

// isSWIM reports whether a line is one of SWIM's, whatever its first field: JSON and YAML have no number behind a tab.
func isSWIM(line []byte) bool {
	fields := bytes.SplitN(line, []byte("\t"), swimColumns)
	if len(fields) < swimColumns {
		return false
	}
	_, err := swimSeconds(fields[swimSubmit])
	return err == nil
}

// validPrefix reports whether text is UTF-8, apart from a last rune that the end may have cut.
func validPrefix(text []byte) bool {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n <= 1 {
			return !utf8.FullRune(text)
		}
		text = text[n:]
	}
	return true
}
