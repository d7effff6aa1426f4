package load

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Main is the command line: flags in, a table or a JSON document out. With "echo TAKE GIVE" it is Echo, with "beat
// ADDRESS COUNT EVERY SEND RECEIVE" Beat, for the processes that echo starts. If Main is only a part of a program,
// before are the arguments that make the program call it.
func Main(ctx context.Context, args []string, out io.Writer, before ...string) error {
	switch {
	case len(args) == 3 && args[0] == "echo":
		n, err := numbers(args[1:])
		if err != nil {
			return err
		}
		return Echo(n[0], n[1])
	case len(args) == 6 && args[0] == "beat":
		every, err := time.ParseDuration(args[3])
		n, err2 := numbers([]string{args[2], args[4], args[5]})
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		return Beat(args[1], n[0], every, [2]int{n[1], n[2]})
	}
	o, s := Options{self: before}, Server{}
	f := flag.NewFlagSet("sojourn-load", flag.ContinueOnError)
	o.register(f)
	s.register(f)
	asJSON := f.Bool("json", false, "print a JSON document")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%q: there are flags only", f.Arg(0))
	}
	if err := check(&o, &s); err != nil {
		return err
	}
	if o.Warm == 0 && s.Sojourn == "" {
		o.Warm = 35 * time.Second
	}
	if s.starts() {
		var err error
		if s.Dir, err = os.MkdirTemp("", "sojourn-load-"); err != nil {
			return err
		}
		defer os.RemoveAll(s.Dir)
		rm, err := s.Start(ctx)
		if err != nil {
			return err
		}
		defer rm.Stop()
		o.Addresses, o.Process = rm.Addresses, rm.Process
	}
	r, err := Run(ctx, o)
	if err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	r.print(out)
	return nil
}

// register registers the flags of the load.
func (o *Options) register(f *flag.FlagSet) {
	f.IntVar(&o.Nodes, "nodes", 1000, "NodeManagers")
	f.IntVar(&o.Apps, "apps", 10, "applications")
	f.IntVar(&o.Slots, "slots", 0, "containers that a node holds at once; 0: 100,000 ÷ nodes")
	f.BoolVar(&o.Each, "each", false, "a NodeManager beats once more for each container that ends, as Hadoop's do")
	f.DurationVar(&o.Beat, "beat", time.Second, "between a NodeManager's beats")
	f.DurationVar(
		&o.Calls,
		"calls",
		100*time.Millisecond,
		"between an ApplicationMaster's calls while it wants all it can get",
	)
	f.DurationVar(&o.Warm, "warm", 0, "load before anything is measured; 0: 3s, and 35s for Hadoop's")
	f.DurationVar(&o.Measure, "measure", 10*time.Second, "of each phase")
	f.DurationVar(&o.Settle, "settle", 3*time.Second, "between phases")
	f.Uint64Var(&o.Seed, "seed", 1, "of the times of asks")
	f.StringVar(&o.Addresses.Tracker, "tracker", "", "where a ResourceManager that runs serves NodeManagers, host:port")
	f.StringVar(&o.Addresses.Master, "master", "", "where it serves ApplicationMasters")
	f.StringVar(&o.Addresses.Client, "client", "", "where it serves clients")
	f.StringVar(&o.Addresses.Web, "web", "", "where it serves REST, for -rogues")
	f.BoolVar(&o.Rogues, "rogues", false, "measure honest peers beside rogue callers, too")
	f.IntVar(&o.Process, "pid", 0, "its process, if it is on this machine: else what it costs is not known")
}

// register registers the flags of the ResourceManager to start.
func (s *Server) register(f *flag.FlagSet) {
	f.StringVar(&s.Sojourn, "sojourn", "", "program to start as ResourceManager")
	f.StringVar(&s.Policy, "policy", "fair", "of that program")
	f.StringVar(&s.Jars, "jars", "", "folder with Hadoop's jars, to start its ResourceManager")
	f.StringVar(&s.Scheduler, "scheduler", "capacity", "of Hadoop's ResourceManager: capacity or fair")
	f.BoolVar(&s.Shipped, "shipped", false, "with the scheduler's defaults, a container for each node and beat")
	f.StringVar(&s.Heap, "heap", "4g", "of Java")
}

// starts reports whether the flags name a ResourceManager to start; else one runs already.
func (s *Server) starts() bool { return s.Sojourn != "" || s.Jars != "" }

// check returns an error for a load that cannot be put on a ResourceManager, and says what to do instead.
func check(o *Options, s *Server) error {
	switch {
	case o.Nodes < 1 || o.Nodes > mostNodes:
		return fmt.Errorf("-nodes %d: must be 1 to %d", o.Nodes, mostNodes)
	case o.Apps < 1:
		return fmt.Errorf("-apps %d: must be 1 or more", o.Apps)
	case s.Scheduler != "capacity" && s.Scheduler != "fair":
		return fmt.Errorf("-scheduler %s: must be capacity or fair", s.Scheduler)
	}
	if err := enough(o.Nodes, o.Apps, s.Sojourn != ""); err != nil {
		return err
	}
	if !s.starts() && (o.Addresses.Tracker == "" || o.Addresses.Master == "" || o.Addresses.Client == "") {
		return errors.New(
			"say -sojourn PROGRAM, -jars FOLDER, or -tracker, -master and -client of a ResourceManager that runs",
		)
	}
	return nil
}

// numbers reads words that are numbers.
func numbers(words []string) (list []int, err error) {
	for _, w := range words {
		n, err := strconv.Atoi(w)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// otherFiles is how many files this process has open beside the connections of nodes and applications.
const otherFiles = 32

// enough returns an error if this process may not have as many files open as the load needs: a connection for each node
// and for each application. This project's ResourceManager gives half of its files to nodes and a sixteenth to
// applications; where it is started here, it may have as many as this process.
func enough(nodes, apps int, starts bool) error {
	need := nodes + apps + otherFiles
	if starts {
		need = max(need, 2*nodes, 16*apps)
	}
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || l.Cur >= uint64(need) {
		return err
	}
	return fmt.Errorf("-nodes %d, -apps %d: %d open files are needed, and this process may have %d: raise ulimit -n",
		nodes, apps, need, l.Cur)
}

// mostNodes is how many nodes there are addresses and ports for.
const mostNodes = 50_000

// print writes the result as a table.
func (r *Result) print(w io.Writer) {
	how := "what ended is in a node's next beat"
	if r.Each {
		how = "one more beat for each container that ends"
	}
	fmt.Fprintf(w, "%d nodes of %d containers, %d applications, %s\n", r.Nodes, r.Slots, r.Apps, how)
	s := r.Saturated
	fmt.Fprintf(
		w,
		"saturated  %.0f containers/s completed, %.1f µs of processor each (%.2f cores), generator %.1f µs each, "+
			"%.0f beats/s, Jain's index %.3f\n",
		s.Rate,
		s.Processor,
		s.Cores,
		s.Generator,
		s.Beats,
		s.Fairness,
	)
	p := r.Poisson
	fmt.Fprintf(
		w,
		"Poisson    %.0f asks/s, ask to grant %.2f ms median, %.2f ms p99, %.1f µs of processor each, %d not granted\n",
		p.Rate,
		p.P50,
		p.P99,
		p.Processor,
		p.Late,
	)
	fmt.Fprintf(w, "           of that, a call of an ApplicationMaster took %s\n", p.Calls)
	i := r.Idle
	fmt.Fprintf(
		w,
		"idle       %.1f µs of processor for a beat, bare echo %.1f µs (%.2f times), %d bytes and %d\n",
		i.Processor,
		i.Echo,
		i.Processor/max(i.Echo, 1e-9),
		i.Sent,
		i.Received,
	)
	for _, b := range r.Beside {
		fmt.Fprintf(w, "beside     %s (%d calls, %.2f cores)\n", b.Rogue, b.Calls, b.Cores)
		fmt.Fprintf(w, "           beats %s; asks %s\n", b.Beats, b.Asks)
	}
	fmt.Fprintf(w, "memory     %.0f MB at the peak\n", r.PeakMB)
}

func (w Waits) String() string {
	return fmt.Sprintf("%d: %.2f ms median, %.2f ms p99, %.2f ms at most", w.Count, w.P50, w.P99, w.Most)
}
