package submit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Programs that are files here are shipped under their own names; those of PATH are on the nodes already.
func TestShip(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("lib", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"m.py", "lib/words.txt"} {
		if err := os.WriteFile(name, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir, _ := os.Getwd()
	for line, want := range map[string]shipped{
		"./m.py":                        {"m.py", []string{dir + "/m.py"}},
		"python3 m.py lib/words.txt -v": {"python3 m.py words.txt -v", []string{dir + "/m.py", dir + "/lib/words.txt"}},
		"cat":                           {"cat", nil},
		"sed 's/a b/c/'":                {"sed 's/a b/c/'", nil},
		`grep "it's"`:                   {`grep "it's"`, nil},
		"/bin/cat lib":                  {"/bin/cat lib", nil},
	} {
		if got, err := ship(line); err != nil || got.line != want.line || !slices.Equal(got.files, want.files) {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
	if err := sameNames([]string{"/a/x.py", "/b/x.py"}); err == nil {
		t.Error("two files of one name")
	}
	if err := sameNames([]string{"/a/x.py", "/b/x.py#y.py", "/a/x.py"}); err != nil {
		t.Error(err)
	}
}

func TestTags(t *testing.T) {
	s := &sched.JobSpec{Deadline: 10 * time.Minute, Weight: 2, Delays: -1, Min: sched.Resources{1},
		Goal: &sched.Goal{Metric: sched.MetricSteps, Steps: []sched.CostStep{{After: 5 * time.Minute, Cost: 1},
			{After: 10 * time.Minute, Cost: 4}}},
		Profile: &sched.Profile{Accelerators: []string{"gpu", "cell"}}}
	s.Profile.Phases[sched.PhaseMap][sched.VCores] = 2
	tags := tagsOf(s)
	want := "sojourn.deadline=10m0s sojourn.goal=5m0s:1/10m0s:4 sojourn.weight=2 sojourn.delays=0 " +
		"sojourn.accelerators=gpu/cell sojourn.map=vcores:2"
	if got := strings.Join(tags, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if Untold(s) != "min" || Untold(&sched.JobSpec{}) != "" {
		t.Errorf("untold: %q", Untold(s))
	}
	// What is written is what sched.JobSpec reads.
	read := &sched.JobSpec{}
	for _, tag := range tags {
		name, value, _ := strings.Cut(strings.TrimPrefix(tag, "sojourn."), "=")
		if known, err := read.SetTerm(name, value); !known || err != nil {
			t.Errorf("%s: %v, %v", tag, known, err)
		}
	}
	if read.Deadline != s.Deadline || len(read.Goal.Steps) != 2 || read.Goal.Weight != 2 || read.Delays != -1 ||
		read.Profile.Phases != s.Profile.Phases {
		t.Errorf("%+v", read)
	}
}

func TestReducesOf(t *testing.T) {
	for _, c := range []struct {
		reduces int32
		conf    map[string]string
		want    int
	}{
		{-1, nil, -1}, {0, nil, 0}, {3, map[string]string{keyReduces: "5"}, 3},
		{-1, map[string]string{"mapred.reduce.tasks": "5"}, 5},
	} {
		got, err := reducesOf(&workload.Program{Reduces: c.reduces, Conf: c.conf})
		if err != nil || got != c.want {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
	}
	if _, err := reducesOf(&workload.Program{Reduces: -1, Conf: map[string]string{keyReduces: "many"}}); err == nil {
		t.Error("a number of reduces that is none")
	}
}

func TestFind(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"bin/hadoop", "etc/hadoop/yarn-site.xml", "conf/yarn-site.xml"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HADOOP_HOME", home)
	t.Setenv("HADOOP_CONF_DIR", "")
	c, err := Find("", "")
	if err != nil || c.Hadoop != home+"/bin/hadoop" || c.Conf != home+"/etc/hadoop" ||
		c.beside("yarn") != home+"/bin/yarn" {
		t.Errorf("%+v, %v", c, err)
	}
	t.Setenv("HADOOP_CONF_DIR", home+"/conf")
	if c, err := Find(home+"/bin/hadoop", ""); err != nil || c.Conf != home+"/conf" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, c := range [][2]string{{home + "/nosuch", ""}, {"", home}} {
		if _, err := Find(c[0], c[1]); err == nil {
			t.Errorf("%q is found", c)
		}
	}
}

// Of what a command says the last lines are kept, and lines of any length are bounded.
func TestTail(t *testing.T) {
	var seen []string
	to := &tail{Line: func(line string) { seen = append(seen, line) }}
	for i := range 40 {
		to.Write([]byte("line "))
		to.Write([]byte{byte('0' + i%10), '\r', '\n'})
	}
	to.Write([]byte(strings.Repeat("x", 3*mostLine)))
	if len(seen) != 40 || seen[9] != "line 9" || len(to.lines) != tailLines || len(to.part) != mostLine {
		t.Errorf("%d lines seen, %q; %d kept, a part of %d bytes", len(seen), seen[:2], len(to.lines), len(to.part))
	}
}
