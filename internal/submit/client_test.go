package submit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// commands returns a client whose commands hadoop, mapred and yarn are a script.
func commands(t *testing.T, script string) *Client {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"hadoop", "mapred", "yarn"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &Client{Hadoop: filepath.Join(dir, "hadoop"), Conf: dir}
}

// cats is a job of programs.
func cats() *Job {
	return &Job{Spec: &sched.JobSpec{Name: "J", User: "ana"}, Program: workload.Program{Mapper: "cat", Reducer: "cat",
		Reduces: 1, Input: []string{"in"}, Output: "out"}}
}

// Jobs that find the active ResourceManager at the same time forget no address.
func TestAddressesKept(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	active := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		both.Done()
		both.Wait()
		fmt.Fprint(w, `{"apps":null}`)
	}))
	defer active.Close()
	standby := httptest.NewServer(http.NotFoundHandler())
	defer standby.Close()
	c := &Cluster{Addresses: []string{standby.URL, active.URL}}
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			if _, _, err := c.tagged(context.Background(), "x"); err != nil {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	if !slices.Equal(c.Addresses, []string{active.URL, standby.URL}) {
		t.Errorf("%q, want %s and %s", c.Addresses, active.URL, standby.URL)
	}
}

// Where jobs are submitted as their users, all that is done for a job is done as its user.
func TestAsUsers(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	silent := &Cluster{Addresses: []string{"http://127.0.0.1:1"}}
	s := &Submitter{AsUsers: true, Cluster: silent, Sampling: Sampling{Part: 0.1}, Client: commands(t,
		`echo "$HADOOP_USER_NAME $*" >>`+log+`
		case "$2" in
		-ls) echo "-rw-r--r-- 1 a b 1000 2026-01-01 10:00 in/x";;
		-cat) yes | head -c 1000;;
		-put) cat >/dev/null;;
		esac
		`)}
	var err error
	if s.Sizes, err = OpenSizes(""); err != nil {
		t.Fatal(err)
	}
	s.serve(context.Background(), &work{job: cats(), done: &Done{}})
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fs -ls", "fs -mkdir", "fs -cat", "fs -put", "streaming -D", "job -status",
		"fs -rm"} {
		if !strings.Contains(string(text), "ana "+want) {
			t.Errorf("%s was not called as ana:\n%s", want, text)
		}
	}
}

// What a client says on its two outputs is kept in its order, also where it is shown.
func TestListening(t *testing.T) {
	var shown, want bytes.Buffer
	s := &Submitter{Cluster: &Cluster{}, Client: commands(t,
		"i=0; while [ $i -lt 200 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done\n")}
	s.Client.Log = &shown
	if _, err := s.run(context.Background(), &work{job: cats()}, cats(), sizing{}); err == nil {
		t.Error("nothing was submitted, and that is no error")
	}
	for i := range 200 {
		fmt.Fprintf(&want, "o%d\ne%d\n", i, i)
	}
	if !bytes.Equal(shown.Bytes(), want.Bytes()) {
		t.Errorf("%d bytes in another order than the client wrote %d", shown.Len(), want.Len())
	}
}

// A client that ends well and has submitted nothing, as one that runs jobs on its own machine does, has failed.
func TestNothingSubmitted(t *testing.T) {
	rm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"apps":null}`)
	}))
	defer rm.Close()
	s := &Submitter{Cluster: &Cluster{Addresses: []string{rm.URL}}, Client: commands(t,
		"echo INFO mapreduce.Job: Running job: job_local123_0001\n")}
	done, err := s.Serve(context.Background(), []Job{*cats()})
	if err != nil || done[0].Outcome != sched.Failed || done[0].Err == nil ||
		!strings.Contains(done[0].Err.Error(), "mapreduce.framework.name=yarn") {
		t.Errorf("%+v, %v", done, err)
	}
	s.Cluster.Addresses[0] = "http://127.0.0.1:1" // does not answer: the client's word counts
	if done, _ = s.Serve(context.Background(), []Job{*cats()}); done[0].Outcome != sched.OK {
		t.Errorf("%+v", done)
	}
}

// Jobs that arrive at the same time have as many clients at a time as there may be, and begin in the order of their
// arrivals. A client ends when as many have begun as may run at a time, however long that takes.
func TestClients(t *testing.T) {
	for clients, most := range map[int]int{1: 1, 2: 2, 0: 5} {
		log := filepath.Join(t.TempDir(), "log")
		s := &Submitter{Clients: clients, Cluster: &Cluster{Addresses: []string{"http://127.0.0.1:1"}},
			Client: commands(t, fmt.Sprintf(`for a; do case "$a" in mapreduce.job.name=*) name=${a#*=};; esac; done
			case "$1" in streaming) echo "+$name" >>%[1]s
				while [ $(grep -c + %[1]s) -lt %[2]d ]; do sleep 0.02; done
				sleep 0.3 # more would begin
				echo - >>%[1]s;;
			esac
			`, log, most))}
		var waits []string
		s.Notes = func(job, remark string) {
			if strings.HasPrefix(remark, "waits") {
				waits = append(waits, job)
			}
		}
		list := make([]Job, 5)
		for i := range list {
			list[i] = *cats()
			list[i].Spec.Name = fmt.Sprint(i)
			list[i].Program.Output += list[i].Spec.Name
			list[i].Spec.Submit = sched.Time(len(list)-i) * time.Millisecond
		}
		done, err := s.Serve(context.Background(), list)
		if err != nil {
			t.Fatal(err)
		}
		for i := range done {
			if done[i].Err != nil || done[i].Submit != list[i].Spec.Submit {
				t.Errorf("%d clients, job %d: %+v", clients, i, done[i])
			}
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		now, top, begun := 0, 0, ""
		for _, line := range strings.Fields(string(text)) {
			if name, begins := strings.CutPrefix(line, "+"); begins {
				now, begun = now+1, begun+name
			} else {
				now--
			}
			top = max(top, now)
		}
		if top != most || len(begun) != len(list) || clients == 1 && begun != "43210" {
			t.Errorf("%d clients: %d at a time, begun in the order %s", clients, top, begun)
		}
		if want := most < len(list); want != (len(waits) == 1) {
			t.Errorf("%d clients: told to wait: %q", clients, waits)
		}
	}
}

// longPatience is how long a test waits for what must happen: so long that it is no question of how busy the machine
// is.
const longPatience = 5 * time.Minute

// A killing is a case of TestKill.
type killing struct {
	status []int // of the answers of REST, one after the other
	script string
	calls  bool // of the command
	errs   []string
	short  bool // the time in which it must be killed runs out
}

// An application is killed by REST where the ResourceManager lets its user do that, without a process. Where it does
// not, Hadoop's command has a while, and the error says what may still run and why.
func TestKill(t *testing.T) {
	for name, one := range map[string]killing{
		"by REST":    {status: []int{http.StatusAccepted, http.StatusOK}},
		"by command": {status: []int{http.StatusForbidden}, calls: true},
		"refused": {status: []int{http.StatusForbidden}, script: "echo no >&2; exit 1", calls: true,
			errs: []string{"no", "403"}},
		"by a command that hangs": {status: []int{http.StatusUnauthorized}, script: "sleep 1000", calls: true,
			errs: []string{"no end", "401"}, short: true},
		"and the end does not come": {status: []int{http.StatusAccepted}, script: "exit 1", calls: true,
			errs: []string{"does not end"}, short: true},
	} {
		t.Run(name, func(t *testing.T) {
			within := longPatience
			if one.short {
				within = 1500 * time.Millisecond
			}
			// On a busy machine a short time is over before the command has begun.
			wrong := one.kill(t, within)
			for try := 1; wrong != "" && try < 9; try++ {
				within = min(2*within, longPatience)
				wrong = one.kill(t, within)
			}
			if wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// kill kills an application that has so much time to end, and returns what is wrong with how that was done.
func (one *killing) kill(t *testing.T, within time.Duration) (wrong string) {
	const id = "application_1_0001"
	var asked atomic.Int64
	rm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut || r.URL.Path != "/ws/v1/cluster/apps/"+id+"/state" ||
			r.URL.Query().Get("user.name") != "ana" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		n := int(asked.Add(1))
		w.WriteHeader(one.status[min(n, len(one.status))-1])
		fmt.Fprint(w, `{"state":"KILLED"}`)
	}))
	defer rm.Close()
	log := filepath.Join(t.TempDir(), "log")
	c := commands(t, `echo "$*" >>`+log+"\n"+one.script+"\n")
	c.User, c.patience = "ana", within
	f := &following{s: &Submitter{Cluster: &Cluster{Addresses: []string{rm.URL}}}, id: id}
	began := time.Now()
	err := f.kill(c)
	took := time.Since(began)
	text, _ := os.ReadFile(log)
	called := strings.Contains(string(text), "application -kill "+id)
	switch {
	case took > 2*within+longPatience:
		return fmt.Sprintf("it took %v of %v", took, within)
	case called != one.calls:
		return fmt.Sprintf("the command was called with %q", text)
	case (err != nil) != (one.errs != nil) || err != nil && !errors.Is(err, errLeft):
		return fmt.Sprint(err)
	}
	for _, want := range one.errs {
		if !strings.Contains(err.Error(), want) {
			return fmt.Sprintf("%v, want %q", err, want)
		}
	}
	return ""
}
