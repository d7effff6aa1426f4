package submit

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/mr/streaming"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/mr/jobs"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Job is what a user submits: a built-in job, programs, or a jar.
type Job struct {
	Spec    *sched.JobSpec   // name, arrival, and what the scheduler is told
	Program workload.Program // of a jar: input, output, reduces and configuration only
	Jar     *Jar             // nil: Program says what to run
	Files   []string         // to ship besides the programs
}

// A Jar is a MapReduce program in Java that reads -D options, as programs by Hadoop's ToolRunner do.
type Jar struct {
	Path string
	Main []string // class, or the name of a program in the jar, before -D
	Args []string // behind -D; {input} and {output} stand for those of the job
}

// The words that stand for a job's input and output in the arguments of a jar.
const (
	inputWord  = "{input}"
	outputWord = "{output}"
)

// names reports whether an argument of the jar contains a word.
func (j *Jar) names(word string) bool {
	return slices.ContainsFunc(j.Args, func(a string) bool { return strings.Contains(a, word) })
}

// Names in the folders of containers: of this project's program, and of the file of cut points.
const (
	binaryName = "sojourn"
	cutsName   = "sojourn-cuts"
)

// Hadoop's configuration keys that are set here.
const (
	keyName      = "mapreduce.job.name"
	keyTags      = "mapreduce.job.tags"
	keyQueue     = "mapreduce.job.queuename"
	keyPriority  = "mapreduce.job.priority"
	keyReduces   = "mapreduce.job.reduces"
	keyRecursive = "mapreduce.input.fileinputformat.input.dir.recursive"
	keyMostSplit = "mapreduce.input.fileinputformat.split.maxsize"
	keyFormat    = "mapreduce.job.inputformat.class"
	keyDelimiter = "textinputformat.record.delimiter"
	keySeparator = "mapreduce.output.textoutputformat.separator"
	keyOutFields = "stream.num.reduce.output.key.fields"
	keyMapFields = "stream.num.map.output.key.fields"
)

// allFields makes Hadoop Streaming take a whole line for the key. noSeparator makes Hadoop write nothing behind the
// key; otherwise a line without TAB would get one. Hadoop drops properties with an empty value, so noSeparator becomes
// empty only when Hadoop reads it: there is no variable of that name.
const (
	allFields   = "1000000000"
	noSeparator = "${env.SOJOURN_NO_SEPARATOR:-}"
)

// Check returns an error if job j cannot be submitted, and says what to do instead. It looks at options and at local
// files (the jar, files to ship). It asks the cluster nothing: Hadoop's command finds out whether the input is there.
func (s *Submitter) Check(j *Job) error {
	p := &j.Program
	if j.Jar != nil {
		if _, err := os.Stat(j.Jar.Path); err != nil {
			return fmt.Errorf("jar: %w", err)
		}
		switch {
		case j.Jar.names(inputWord) && len(p.Input) == 0:
			return fmt.Errorf("the arguments of %s name %s: say by --input what it is", j.Jar.Path, inputWord)
		case j.Jar.names(outputWord) && p.Output == "":
			return fmt.Errorf("the arguments of %s name %s: say by --output what it is", j.Jar.Path, outputWord)
		}
		return errors.Join(checkFiles(j.Files), s.checkSample(j))
	}
	for _, path := range p.Input {
		scheme, _, _ := strings.Cut(path, ":")
		switch {
		case path == "":
			return errors.New("an input has no name: must be a file, directory or glob on the cluster")
		case path == "-":
			return errors.New("input -: a cluster cannot read standard input: put it on the cluster's file system " +
				"by 'hadoop fs -put - FILE'")
		case scheme == "pebble":
			return fmt.Errorf("input %s: a key-value store is read by 'sojourn run' only, on its own machine", path)
		}
	}
	if p.Job == "" {
		o, err := s.programs(j)
		return errors.Join(err, checkFiles(append(o.files, j.Files...)), s.checkSample(j))
	}
	job, err := s.builtIn(p)
	if err != nil {
		return err
	}
	o := s.workers(j, job, "")
	return errors.Join(checkFiles(append(o.files, j.Files...)), s.checkSample(j))
}

// checkFiles refuses files that Hadoop cannot ship: those that are not there, those whose names are no addresses, and
// two of one name.
func checkFiles(files []string) error {
	for _, file := range files {
		path, _, _ := strings.Cut(file, "#")
		if i := strings.IndexAny(path, " \t\r\n,\"<>\\^`{|}"); i >= 0 {
			return fmt.Errorf("file %q: Hadoop ships none with %q in its path: copy it to one without, and name "+
				"each file by a flag of its own", path, path[i])
		}
		if scheme, _, remote := strings.Cut(path, ":"); remote && !strings.Contains(scheme, "/") {
			continue // on the cluster
		}
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("file to ship: %w", err)
		}
	}
	return sameNames(files)
}

// checkSample refuses to sample a job whose input cannot be replaced by a sample.
func (s *Submitter) checkSample(j *Job) error {
	switch {
	case s.Sampling.Off():
		return nil
	case j.Jar != nil && (!j.Jar.names(inputWord) || !j.Jar.names(outputWord)):
		return fmt.Errorf("--sample: the arguments of %s must name its input and output by %s and %s, as in --input "+
			"books --output counts -- %s %s: a sample has others", j.Jar.Path, inputWord, outputWord, inputWord,
			outputWord)
	case len(j.Program.Input) == 0:
		return errors.New("--sample: --input is needed")
	}
	return nil
}

// builtIn makes a built-in job. It refuses jobs that Hadoop Streaming cannot run.
func (s *Submitter) builtIn(p *workload.Program) (*mr.Job, error) {
	e, ok := s.Jobs[p.Job]
	if !ok {
		return nil, fmt.Errorf("no job is named %q: there are %s", p.Job,
			strings.Join(slices.Sorted(maps.Keys(s.Jobs)), ", "))
	}
	ours, theirs := mr.Conf{}, mr.Conf{}
	var known []string
	for _, param := range e.Params {
		known = append(known, param.Name)
	}
	for key, value := range p.Conf {
		if strings.Contains(key, ".") && !slices.Contains(known, key) {
			theirs[key] = value
		} else {
			ours[key] = value
		}
	}
	if err := ours.Check(known, true); err != nil {
		return nil, err
	}
	for _, key := range []string{keyDelimiter, keyFormat, keySeparator} {
		if v, ok := theirs[key]; ok && !(key == keyFormat && strings.HasSuffix(v, ".TextInputFormat")) {
			return nil, fmt.Errorf("-D %s=%s: built-in jobs read and write lines: leave it out", key, v)
		}
	}
	if _, err := input.Configure(theirs); err != nil {
		return nil, err
	}
	job, err := e.New(ours)
	if err != nil {
		return nil, err
	}
	why := ""
	switch {
	case job.Record > 0 || job.Output == mr.Plain:
		why = "its records have a fixed length, and Hadoop Streaming passes lines: take Hadoop's own (sojourn submit " +
			"--jar hadoop-mapreduce-examples.jar terasort -- ...)"
	case job.Next != nil:
		why = "it has several rounds, and the later ones are made from files of the earlier ones on one machine: run " +
			"it by 'sojourn run'"
		if slices.Contains(known, "centroids") && ours["centroids"] == "" && p.Job == "classification" {
			why = "without -D centroids=FILE it has a first round that chooses them: give a file, such as the output " +
				"of kmeans"
		}
	}
	if why != "" {
		return nil, fmt.Errorf("job %s cannot run on a cluster: %s", p.Job, why)
	}
	reduces, err := reducesOf(p)
	if err != nil {
		return nil, err
	}
	return job, jobs.CheckReduces(p.Job, job, reduces)
}

// A shipped is how a command line looks in a container, and which files it needs there.
type shipped struct {
	line  string
	files []string
}

// ship returns the command line for a container: words that name files here become the names of shipped files. Files in
// folders of PATH are there already.
func ship(line string) (s shipped, err error) {
	words, err := streaming.Words(line)
	if err != nil {
		return s, err
	}
	paths := filepath.SplitList(os.Getenv("PATH"))
	for i, word := range words {
		info, err := os.Stat(word)
		if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(word, "-") {
			continue
		}
		full, err := filepath.Abs(word)
		if err != nil {
			return s, err
		}
		if slices.Contains(paths, filepath.Dir(full)) {
			continue
		}
		s.files = append(s.files, full)
		words[i] = filepath.Base(full)
	}
	for i, word := range words {
		switch {
		case !strings.ContainsAny(word, " \t\n'\"") && word != "":
		case !strings.Contains(word, "'"):
			words[i] = "'" + word + "'"
		default:
			words[i] = `"` + word + `"`
		}
	}
	s.line = strings.Join(words, " ")
	return s, nil
}

// programs returns the options of Hadoop Streaming that name the job's mapper, combiner and reducer. The options' files
// are the local files that these command lines name, to be shipped. A job without a mapper gets cat. An error names the
// command line that cannot be split into words.
func (s *Submitter) programs(j *Job) (o options, err error) {
	p := &j.Program
	mapper := p.Mapper
	if mapper == "" {
		mapper = "cat" // lines are pairs, as for 'sojourn run'
	}
	for _, role := range [][2]string{{"mapper", mapper}, {"combiner", p.Combiner}, {"reducer", p.Reducer}} {
		if role[1] == "" {
			continue
		}
		if role[1] == streaming.None {
			o.add("-"+role[0], role[1])
			continue
		}
		one, err := ship(role[1])
		if err != nil {
			return o, fmt.Errorf("%s: %w", role[0], err)
		}
		o.add("-"+role[0], one.line)
		o.files = append(o.files, one.files...)
	}
	return o, nil
}

// options are the options of the command that submits a job.
type options struct {
	generic []string // Hadoop's, which come first
	own     []string // of Hadoop Streaming
	files   []string // to be shipped, with # and another name
}

// add adds options of the command's own.
func (o *options) add(words ...string) { o.own = append(o.own, words...) }

// define sets a property of Hadoop's.
func (o *options) define(key, value string) { o.generic = append(o.generic, "-D", key+"="+value) }

// set defines properties, in order of their keys. If the command is one of Hadoop Streaming, which has options for some
// of them, set adds these options instead.
func (o *options) set(properties map[string]string, streams bool) {
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		switch value := properties[key]; {
		case streams && (key == keyFormat || key == "mapred.input.format.class"):
			o.add("-inputformat", value)
		case streams && key == "stream.addenvironment":
			for pair := range strings.FieldsSeq(value) {
				o.add("-cmdenv", pair)
			}
		default:
			o.define(key, value)
		}
	}
}

// workers returns the options of Hadoop Streaming for a built-in job. cuts is a file of cut points; "": there are none.
func (s *Submitter) workers(j *Job, job *mr.Job, cuts string) (o options) {
	conf := url.Values{}
	for _, key := range slices.Sorted(maps.Keys(j.Program.Conf)) {
		value := j.Program.Conf[key]
		if strings.Contains(key, ".") {
			continue
		}
		if key == "centroids" && value != "" {
			o.files = append(o.files, value)
			value = filepath.Base(value)
		}
		conf.Set(key, value)
	}
	o.files = append(o.files, s.Binary+"#"+binaryName)
	command := func(verb string) string {
		line := binaryName + " task " + verb + " " + j.Program.Job
		if len(conf) > 0 {
			line += " --conf " + conf.Encode()
		}
		return line
	}
	mapper := command("map")
	if cuts != "" {
		o.files = append(o.files, cuts+"#"+cutsName)
		mapper += " --cuts " + cutsName
	}
	o.define(keySeparator, noSeparator)
	if job.Reduces == mr.MapOnly {
		o.define(keyMapFields, allFields)
		o.add("-mapper", mapper, "-reducer", streaming.None)
		return o
	}
	o.define(keyOutFields, allFields)
	o.generic = append(o.generic, partitioner[:2]...)
	o.add(partitioner[2:]...)
	o.add("-mapper", mapper, "-reducer", command("reduce"))
	return o
}

// reducesOf returns how many reduces the user asks for; -1: the user says nothing, so the cluster's configuration
// counts.
func reducesOf(p *workload.Program) (int, error) {
	if p.Reduces >= 0 {
		return int(p.Reduces), nil
	}
	for _, key := range []string{keyReduces, "mapred.reduce.tasks"} {
		if v, ok := p.Conf[key]; ok {
			n, err := strconv.ParseInt(v, 10, 32)
			if err != nil || n < 0 {
				return 0, fmt.Errorf("-D %s=%s: must be a whole number from 0", key, v)
			}
			return int(n), nil
		}
	}
	return -1, nil
}

// A submission is a command that submits a job, and the tag by which the application is found.
type submission struct {
	program string
	args    []string
	tag     string
}

// A sizing is what prepare finds out about a job: its predicted size, and the cut points of its output.
type sizing struct {
	size string // the tag's value; "": not known
	cuts string // a file; "": there are none
}

// submission returns the command that submits job j with what prepare found out about it.
func (s *Submitter) submission(j *Job, z sizing) (sub submission, err error) {
	p := &j.Program
	var o options
	usual := "" // number of reduces
	if j.Jar == nil {
		if o, usual, err = s.streamed(j, z.cuts); err != nil {
			return sub, err
		}
	}
	sub.tag = "sojourn-" + s.token()
	tags := append([]string{sub.tag}, tagsOf(j.Spec)...)
	if z.size != "" {
		tags = append(tags, "sojourn.size="+z.size)
	}
	if more := p.Conf[keyTags]; more != "" {
		tags = append(tags, more)
	}
	o.set(j.properties(tags, usual), j.Jar == nil)
	o.files = append(o.files, j.Files...)
	if err := sameNames(o.files); err != nil {
		return sub, err
	}
	if len(o.files) > 0 {
		o.generic = append(o.generic, "-files", strings.Join(o.files, ","))
	}
	if j.Jar != nil {
		sub.program = s.Client.Hadoop
		sub.args = slices.Concat([]string{"jar", j.Jar.Path}, j.Jar.Main, o.generic)
		words := strings.NewReplacer(inputWord, strings.Join(p.Input, ","), outputWord, p.Output)
		for _, arg := range j.Jar.Args {
			sub.args = append(sub.args, words.Replace(arg))
		}
		return sub, nil
	}
	sub.program = s.Client.beside("mapred")
	sub.args = slices.Concat([]string{"streaming"}, o.generic, o.own)
	for _, in := range p.Input {
		sub.args = append(sub.args, "-input", in)
	}
	sub.args = append(sub.args, "-output", p.Output)
	return sub, nil
}

// streamed returns the options of Hadoop Streaming for a job of programs or a built-in job. It also returns how many
// reduces the job has unless the user says a number; "": as many as the cluster's configuration says. cuts is a file of
// cut points; "": there are none.
func (s *Submitter) streamed(j *Job, cuts string) (o options, reduces string, err error) {
	p := &j.Program
	if p.Job == "" {
		o, err = s.programs(j)
		return o, "", err
	}
	job, err := s.builtIn(p)
	if err != nil {
		return o, "", err
	}
	if job.Reduces == mr.MapOnly {
		reduces = "0"
	} else if job.Reduces > 0 {
		reduces = strconv.Itoa(job.Reduces)
	} else if n, err := reducesOf(p); err == nil && n < 0 && job.TotalOrder {
		reduces = "1" // another number needs cut points
	}
	return s.workers(j, job, cuts), reduces, nil
}

// properties returns Hadoop's properties for a job that has tags, and as many reduces as reduces says unless the user
// says a number; "": as many as the cluster's configuration says. Properties that the user sets by -D replace the
// others, except for tags, which hold the user's already. A number of reduces that a flag gives goes before all of
// these.
func (j *Job) properties(tags []string, reduces string) map[string]string {
	p := &j.Program
	all := map[string]string{keyName: j.Spec.Name, keyTags: strings.Join(tags, ",")}
	if j.Jar == nil {
		all[keyRecursive] = "true"
	}
	if reduces != "" {
		all[keyReduces] = reduces
	}
	if j.Spec.Queue != "" {
		all[keyQueue] = j.Spec.Queue
	}
	if j.Spec.Priority != 0 {
		all[keyPriority] = strconv.Itoa(int(j.Spec.Priority))
	}
	for key, value := range p.Conf {
		if key != keyTags && (p.Job == "" || strings.Contains(key, ".")) {
			all[key] = value
		}
	}
	if p.Reduces >= 0 {
		all[keyReduces] = strconv.Itoa(int(p.Reduces))
		delete(all, "mapred.reduce.tasks")
	}
	return all
}

// sameNames refuses two files that would have one name in a container.
func sameNames(files []string) error {
	seen := map[string]string{}
	for _, file := range files {
		path, name, renamed := strings.Cut(file, "#")
		if !renamed {
			name = filepath.Base(path)
		}
		if other, twice := seen[name]; twice && other != file {
			return fmt.Errorf("files %s and %s would both be %s in a container: rename one", other, file, name)
		}
		seen[name] = file
	}
	return nil
}
