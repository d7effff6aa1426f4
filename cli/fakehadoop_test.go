package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets the test binary be the commands of Hadoop, and our own in its containers, by the name that it is called
// by.
func TestMain(m *testing.M) {
	fake := map[string]func([]string) error{"hadoop": fakeHadoop, "mapred": fakeMapred, "yarn": fakeYarn}
	name := filepath.Base(os.Args[0])
	if name == "sojourn" {
		Main(With(copyLines))
	}
	if f := fake[name]; f != nil {
		if err := f(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A fakeApp is an application as the fake cluster knows it.
type fakeApp struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Queue        string   `json:"queue"`
	Tags         string   `json:"applicationTags"`
	State        string   `json:"state"`
	FinalStatus  string   `json:"finalStatus"`
	Progress     float64  `json:"progress"`
	StartedTime  int64    `json:"startedTime"`
	LaunchTime   int64    `json:"launchTime"`
	FinishedTime int64    `json:"finishedTime"`
	ElapsedTime  int64    `json:"elapsedTime"`
	Args         []string `json:"-"`
}

// A fakeCluster is a stand-in for a ResourceManager, its REST interface, and an installation of Hadoop whose commands
// run jobs on this machine.
type fakeCluster struct {
	mu   sync.Mutex
	apps []*fakeApp
	at   string // of REST
	home string
}

// newFakeCluster starts a cluster in an empty working directory, which is its file system.
func newFakeCluster(t *testing.T) *fakeCluster {
	t.Helper()
	c := &fakeCluster{home: t.TempDir()}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.at = server.URL
	bin, conf := filepath.Join(c.home, "bin"), filepath.Join(c.home, "etc", "hadoop")
	self, err := os.Executable()
	if err = errors.Join(err, os.MkdirAll(bin, 0o755), os.MkdirAll(conf, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hadoop", "mapred", "yarn"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	writeTo(t, filepath.Join(conf, "yarn-site.xml"), "<configuration><property><name>yarn.resourcemanager.webapp."+
		"address</name><value>"+strings.TrimPrefix(c.at, "http://")+"</value></property></configuration>")
	t.Setenv("HADOOP_HOME", c.home)
	t.Setenv("HADOOP_CONF_DIR", "")
	t.Setenv("FAKE_CLUSTER", c.at)
	t.Chdir(t.TempDir())
	return c
}

func writeTo(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// named returns the application of a name.
func (c *fakeCluster) named(t *testing.T, name string) fakeApp {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, app := range c.apps {
		if app.Name == name {
			return *app
		}
	}
	t.Fatalf("no application is named %s", name)
	return fakeApp{}
}

// ServeHTTP is REST as Hadoop has it, and what the commands tell the cluster.
func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now().UnixMilli()
	find := func(id string) *fakeApp {
		for _, app := range c.apps {
			if app.ID == id {
				app.ElapsedTime = cmp.Or(app.FinishedTime, now) - app.StartedTime
				return app
			}
		}
		return nil
	}
	page := strings.TrimPrefix(r.URL.Path, "/ws/v1/cluster/")
	switch q := r.URL.Query(); {
	case page == "scheduler":
		fmt.Fprint(w, `{"scheduler":{"schedulerInfo":{"type":"capacityScheduler"}}}`)
	case page == "apps":
		var list []*fakeApp
		for _, app := range c.apps {
			if slices.Contains(strings.Split(app.Tags, ","), q.Get("applicationTags")) {
				list = append(list, find(app.ID))
			}
		}
		if list == nil {
			fmt.Fprint(w, `{"apps":null}`)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"apps": map[string]any{"app": list}})
	case strings.HasPrefix(page, "apps/"):
		app := find(strings.TrimPrefix(page, "apps/"))
		if app == nil {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"app": app})
	case page == "/fake/submit":
		app := &fakeApp{ID: fmt.Sprintf("application_1700000000000_%04d", len(c.apps)+1), Name: q.Get("name"),
			Queue: q.Get("queue"), Tags: q.Get("tags"), State: "RUNNING", FinalStatus: "UNDEFINED", Progress: 50,
			StartedTime: now, LaunchTime: now, Args: q["arg"]}
		c.apps = append(c.apps, app)
		fmt.Fprint(w, app.ID)
	case page == "/fake/end":
		if app := find(q.Get("id")); app != nil && app.FinishedTime == 0 {
			app.State, app.FinalStatus, app.FinishedTime = q.Get("state"), q.Get("final"), now
		}
	default:
		http.Error(w, "not found", http.StatusNotFound)
	}
}

func tellFake(page string, q url.Values) (string, error) {
	r, err := http.Get(os.Getenv("FAKE_CLUSTER") + "/fake/" + page + "?" + q.Encode())
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return string(text), err
}

// fakeYarn is `yarn application -kill ID`.
func fakeYarn(args []string) error {
	if len(args) != 3 || args[0] != "application" || args[1] != "-kill" {
		return fmt.Errorf("yarn %q", args)
	}
	_, err := tellFake("end", url.Values{"id": {args[2]}, "state": {"KILLED"}, "final": {"KILLED"}})
	return err
}

// fakeHadoop is `hadoop fs` on the working directory, and `hadoop jar` of a jar that is an executable file.
func fakeHadoop(args []string) error {
	if args[0] == "jar" {
		return fakeJar(args[1:])
	}
	if args[0] != "fs" {
		return fmt.Errorf("hadoop %q", args)
	}
	switch args = args[1:]; args[0] {
	case "-ls":
		if args[1] != "-R" {
			return fmt.Errorf("fs %q", args)
		}
		for _, pattern := range args[2:] {
			files, err := fakeFiles(pattern)
			if err != nil {
				return err
			}
			for _, f := range files {
				info, err := os.Stat(f)
				if err != nil {
					return err
				}
				fmt.Printf("-rw-r--r--   3 ana etl %10d 2026-11-25 10:00 %s\n", info.Size(), f)
			}
		}
		return nil
	case "-cat":
		f, err := os.Open(args[1])
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(os.Stdout, f)
		return err
	case "-mkdir":
		for _, dir := range args[2:] {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		return nil
	case "-put":
		f, err := os.OpenFile(args[2], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, os.Stdin)
		return errors.Join(err, f.Close())
	case "-rm":
		return os.RemoveAll(args[len(args)-1])
	}
	return fmt.Errorf("fs %q", args)
}

// fakeFiles lists the files that a pattern names, directories walked down.
func fakeFiles(pattern string) (files []string, err error) {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("%s: no such file or directory", pattern)
	}
	for _, path := range found {
		err = errors.Join(err, filepath.WalkDir(path, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasPrefix(d.Name(), "_") {
				files = append(files, path)
			}
			return err
		}))
	}
	return files, err
}

// fakeOptions are the options of a launcher: -D and the others by name.
type fakeOptions struct {
	conf map[string]string
	of   map[string][]string
	rest []string
}

func readFakeOptions(args []string) (o fakeOptions) {
	o.conf, o.of = map[string]string{}, map[string][]string{}
	for len(args) > 0 {
		switch {
		case args[0] == "-D":
			key, value, _ := strings.Cut(args[1], "=")
			o.conf[key], args = value, args[2:]
		case strings.HasPrefix(args[0], "-"):
			o.of[args[0]], args = append(o.of[args[0]], args[1]), args[2:]
		default:
			o.rest, args = append(o.rest, args[0]), args[1:]
		}
	}
	return o
}

// fakeJob registers a job with the cluster, does it, and tells how it ended.
func fakeJob(args []string, o fakeOptions, do func(counters map[string]int64) error) error {
	id, err := tellFake("submit", url.Values{"name": {o.conf["mapreduce.job.name"]},
		"queue": {o.conf["mapreduce.job.queuename"]}, "tags": {o.conf["mapreduce.job.tags"]}, "arg": args})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "26/11/25 10:00:00 INFO impl.YarnClientImpl: Submitted application %s\n", id)
	counters := map[string]int64{}
	end := url.Values{"id": {id}, "state": {"FINISHED"}, "final": {"SUCCEEDED"}}
	failed := do(counters)
	if failed != nil {
		end.Set("final", "FAILED")
	}
	fmt.Fprintln(os.Stderr, "26/11/25 10:00:09 INFO mapreduce.Job:  map 100% reduce 100%")
	fmt.Fprintln(os.Stderr, "26/11/25 10:00:09 INFO mapreduce.Job: Counters: 5\n\tJob Counters ")
	for name, n := range counters {
		fmt.Fprintf(os.Stderr, "\t\t%s=%d\n", name, n)
	}
	_, err = tellFake("end", end)
	return errors.Join(failed, err)
}

// fakeJar runs a jar that is an executable file, with the options that -D gives in its environment.
func fakeJar(args []string) error {
	jar, args := args[0], args[1:]
	o := readFakeOptions(args)
	return fakeJob(args, o, func(counters map[string]int64) error {
		counters["Total time spent by all map tasks (ms)"], counters["Launched map tasks"] = 4000, 1
		cmd := exec.Command(jar, o.rest...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	})
}

// fakeMapred is `mapred streaming` by Hadoop's contract: each file is a split, or two where it has several lines.
func fakeMapred(args []string) error {
	if args[0] != "streaming" {
		return fmt.Errorf("mapred %q", args)
	}
	o := readFakeOptions(args[1:])
	return fakeJob(args, o, func(counters map[string]int64) error { return fakeStreaming(o, counters) })
}

func fakeStreaming(o fakeOptions, counters map[string]int64) error {
	out := o.of["-output"][0]
	if _, err := os.Stat(out); err == nil {
		return fmt.Errorf("output directory %s already exists", out)
	}
	dir, err := os.MkdirTemp("", "fake-container-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, file := range strings.Split(strings.Join(o.of["-files"], ","), ",") {
		if path, name, renamed := strings.Cut(file, "#"); path != "" {
			if !renamed {
				name = filepath.Base(path)
			}
			if path, err = filepath.Abs(path); err != nil {
				return err
			}
			if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	reduces, err := strconv.Atoi(cmp.Or(o.conf["mapreduce.job.reduces"], "1"))
	if err != nil {
		return err
	}
	f := fakeStream{o: o, dir: dir, reduces: reduces, parts: make([][]string, max(1, reduces)), counters: counters}
	var files []string
	for _, pattern := range o.of["-input"] {
		more, err := fakeFiles(pattern)
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		if err := f.mapFile(file, out); err != nil {
			return err
		}
	}
	for i := range reduces {
		if err := f.reducePart(i, filepath.Join(out, fmt.Sprintf("part-%05d", i))); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(out, "_SUCCESS"), nil, 0o644)
}

// A fakeStream is a job of Hadoop Streaming.
type fakeStream struct {
	o        fakeOptions
	dir      string
	reduces  int
	maps     int
	parts    [][]string // lines for each reduce
	counters map[string]int64
}

func (f *fakeStream) run(line string, in []byte, env ...string) ([]byte, error) {
	words := strings.Fields(line)
	if local := filepath.Join(f.dir, words[0]); words[0] != "cat" {
		words[0] = local
	}
	for i, word := range words {
		words[i] = strings.Trim(word, "'")
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Env = f.dir, bytes.NewReader(in), append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, "mapreduce_job_reduces="+strconv.Itoa(f.reduces), "mapreduce_map_memory_mb=512")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	for line := range strings.Lines(said.String()) {
		if c, ours := strings.CutPrefix(strings.TrimSpace(line), "reporter:counter:"); ours {
			part := strings.Split(c, ",")
			n, _ := strconv.ParseInt(part[2], 10, 64)
			f.counters[part[1]] += n
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", line, err, said.String())
	}
	return out, nil
}

// mapFile runs the mapper on the two splits of a file.
func (f *fakeStream) mapFile(file, out string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	full, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	half := bytes.IndexByte(text[len(text)/2:], '\n') + len(text)/2 + 1
	for _, split := range [][]byte{text[:half], text[half:]} {
		if len(split) == 0 {
			continue
		}
		if split[len(split)-1] != '\n' {
			split = append(slices.Clip(split), '\n')
		}
		lines, err := f.run(f.o.of["-mapper"][0], split, "mapreduce_map_input_file=file://"+full)
		if err != nil {
			return err
		}
		f.counters["Launched map tasks"]++
		f.counters["Total time spent by all map tasks (ms)"] += 2000
		f.counters["Map output records"] += int64(bytes.Count(lines, []byte("\n")))
		f.counters["Map output bytes"] += int64(len(lines))
		if f.maps++; f.reduces == 0 {
			path := filepath.Join(out, fmt.Sprintf("part-%05d", f.maps-1))
			if err := f.write(path, lines, f.o.conf["stream.num.map.output.key.fields"]); err != nil {
				return err
			}
			continue
		}
		for line := range strings.Lines(string(lines)) {
			key, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			i := f.partOf(key)
			f.parts[i] = append(f.parts[i], line)
		}
	}
	return nil
}

// partOf is what Hadoop's partitioners compute.
func (f *fakeStream) partOf(key string) int {
	if f.o.of["-partitioner"] == nil {
		h := fnv.New32()
		io.WriteString(h, key)
		return int(h.Sum32() % uint32(f.reduces))
	}
	h := int32(0)
	for _, b := range []byte(key[:4]) { // -k1.1,1.4
		h = 31*h + int32(int8(b))
	}
	return int(h&0x7fffffff) % f.reduces
}

func (f *fakeStream) reducePart(i int, path string) error {
	key := func(line string) string {
		k, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		return k
	}
	slices.SortStableFunc(f.parts[i], func(a, b string) int { return strings.Compare(key(a), key(b)) })
	text := []byte(strings.Join(f.parts[i], ""))
	if f.o.of["-reducer"] != nil && len(text) > 0 {
		var err error
		if text, err = f.run(f.o.of["-reducer"][0], text); err != nil {
			return err
		}
		f.counters["Launched reduce tasks"]++
		f.counters["Total time spent by all reduce tasks (ms)"] += 3000
		f.counters["Reduce input records"] += int64(len(f.parts[i]))
	}
	return f.write(path, text, f.o.conf["stream.num.reduce.output.key.fields"])
}

// write writes lines as TextOutputFormat does: a line without so many separators is a key, and gets one behind it.
func (f *fakeStream) write(path string, lines []byte, fields string) error {
	separator := cmp.Or(f.o.conf["mapreduce.output.textoutputformat.separator"], "\t") // an empty value is lost
	if strings.HasPrefix(separator, "${env.") && strings.HasSuffix(separator, ":-}") {
		separator = ""
	}
	n, err := strconv.Atoi(cmp.Or(fields, "1"))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for s := bufio.NewScanner(bytes.NewReader(lines)); s.Scan(); {
		line := s.Text()
		if strings.Count(line, "\t") < n {
			line += separator
		}
		out.WriteString(line + "\n")
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
