package workload

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// samples is the folder of small files of other systems' histories.
const samples = "../../examples/imports"

// containers are the options of a cluster of containers of one vcore and 1 GiB.
func containers() Options {
	o := Defaults()
	o.MapTask, o.ReduceTask = container, container
	return o
}

// jobLine writes a job as a line: when it comes, its name, user, queue, type and stages, each with its tasks, their
// times, what one holds, and the stages that it is after.
func jobLine(j *sched.JobSpec) string {
	text := fmt.Sprintf("%v %s %s/%s %s", j.Submit, j.Name, j.User, j.Queue, j.Type)
	for i, st := range j.Stages {
		truth := j.Payload.(*Truth)
		text += fmt.Sprintf("; %v %d of %d MiB, %d vcores:", st.Kind, st.Tasks, st.PerTask[sched.Memory],
			st.PerTask[sched.VCores])
		for k := range min(st.Tasks, 4) {
			text += fmt.Sprintf(" %v", truth.Time(int32(i), k+1))
		}
		for _, d := range st.After {
			text += fmt.Sprintf(" after %d", d.Stage)
		}
	}
	return text
}

// TestImports reads the samples of other systems' histories. Those made by hand are worked out here:
//
//   - alibaba.csv: j_1 is two maps and a reduce after both, 300 hundredths of a core are 3 vcores, 0.5 % of 96 GiB is
//     492 MiB. j_2 comes 50 s before. j_3 failed.
//   - google: 1/32 of 64 vcores and 1/64 of 256 GiB; the second instance was evicted and ran from 605 s to 625 s.
//   - jobs.swf: 4 processors of 512 MiB (used) for 100 s; 2 requested of 1 GiB for 30 s; the second job did not run.
//   - sacct.txt: 16 CPUs and 32 GiB on 2 nodes are 2 tasks of 8 vcores and 16 GiB; 2000Mc is a CPU.
//   - yarn-apps.json: 300 vcore-seconds in 100 s are 3 tasks of 100 s, with 614400 ÷ 300 = 2048 MiB.
//
// The others are of stock Hadoop 3.4.2 and Spark 3.5.5.
func TestImports(t *testing.T) {
	const sparkLog = "application_1795431750327_0002_1.gz"
	for _, c := range []struct {
		file    string
		format  Format
		want    string
		leftOut int64
	}{
		{"alibaba.csv", Alibaba, `
0s j_2 / ALIBABA; other 4 of 99 MiB, 1 vcores: 5s 5s 5s 5s
50s j_1 / ALIBABA; other 3 of 492 MiB, 2 vcores: 1m0s 1m0s 1m0s; other 1 of 246 MiB, 1 vcores: 20s; ` +
			`other 2 of 984 MiB, 1 vcores: 30s 30s after 0 after 1`, 1},
		{"google.json", Google, "\n0s 42 / GOOGLE; other 2 of 4096 MiB, 2 vcores: 10s 20s", 1},
		{"google.csv", Google, "\n0s 42 / GOOGLE; other 1 of 4096 MiB, 2 vcores: 10s", 0},
		{"jobs.swf", SWF, `
0s 1 user3/queue1 SWF; other 4 of 512 MiB, 1 vcores: 1m40s 1m40s 1m40s 1m40s
20s 3 user4/queue2 SWF; other 2 of 1024 MiB, 1 vcores: 30s 30s`, 1},
		{"sacct.txt", Sacct, `
0s sweep ben/cpu SLURM; other 1 of 2000 MiB, 1 vcores: 1m0s
1m0s train ann/gpu SLURM; other 2 of 16384 MiB, 8 vcores: 10m0s 10m0s`, 1},
		{"yarn-apps.json", YARNApps, `
0s application_1700000000000_0001 ann/default SPARK; other 1 of 1024 MiB, 1 vcores: 50s
1m0s etl ben/batch MAPREDUCE; other 3 of 2048 MiB, 1 vcores: 1m40s 1m40s 1m40s`, 1},
		{sparkLog, SparkLog, "\n0s PythonPi root/ SPARK; other 4 of 896 MiB, 1 vcores: " +
			"17.343s 17.253s 2.628s 1.522s", 0},
		{"mapred-history.txt", JobText, "\n0s word count root/ MAPREDUCE; map 4 of 1024 MiB, 1 vcores: 8s 11s 8s 7s; " +
			"reduce 2 of 1024 MiB, 1 vcores: 4s 5s after 0", 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			f, err := Open(filepath.Join(samples, c.file), containers())
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // passes
				got := ""
				for j, err := range f.Jobs {
					if err != nil {
						t.Fatal(err)
					}
					got += "\n" + jobLine(j)
				}
				if f.Format != c.format || got != c.want {
					t.Errorf("%s holds%s\nwant %s%s", f.Format, got, c.format, c.want)
				}
			}
			leftOut := int64(0)
			for _, e := range f.Report.LeftOut {
				leftOut += e.Jobs
			}
			if leftOut != c.leftOut || len(f.Report.Missing) == 0 {
				t.Errorf("report %+v", f.Report)
			}
		})
	}
}

// A folder of Spark's event logs is a workload.
func TestImportSparkFolder(t *testing.T) {
	f, err := Open(samples, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := check(t, f); n != 1 || err != nil || f.Format != SparkLog {
		t.Errorf("%d jobs of %s, %v", n, f.Format, err)
	}
}

// A job of sacct that ran while the clock was set back ends before it starts. It has the time that Elapsed says, or is
// left out and counted; jobs behind it are read. Elapsed goes before the two instants for other jobs too: this is how
// long a suspended job ran.
func TestImportSacctClock(t *testing.T) {
	const (
		back  = "1|2024-10-27T02:45:00|2024-10-27T02:50:00|2024-10-27T02:10:00"
		sound = "2|2024-10-27T03:00:00|2024-10-27T03:00:10|2024-10-27T03:10:10"
		early = "the job ends before it starts, as where the clock is set back: print Elapsed too"
	)
	for _, c := range []struct {
		text, want, left string
		measured         float64
	}{
		{"JobID|Submit|Start|End\n" + back + "\n" + sound + "\n", "2:10m0s", early, 610},
		{"JobID|Submit|Start|End|Elapsed\n" + back + "|00:20:00\n" + sound + "|00:10:00\n", "1:20m0s 2:10m0s", "",
			(25*60 + 610) / 2.},
		{"JobID|Submit|Start|End|Elapsed\n" + back + "|INVALID\n" + sound + "|05:30\n", "2:5m30s", early, 610},
		{"JobID|Submit|Start|End|Elapsed\n" + back + "|1-02:03:04\n" + sound + "|\n", "1:26h3m4s 2:10m0s", "",
			(5*60 + 26*3600 + 184 + 610) / 2.},
	} {
		f, err := Read("trace", strings.NewReader(c.text), containers())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for job, err := range f.Jobs {
			if err != nil {
				t.Fatalf("%s: %v", c.text, err)
			}
			got = append(got, fmt.Sprintf("%s:%v", job.Name, job.Payload.(*Truth).Time(0, 1)))
		}
		left := ""
		for _, e := range f.Report.LeftOut {
			left += e.What
		}
		if strings.Join(got, " ") != c.want || left != c.left || math.Abs(f.Report.Measured-c.measured) > 1e-6 {
			t.Errorf("%s: %s, want %s; report %+v", c.text, got, c.want, f.Report)
		}
	}
	for _, bad := range []string{"x", "1-", "-10:00", "1:2:3:4", "1-1:2:3:4", "00:00:99999999", "1-00:-1:0", "10:0x1"} {
		_, err := drain(t, []byte("JobID|Submit|Start|End|Elapsed\n"+sound+"|"+bad+"\n"))
		wantError(t, err, "trace:2: job 2: elapsed: \""+bad+"\", must be a time such as")
	}
}

// An executor's memory has any unit that Spark reads. 2 GiB and 384 MiB of overhead are a task's, as it has one core.
func TestImportSparkMemory(t *testing.T) {
	text := unpacked(t, content(t, samples+"/application_1795431750327_0002_1.gz"))
	const said = `"spark.executor.memory":"512m"`
	if !bytes.Contains(text, []byte(said)) {
		t.Fatalf("the log does not say %s", said)
	}
	for size, want := range map[string]int64{
		"2147483648b": 2432, "2097152k": 2432, "2097152KB": 2432, "2048": 2432, "2048m": 2432, "2048mb": 2432,
		"2g": 2432, " 2GB ": 2432, "1t": 1<<20 + 1<<20/10, "1tb": 1<<20 + 1<<20/10, "1p": 1<<30 + 1<<30/10,
		"1pb": 1<<30 + 1<<30/10, "1023k": 1024, "2p": 1024, "9223372036854775807g": 1024, "2x": 1024, "g": 1024,
		"-2g": 1024, "1.5g": 1024, "": 1024, // a task has the default where the size is not said
	} {
		log := bytes.Replace(text, []byte(said), fmt.Appendf(nil, `"spark.executor.memory":%q`, size), 1)
		f, err := Read("log", bytes.NewReader(log), containers())
		if err != nil {
			t.Fatal(err)
		}
		for job, err := range f.Jobs {
			if err != nil {
				t.Fatal(err)
			}
			if got := job.Stages[0].PerTask[sched.Memory]; got != want {
				t.Errorf("%q: %d MiB, want %d", size, got, want)
			}
		}
	}
}

// Of a folder of event logs those are left out that are cut off, that end before their applications did, and whose
// tasks all failed. The report counts them by these reasons. A log with a damaged line in the middle is an error.
func TestImportSparkFolderLeavesOut(t *testing.T) {
	packed := content(t, samples+"/application_1795431750327_0002_1.gz")
	text := unpacked(t, packed)
	lines := bytes.SplitAfter(text, []byte("\n"))
	without := func(event string) (kept []byte) {
		for _, line := range lines {
			if !bytes.HasPrefix(line, []byte(`{"Event":"SparkListener`+event)) {
				kept = append(kept, line...)
			}
		}
		return kept
	}
	dir := t.TempDir()
	for name, log := range map[string][]byte{
		"application_1_0001_1":       text,
		"app-2.inprogress":           text[:len(text)/2],
		"app-3.gz":                   packed[:len(packed)/2],
		"app-4.inprogress":           nil,
		"app-5.inprogress":           lines[0],
		"local-6":                    without("ApplicationEnd"),
		"application_1_0007_1":       without("TaskEnd"),
		"application_1_0008_1":       bytes.ReplaceAll(text, []byte(`"Failed":false`), []byte(`"Failed":true`)),
		"application_1_0009_1_other": text,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), log, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(dir, containers())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := check(t, f); n != 2 || err != nil {
		t.Errorf("%d jobs, %v", n, err)
	}
	left := map[string]int64{}
	for _, e := range f.Report.LeftOut {
		left[e.What] = e.Jobs
	}
	if want := (map[string]int64{"the event log is cut off": 2, "the event log ends before the application did": 3,
		"no task of the application succeeded": 2}); !maps.Equal(left, want) || f.Report.Timed != 2 {
		t.Errorf("report %+v, want %v", f.Report, want)
	}
	damaged := filepath.Join(dir, "local-7")
	if err := os.WriteFile(damaged, append([]byte("{\"Event\":\n"), text...), 0o644); err != nil {
		t.Fatal(err)
	}
	if f, err = Open(dir, containers()); err == nil {
		_, err = check(t, f)
	}
	wantError(t, err, damaged+":1: event: unexpected end of JSON input: the line is damaged")
}

// Bad files are refused with the line and the field.
func TestImportErrors(t *testing.T) {
	for _, c := range []struct{ file, from, to, want string }{
		{"alibaba.csv", "100,160", "160,100", "trace:1: end_time 100 is before start_time 160"},
		{"alibaba.csv", "task_abc,4,j_2", "M9,4,j_1", "job j_1: its lines"},
		{"google.json", `"time":"611000000"`, `"time":"-1"`, "trace:8: time: -1, must be microseconds"},
		{"google.csv", ",0.03125,0.015625\n601", "\n601", "trace:2: has 7 fields, and the first line names 9"},
		{"jobs.swf", "20 1 30", "20 1 x", `trace:5: field 4: "x", must be a number`},
		{"sacct.txt", "|Start|", "|Began|", "trace:1: has no column start"},
		{"sacct.txt", "T10:10:30|COMPLETED|16", "T10:10:30|COMPLETED|0x10", "trace:2: job 101: alloccpus"},
		{"yarn-apps.json", `"finishedTime":1700000162000`, `"finishedTime":1500000162000`,
			"application_1700000000000_0002"},
		{"mapred-history.txt", "23-Nov-2026 11:02:06 (7sec)\tlocalhost", "yesterday\tlocalhost",
			"has 1 time, must have 2"},
	} {
		text := strings.Replace(string(content(t, filepath.Join(samples, c.file))), c.from, c.to, 1)
		_, err := drain(t, []byte(text))
		if c.to == "M9,4,j_1" { // the lines of j_1 stand apart
			text += "task_z,4,j_2,1,Terminated,50,55,50,0.1\nM1,1,j_1,1,Terminated,60,70,100,0.5\n"
			_, err = drain(t, []byte(text))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: error %v, want %s", c.file, c.to, err, c.want)
		}
	}
}

// Each format has copies that are cut off in the middle of a record, hold a wrong number, and lack a column: the error
// names the line, and what is wrong.
func TestImportsDamaged(t *testing.T) {
	const spark = "application_1795431750327_0002_1.gz"
	for _, c := range []struct{ file, from, to, want string }{ // to: "" cuts the file off after from
		{"alibaba.csv", "R3_1_2,2,j_1,1,Term", "", "trace:3: has 5 fields, must have 9"},
		{"alibaba.csv", "M1,3,j_1", "M1,three,j_1", `trace:1: instance_num: "three", must be from 1 to`},
		{"alibaba.csv", "R3_1_2,2,j_1,1,", "R3_1_2,2,j_1,", "trace:3: has 8 fields, must have 9"},
		{"google.json", `{"time":"601000000","type":"3","coll`, "", "trace:4: "},
		{"google.json", `"cpus":0.03125`, `"cpus":-1`, "trace:2: "},
		{"google.json", `"instance_index":"0","machine_id"`, `"machine_id"`, "trace:4: has no member instance_index"},
		{"google.csv", "601000000,3,42", "", "trace:3: has 3 fields, and the first line names 9"},
		{"google.csv", "601000000,3", "soon,3", "trace:3: time: "},
		{"jobs.swf", "2 10 0 -1 -1", "", "trace:4: has 5 fields, must have 18"},
		{"jobs.swf", "1 0 5 100", "1 0 5 1e2x", `trace:3: field 4: "1e2x", must be a number`},
		{"jobs.swf", "1 0 5 100", "1 0 100", "trace:3: has 17 fields, must have 18"},
		{"sacct.txt", "100|sweep|ben|cpu|2024-03-01T09:59:00", "", "trace:4: has 5 fields, and the first line"},
		{"sacct.txt", "COMPLETED|16|2|32G", "COMPLETED|many|2|32G", `trace:2: job 101: alloccpus: "many"`},
		{"sacct.txt", "|ann|gpu|", "|ann|", "trace:2: has 10 fields, and the first line names 11"},
		{"yarn-apps.json", `"startedTime":1700000060000,"laun`, "", "trace:2:1: app: ends in the middle"},
		{"yarn-apps.json", `"vcoreSeconds":300`, `"vcoreSeconds":"x"`, "trace:2:338: app.vcoreSeconds: is string"},
		{"yarn-apps.json", `"startedTime":1700000060000,`, "", "starts at 0 ms"},
		{spark, `{"Event":"SparkListenerTaskEnd","Stage ID":0`, "", "trace:15: event: unexpected end"},
		{spark, `"Finish Time":`, `"Finish Time":9`, "trace:15: task: ends at 9"},
		{spark, `"Finish Time"`, `"Finish"`, "trace:15: task: ends at 0 ms"},
		{"mapred-history.txt", "\nattempt_1795431583620_0003_m_000000_0\t23-N", "", "must have"},
		{"mapred-history.txt", "Submitted At: 23-Nov", "Submitted At: 33-Nov", "trace:7: "},
	} {
		text := string(unpacked(t, content(t, filepath.Join(samples, c.file))))
		at := strings.Index(text, c.from)
		if at < 0 {
			t.Errorf("%s does not hold %q", c.file, c.from)
			continue
		}
		damaged := text[:at+len(c.from)]
		if c.to != "" || strings.HasSuffix(c.from, ",") {
			damaged = strings.ReplaceAll(text, c.from, c.to)
		}
		if n, err := drain(t, []byte(damaged)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %q for %q: %d jobs, error %v, want %s", c.file, c.to, c.from, n, err, c.want)
		}
	}
}

// What `mapred job -history` prints without `all` lists no attempts of tasks that succeeded: it is refused, and the
// error says what to print instead.
func TestImportJobTextOfSummary(t *testing.T) {
	text := string(content(t, samples+"/mapred-history.txt"))
	text = text[:strings.Index(text, "SUCCEEDED MAP task list")]
	if _, err := drain(t, []byte(text)); err == nil || !strings.Contains(err.Error(), "trace:2: job "+
		"job_1795431583620_0003: lists no attempts: print it by 'mapred job -history all'") {
		t.Errorf("error %v", err)
	}
}

// TestImportJobTextCut cuts what `mapred job -history all` prints after each of its lines. While the list of clean-up
// attempts, the last one, has not begun, an error names the line and the remedy. Lines of attempts that are missing
// elsewhere are missed too.
func TestImportJobTextCut(t *testing.T) {
	text := string(content(t, samples+"/mapred-history.txt"))
	lines := strings.SplitAfter(text, "\n")
	for n := 2; n <= len(lines); n++ {
		jobs, err := drain(t, []byte(strings.Join(lines[:n], "")))
		if n >= len(lines)-1 { // the last element is empty
			if jobs != 1 || err != nil {
				t.Errorf("cut after line %d: %d jobs, %v; the lists are complete", n, jobs, err)
			}
			continue
		}
		last := n
		for strings.TrimSpace(lines[last-1]) == "" {
			last--
		}
		at := fmt.Sprintf("trace:%d: job job_1795431583620_0003: the text is cut off ", last)
		if strings.Contains(fmt.Sprint(err), "lists no attempts") {
			at = "trace:2: job job_1795431583620_0003: lists no attempts"
		}
		if err == nil || !strings.Contains(err.Error(), at) ||
			!strings.Contains(err.Error(), "'mapred job -history all'") {
			t.Errorf("cut after line %d: %d jobs, error %v; want %s", n, jobs, err, at)
		}
	}
	two := strings.Join(lines[:len(lines)-5], "") + text // the first of two jobs is cut off
	if n, err := drain(t, []byte(two)); err == nil || !strings.Contains(err.Error(), "is cut off in the lists") {
		t.Errorf("two jobs, the first cut off: %d jobs, %v", n, err)
	}
	for from, want := range map[string]string{
		"attempt_1795431583620_0003_m_000002_0\t": "by the task summary 4 attempts of kind Map succeeded, and 3 are",
		"attempt_1795431583620_0003_r_000001_0\t": "by the task summary 2 attempts of kind Reduce succeeded, and 1 are",
	} {
		at := strings.Index(text, from)
		without := text[:at] + text[at+strings.Index(text[at:], "\n")+1:]
		if _, err := drain(t, []byte(without)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v, want %s", from, err, want)
		}
		unclear := strings.NewReplacer("Map\t4\t4\t\t0\t", "Map\t4\t4\t\t1\t", "Reduce\t2\t2\t\t0\t0",
			"Reduce\t2\t2\t\t0\t1").Replace(without)
		if n, err := drain(t, []byte(unclear)); n != 1 || err != nil {
			t.Errorf("without %s, which may be of a task that failed: %d jobs, %v", from, n, err)
		}
	}
	for from, to := range map[string]string{"Map\t4\t4": "Map\t4\tfour", "Reduce\t2\t2\t\t0\t0": "Reduce\t2\t2"} {
		_, err := drain(t, []byte(strings.Replace(text, from, to, 1)))
		if err == nil || !strings.Contains(err.Error(), "task summary: ") {
			t.Errorf("%q: error %v", to, err)
		}
	}
	noLog := regexp.MustCompile(`http://\S*`).ReplaceAllString(text, "n/a")
	if n, err := drain(t, []byte(noLog)); n != 1 || err != nil {
		t.Errorf("without the addresses of logs: %d jobs, %v", n, err)
	}
}

// imports returns the samples by their format.
func imports(t testing.TB) map[Format][][]byte {
	t.Helper()
	paths, err := filepath.Glob(samples + "/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	texts := map[Format][][]byte{}
	for _, p := range paths {
		text := unpacked(t, content(t, p))
		f, err := Read(p, bytes.NewReader(text), Defaults())
		if err != nil {
			t.Fatal(err)
		}
		texts[f.Format] = append(texts[f.Format], text)
	}
	return texts
}

func fuzzImport(f *testing.F, format Format) {
	var texts []string
	for _, text := range imports(f)[format] {
		texts = append(texts, string(text))
	}
	fuzz(f, format, "", texts...)
}

func FuzzAlibaba(f *testing.F)  { fuzzImport(f, Alibaba) }
func FuzzGoogle(f *testing.F)   { fuzzImport(f, Google) }
func FuzzSWF(f *testing.F)      { fuzzImport(f, SWF) }
func FuzzSacct(f *testing.F)    { fuzzImport(f, Sacct) }
func FuzzYARNApps(f *testing.F) { fuzzImport(f, YARNApps) }
func FuzzSparkLog(f *testing.F) { fuzzImport(f, SparkLog) }

// FuzzJobText has copies among its seeds that are cut off at the end of a line.
func FuzzJobText(f *testing.F) {
	for _, text := range imports(f)[JobText] {
		for at, c := range text {
			if c == '\n' && (bytes.HasSuffix(text[:at], []byte("=")) || bytes.HasPrefix(text[at+1:], []byte("att"))) {
				f.Add(text[:at+1])
			}
		}
	}
	fuzzImport(f, JobText)
}
