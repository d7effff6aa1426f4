package streaming

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/joblog"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
)

// options are what a streaming job's configuration says, under Hadoop's names (the names of Hadoop 1 in brackets):
//
//	mapreduce.job.name [mapred.job.name], mapreduce.job.id
//	mapreduce.job.reduces [mapred.reduce.tasks]       0: no shuffle and no reduce
//	mapreduce.job.inputformat.class [mapred.input.format.class]
//	    KeyValueTextInputFormat: a mapper's lines have a TAB each, at the end where there was none
//	    CombineTextInputFormat:  one mapper reads all files of its split, and is told of the first
//	stream.map.output.field.separator                 TAB; ends a field of what mapper and combiner write
//	stream.num.map.output.key.fields                  1; the key is so many fields
//	stream.reduce.input.field.separator               TAB; between key and value in what the reducer reads
//	stream.reduce.output.field.separator, stream.num.reduce.output.key.fields
//	stream.non.zero.exit.is.failure                   true
//	stream.addenvironment                             A=b C=d; added to the environment
//	mapreduce.task.timeout [mapred.task.timeout]      600000; milliseconds, 0: no limit
type options struct {
	conf              mr.Conf
	name, id          string
	mapOut, reduceOut fields
	reduceIn          []byte // between key and value
	reduces           int64
	keyed             bool // a mapper's lines have a TAB each
	combined          bool // one mapper for all files of a split
	anyExit           bool
	timeout           time.Duration
	extra             []string       // name=value
	logs              *joblog.Folder // nil: they are not kept
	guard             guard          // of all programs of the job
}

// refused are options that would change results and are not followed, with the values that ask for nothing special.
var refused = []struct {
	name     string
	harmless []string // ends of values
}{
	{"mapreduce.job.partitioner.class", []string{"HashPartitioner"}},
	{"mapred.partitioner.class", []string{"HashPartitioner"}},
	{"mapreduce.job.output.key.comparator.class", []string{"Text$Comparator"}},
	{"mapred.output.key.comparator.class", []string{"Text$Comparator"}},
	{"mapreduce.job.outputformat.class", []string{"TextOutputFormat"}},
	{"mapred.output.format.class", []string{"TextOutputFormat"}},
	{"mapreduce.output.textoutputformat.separator", []string{"\t"}},
	{"stream.map.input", []string{"text"}},
	{"stream.map.output", []string{"text"}},
	{"stream.reduce.input", []string{"text"}},
	{"stream.reduce.output", []string{"text"}},
	{"stream.stderr.reporter.prefix", []string{"reporter:"}},
}

// followed are the options that are read here.
var followed = []string{
	"mapreduce.job.name", "mapred.job.name", "mapreduce.job.id", "mapreduce.job.reduces", "mapred.reduce.tasks",
	"mapreduce.job.inputformat.class", "mapred.input.format.class",
	"stream.map.output.field.separator", "stream.num.map.output.key.fields", "stream.reduce.input.field.separator",
	"stream.reduce.output.field.separator", "stream.num.reduce.output.key.fields", "stream.non.zero.exit.is.failure",
	"stream.addenvironment", "mapreduce.task.timeout", "mapred.task.timeout",
}

// check refuses what is misspelt. Keys of the programs' own are theirs; those that begin with "stream." are Hadoop
// Streaming's.
func check(conf mr.Conf) error {
	known := append(slices.Clone(followed), input.Options()...)
	for _, r := range refused {
		known = append(known, r.name)
	}
	ours := mr.Conf{}
	for name, value := range conf {
		if strings.HasPrefix(name, "stream.") {
			ours[name] = value
		}
	}
	return errors.Join(ours.Check(known, true), conf.Check(known, false))
}

// A reading reads values of a configuration. It keeps the errors, so that all of them are told together.
type reading struct {
	conf mr.Conf
	errs []error
}

func (r *reading) fail(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

// text returns the value of the first name that is set, else def.
func (r *reading) text(def string, names ...string) string {
	for _, name := range names {
		if v, ok := r.conf[name]; ok {
			return v
		}
	}
	return def
}

// number returns the value of the first name that is set, which must be least or more, else def.
func (r *reading) number(def, least int64, names ...string) int64 {
	for _, name := range names {
		if _, ok := r.conf[name]; ok {
			n, err := r.conf.Int(name, def, least, 1<<40)
			r.errs = append(r.errs, err)
			return n
		}
	}
	return def
}

// separator returns the bytes that a name is set to, else a TAB.
func (r *reading) separator(name string) []byte {
	v := r.text("\t", name)
	if v == `\t` {
		v = "\t"
	}
	if v == "" || strings.Contains(v, "\n") {
		r.fail("configuration %s=%q: want at least one byte, and no line feed", name, v)
	}
	return []byte(v)
}

func readOptions(conf mr.Conf) (*options, error) {
	if err := check(conf); err != nil {
		return nil, err
	}
	o, r := &options{conf: conf}, &reading{conf: conf}
	for _, f := range refused {
		if v, ok := conf[f.name]; ok &&
			!slices.ContainsFunc(f.harmless, func(end string) bool { return strings.HasSuffix(v, end) }) {
			r.fail("configuration %s=%q is not supported; leave it out, or %s", f.name, v, f.harmless[0])
		}
	}
	o.name = r.text("streaming", "mapreduce.job.name", "mapred.job.name")
	o.id = strings.TrimPrefix(r.text("job_local_0001", "mapreduce.job.id"), "job_")
	o.mapOut = fields{
		r.separator("stream.map.output.field.separator"),
		int(r.number(1, 1, "stream.num.map.output.key.fields")),
	}
	o.reduceOut = fields{
		r.separator("stream.reduce.output.field.separator"),
		int(r.number(1, 1, "stream.num.reduce.output.key.fields")),
	}
	o.reduceIn = r.separator("stream.reduce.input.field.separator")
	o.reduces = r.number(-1, 0, "mapreduce.job.reduces", "mapred.reduce.tasks")
	format := r.text("", "mapreduce.job.inputformat.class", "mapred.input.format.class")
	switch format = format[strings.LastIndexByte(format, '.')+1:]; format {
	case "", "TextInputFormat":
	case "KeyValueTextInputFormat":
		o.keyed = true
	case "CombineTextInputFormat":
		o.combined = true
	default:
		r.fail("configuration mapreduce.job.inputformat.class: %s: want TextInputFormat, KeyValueTextInputFormat or "+
			"CombineTextInputFormat", format)
	}
	failure, err := conf.Bool("stream.non.zero.exit.is.failure", true)
	o.anyExit = !failure
	o.timeout = time.Duration(r.number(600_000, 0, "mapreduce.task.timeout", "mapred.task.timeout")) * time.Millisecond
	for _, pair := range strings.Fields(conf["stream.addenvironment"]) {
		if strings.IndexByte(pair, '=') < 1 {
			r.fail("configuration stream.addenvironment: %q: want name=value", pair)
		}
		o.extra = append(o.extra, pair)
	}
	return o, errors.Join(append(r.errs, err)...)
}

// environment returns what an attempt's program finds in its environment besides the engine's own: the configuration,
// where '_' replaces every byte of a name that is neither letter nor digit, and what Hadoop tells of the attempt, under
// its new and old names.
func (o *options) environment(t *mr.Task, file *input.Range) []string {
	env := make([]string, 0, len(o.conf)+len(o.extra)+24)
	for name, value := range o.conf {
		if !strings.Contains(value, "\x00") {
			env = append(env, variable(name)+"="+value)
		}
	}
	slices.Sort(env) // a map has no order, and of names that become one the last counts
	add := func(value string, names ...string) {
		for _, name := range names {
			env = append(env, name+"="+value)
		}
	}
	kind, parts := "m", t.Parts
	if t.Stage == mr.ReduceStage {
		kind = "r"
	}
	if t.Job.Reduces == mr.MapOnly {
		parts = 0
	}
	task := fmt.Sprintf("%s_%s_%06d", o.id, kind, t.Index)
	add("job_"+o.id, "mapreduce_job_id", "mapred_job_id")
	add(o.name, "mapreduce_job_name", "mapred_job_name")
	add("task_"+task, "mapreduce_task_id", "mapred_tip_id")
	add(fmt.Sprintf("attempt_%s_%d", task, t.Attempt), "mapreduce_task_attempt_id", "mapred_task_id")
	add(strconv.Itoa(t.Index), "mapreduce_task_partition", "mapred_task_partition")
	add(strconv.FormatBool(t.Stage == mr.MapStage), "mapreduce_task_ismap", "mapred_task_is_map")
	add(strconv.Itoa(parts), "mapreduce_job_reduces", "mapred_reduce_tasks")
	if file != nil {
		path, err := filepath.Abs(file.File.Path)
		if err != nil { // the working directory is gone
			path = file.File.Path
		}
		add(path, "mapreduce_map_input_file", "map_input_file")
		add(strconv.FormatInt(file.Lo, 10), "mapreduce_map_input_start", "map_input_start")
		add(strconv.FormatInt(file.Hi-file.Lo, 10), "mapreduce_map_input_length", "map_input_length")
	}
	return append(env, o.extra...)
}

func variable(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return c
		}
		return '_'
	}, name)
}
