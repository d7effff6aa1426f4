package web

import "github.com/sojourn-sched/sojourn/internal/record"

// The types of this file are the answers of the REST interface, version 1. Times are in seconds since the run began
// where their names end in _s; amounts are in the units of their kind of resource: MiB of memory, whole vcores and
// slots. Members are added and never change their meaning within a version. openapi.json describes each member by its
// comment.

// Run is one run of a site.
type Run struct {
	ID         int     `json:"id"`                  // number of the run, from 0
	Name       string  `json:"name"`                // of the record's file, or of the policy
	Engine     string  `json:"engine"`              // sim, mr or yarn
	Policy     string  `json:"policy"`              // with its parameters
	Estimator  string  `json:"estimator,omitempty"` // of task times and job sizes
	Workload   string  `json:"workload,omitempty"`  // where the jobs come from
	Seed       uint64  `json:"seed"`                // of all chance
	Live       bool    `json:"live"`                // the run goes on
	Note       string  `json:"note,omitempty"`      // why what is shown is not whole
	Now        float64 `json:"now_s"`               // instant of the last event
	Version    int64   `json:"version"`             // changes when anything of the run does
	Jobs       int     `json:"jobs"`                // that are known, ended ones too
	Unfinished int     `json:"unfinished"`          // jobs that have not ended
	Nodes      int     `json:"nodes"`               // that ever joined
	Explains   bool    `json:"explains"`            // the run can be asked why a job waits
	Acts       bool    `json:"acts"`                // jobs can be killed, moved and given priorities
}

// Runs is all runs of a site.
type Runs struct {
	Runs []Run    `json:"runs"`           // in the order of their numbers
	At   *float64 `json:"at_s,omitempty"` // the instant that the page opens at; left out: now
}

// Spread describes values over jobs, in seconds if nothing else is said. Percentiles are by nearest rank.
type Spread struct {
	Jobs int     `json:"jobs"` // how many values there are
	Mean float64 `json:"mean"` // arithmetic mean
	P50  float64 `json:"p50"`  // median
	P95  float64 `json:"p95"`  // 95 of 100 are not larger
	P99  float64 `json:"p99"`  // 99 of 100 are not larger
	Max  float64 `json:"max"`  // the largest
}

// Cluster is a cluster now and over time.
type Cluster struct {
	Now       float64   `json:"now_s"`               // instant of the last event
	Kinds     []Kind    `json:"kinds"`               // of resources that there are
	Width     float64   `json:"bin_s"`               // each value over time is an average over so long
	Jobs      []float64 `json:"jobs"`                // unfinished jobs over time
	Waiting   []float64 `json:"waiting"`             // jobs without any attempt yet, over time
	Running   []float64 `json:"running"`             // running attempts over time
	Pending   []float64 `json:"pending"`             // tasks that may start, over time
	JobsNow   int32     `json:"jobs_now"`            // unfinished jobs
	WaitsNow  int32     `json:"waiting_now"`         // unfinished jobs without any attempt yet
	RunsNow   int64     `json:"running_now"`         // running attempts
	PendsNow  int64     `json:"pending_now"`         // tasks that may start
	Nodes     int       `json:"nodes"`               // that ever joined
	Lost      int       `json:"nodes_lost"`          // nodes that are lost now
	Ended     int       `json:"jobs_ended"`          // jobs that have ended, however they did
	Failed    int       `json:"jobs_failed"`         // jobs that ended without success
	Sojourn   *Spread   `json:"sojourn_s,omitempty"` // sojourn times of the jobs that succeeded
	Wait      *Spread   `json:"wait_s,omitempty"`    // times to the first attempt of the jobs that succeeded
	Attempts  int64     `json:"attempts"`            // launched since the run began
	Forgotten int64     `json:"attempts_forgotten"`  // launched attempts that are not shown any more
}

// Kind is one kind of resource of a cluster.
type Kind struct {
	Kind     string    `json:"kind"`          // memory, vcores, map-slots and so on
	Used     int64     `json:"used"`          // now
	Capacity int64     `json:"capacity"`      // of the nodes that are not lost, now
	UsedOver []float64 `json:"used_over"`     // used amounts over time
	Over     []float64 `json:"capacity_over"` // capacity over time
}

// Queues is the tree of queues now and over time, parents before children.
type Queues struct {
	Now    float64 `json:"now_s"`  // instant of the last event
	At     float64 `json:"at_s"`   // instant that used, demand, owed_s, jobs, running and pending are of
	Width  float64 `json:"bin_s"`  // each value over time is an average over so long
	Queues []Queue `json:"queues"` // each right after the queue above it, or after another queue of the same
	Left   int     `json:"left"`   // queues that are not shown, because there are more than 200
}

// Queue is one queue. Shares are parts of the cluster, from 0 to 1: of all kinds of resources, the one that is used or
// asked for most counts.
type Queue struct {
	Path   string  `json:"queue"`          // names from the root down, with dots between them
	Depth  int     `json:"depth"`          // 0 for the root
	Leaf   bool    `json:"leaf"`           // no configured queue is below it
	Gone   bool    `json:"gone,omitempty"` // the configuration no longer has it
	Weight float64 `json:"weight"`         // among the queues that are below the same one
	Share  float64 `json:"share"`          // part of the cluster that is the queue's by its weight
	Used   float64 `json:"used"`           // part that its attempts hold
	Demand float64 `json:"demand"`         // part that its attempts hold and its waiting tasks ask for, together
	// Owed is seconds of the whole cluster lent and not got back; below 0: owed to others. A queue lends what it does
	// not use of its share while others use more than theirs. A queue with others below it has the sum of these.
	Owed    float64          `json:"owed_s"`
	Jobs    int32            `json:"jobs"`             // unfinished
	Running int32            `json:"running"`          // attempts
	Pending int64            `json:"pending"`          // tasks that may start
	Mean    float64          `json:"used_mean"`        // mean of used since the run began
	Asked   float64          `json:"demand_mean"`      // mean of demand since the run began
	Amount  map[string]int64 `json:"amount,omitempty"` // resources that are used now, by kind
	Min     map[string]int64 `json:"min,omitempty"`    // guaranteed resources, by kind
	Max     map[string]int64 `json:"max,omitempty"`    // most resources that it may hold, by kind
	Uses    []float64        `json:"used_over"`        // used over time
	Demands []float64        `json:"demand_over"`      // demand over time
	Debts   []float64        `json:"owed_over"`        // owed_s over time
}

// Jobs is one part of the list of jobs that a filter allows, and sums over all that it allows.
type Jobs struct {
	Now    float64     `json:"now_s"`  // instant of the last event
	Total  int         `json:"total"`  // jobs that the filter allows
	Offset int         `json:"offset"` // place of the first row among these, from 0
	Rows   []ListedJob `json:"rows"`   // in the order that was asked for
	Queues []string    `json:"queues"` // that jobs are in, whatever the filter
	Users  []string    `json:"users"`  // that have jobs, at most a hundred

	Sojourn *Spread `json:"sojourn_s,omitempty"` // sojourn times of the jobs that succeeded
	Wait    *Spread `json:"wait_s,omitempty"`    // times to the first attempt of the jobs that have started
	Service float64 `json:"service_s"`           // seconds of the whole cluster that the ended jobs received
}

// Job is a row of the list of jobs.
type Job struct {
	ID      int32    `json:"job"`               // number of the job, from 1
	Name    string   `json:"name"`              // as it was submitted
	User    string   `json:"user"`              // who submitted it
	Queue   string   `json:"queue"`             // path of its queue
	State   string   `json:"state"`             // waiting, stalled (none runs), running, done, failed, killed
	Submit  float64  `json:"submit_s"`          // instant of the submission
	Start   *float64 `json:"start_s,omitempty"` // instant of the first attempt
	End     *float64 `json:"end_s,omitempty"`   // instant of the end
	Sojourn float64  `json:"sojourn_s"`         // sojourn time: from the submission to the end, or to now
	// Wait is from the submission to the first attempt, or to now. It ends there: idle_s has what came later, too.
	Wait     float64  `json:"wait_s"`
	Tasks    int32    `json:"tasks"`                // -1: the engine cannot know
	Done     int32    `json:"done"`                 // tasks that succeeded
	Running  int32    `json:"running"`              // attempts
	Pending  int64    `json:"pending"`              // tasks that may start
	Size     *float64 `json:"size_s,omitempty"`     // seconds of the whole cluster, as estimated at the submission
	Service  *float64 `json:"service_s,omitempty"`  // seconds of the whole cluster that an ended job received
	Priority int32    `json:"priority"`             // larger is more urgent
	Deadline *float64 `json:"deadline_s,omitempty"` // instant at which it should be over
	Hidden   bool     `json:"hidden,omitempty"`     // the user may not look at it: name and user are left out
}

// ListedJob is a row of the list of jobs, with when the job is expected to start and to end.
type ListedJob struct {
	Job
	Expected Expected `json:"expected"` // nothing of a job that has ended
	Figures  Figures  `json:"figures"`  // what became of it up to now
}

// Figures say what became of a job up to now.
type Figures struct {
	Attempts int32 `json:"attempts"` // that were launched
	Failed   int32 `json:"failed"`   // attempts that failed, were killed, or went with their nodes
	// Idle is how long nothing of it ran, from the submission to the end, or to now. The wait is the first part of it.
	Idle float64 `json:"idle_s"`
	// Slowdown is the sojourn time of a job that succeeded ÷ a lower bound of the time that it takes alone. It is left
	// out where that is not known.
	Slowdown *float64 `json:"slowdown,omitempty"`
	// Late is by how many seconds it ended after its deadline, or is past it now; 0 or less: not late. It is left out
	// of jobs without a deadline.
	Late *float64 `json:"late_s,omitempty"`
}

// Expected says when an unfinished job of a live run is expected to start, if it has not, and to end, as instants. Nine
// of ten simulated ends lie between the limits Low and High. What is not known is left out.
type Expected struct {
	Start   *float64 `json:"start_s,omitempty"`    // of the first attempt
	End     *float64 `json:"end_s,omitempty"`      // in the middle of what is likely
	Low     *float64 `json:"end_low_s,omitempty"`  // lower limit of the end
	High    *float64 `json:"end_high_s,omitempty"` // upper limit of the end
	Unknown string   `json:"unknown,omitempty"`    // why the end cannot be said
}

// JobDetail is one job.
type JobDetail struct {
	ListedJob
	Now      float64      `json:"now_s"`              // instant of the last event
	Stages   []Stage      `json:"stages"`             // in the order of their numbers
	Attempts []Attempt    `json:"attempts"`           // the last ones, in order of launch: figures has their number
	Counters *JobCounters `json:"counters,omitempty"` // nothing where the engine counts nothing
}

// Stage is a stage of a job.
type Stage struct {
	Stage     int              `json:"stage"`                       // number of the stage in its job, from 0
	Kind      string           `json:"kind"`                        // map, reduce, master or other
	Tasks     int32            `json:"tasks"`                       // -1: the engine cannot know
	Done      int32            `json:"done"`                        // tasks that succeeded
	Running   int32            `json:"running"`                     // attempts
	Pending   int32            `json:"pending"`                     // tasks that may start
	Suspended int32            `json:"suspended"`                   // attempts
	Failed    int32            `json:"failed"`                      // attempts
	Killed    int32            `json:"killed"`                      // attempts
	Lost      int32            `json:"lost"`                        // attempts that went with their nodes
	Second    int32            `json:"speculative"`                 // attempts beside another one of their tasks
	PerTask   map[string]int64 `json:"per_task"`                    // resources of a task, by kind
	Estimate  *float64         `json:"estimate_s,omitempty"`        // of a task's time, when the first was launched
	Spread    *float64         `json:"estimate_stddev_s,omitempty"` // standard deviation of the estimate
	Measured  *float64         `json:"measured_s,omitempty"`        // mean time of the attempts that succeeded
	Start     *float64         `json:"start_s,omitempty"`           // instant of the first launch
	End       *float64         `json:"end_s,omitempty"`             // instant of the last success
	Locality  *Locality        `json:"locality,omitempty"`          // nothing of stages without places of their input
}

// Locality counts launches by how near the input was.
type Locality struct {
	Node int32 `json:"node"` // on a node that has the input
	Rack int32 `json:"rack"` // in a rack that has the input
	Off  int32 `json:"off"`  // elsewhere
}

// Attempt is an execution of a task.
type Attempt struct {
	Attempt  uint64   `json:"attempt"`               // number of the attempt in the run
	Job      int32    `json:"job"`                   // number of its job
	Stage    uint16   `json:"stage"`                 // number of its stage in the job, from 0
	Kind     string   `json:"kind"`                  // of the stage
	Task     int32    `json:"task"`                  // number in the stage, from 1; 0: the engine does not say
	Node     int32    `json:"node"`                  // number of its node
	Start    float64  `json:"start_s"`               // instant of the launch
	End      *float64 `json:"end_s,omitempty"`       // instant of the end
	Outcome  string   `json:"outcome"`               // ok, failed, killed, lost, released; running or suspended
	Locality string   `json:"locality,omitempty"`    // how near its input was
	Second   bool     `json:"speculative,omitempty"` // it was launched beside another one of its task
}

// JobCounters are sums over the successful attempts of a job.
type JobCounters struct {
	InputBytes     int64              `json:"input_bytes"`        // read by all stages
	OutputBytes    int64              `json:"output_bytes"`       // written by all stages
	InputRecords   int64              `json:"input_records"`      // read by all stages
	OutputRecords  int64              `json:"output_records"`     // written by all stages
	LocalBytes     int64              `json:"local_bytes"`        // of the input, read on the node that has them
	RemoteBytes    int64              `json:"remote_bytes"`       // of the input, read from another node
	SpilledRecords int64              `json:"spilled_records"`    // written to disk before the end of a task
	CPU            float64            `json:"cpu_s"`              // processor time
	Phases         map[string]float64 `json:"phases_s,omitempty"` // wall-clock time by phase
}

// JobLogs lists the logs of a job: the standard error of its attempts' programs.
type JobLogs struct {
	Logs []LogEntry `json:"logs"` // of the attempts that wrote something
}

// LogEntry is the log of an attempt.
type LogEntry struct {
	Attempt string `json:"attempt"` // stage, task and attempt, from 0: map-00003-0
	Bytes   int64  `json:"bytes"`   // that are kept
}

// Log is the log of an attempt, as far as it is kept. Bytes that are not UTF-8 are replaced.
type Log struct {
	LogEntry
	Text string `json:"text"` // the beginning and the end where there was too much
}

// Why explains why a job had no more tasks running at an instant.
type Why struct {
	record.Explanation
}

// Users is a part of the list of users: those who submitted jobs.
type Users struct {
	Now     float64 `json:"now_s"`     // instant of the last event
	Total   int     `json:"total"`     // users that the filter allows
	Offset  int     `json:"offset"`    // place of the first row among these, from 0
	Rows    []User  `json:"rows"`      // in the order that was asked for
	Service float64 `json:"service_s"` // sum of service_s over all users, whatever the filter
}

// User is the sums over the jobs of one user that are known.
type User struct {
	Name string `json:"user"` // "": of jobs without a user, or of those that the reader may not look at
	// Hidden says that the reader may not look at these jobs: their users are not named.
	Hidden     bool  `json:"hidden,omitempty"`
	Jobs       int32 `json:"jobs"`       // ended ones too
	Unfinished int32 `json:"unfinished"` // jobs that have not ended
	Waiting    int32 `json:"waiting"`    // unfinished jobs without any attempt yet
	Failed     int32 `json:"failed"`     // jobs that ended without success
	Running    int32 `json:"running"`    // attempts
	Pending    int64 `json:"pending"`    // tasks that may start
	// Used is the amounts that attempts hold now, by kind of resource.
	Used map[string]int64 `json:"used"`
	// Received is amounts × seconds that the jobs have held, by kind of resource: MiB-seconds of memory, for example.
	Received map[string]float64 `json:"received"`
	Service  float64            `json:"service_s"`           // seconds of the whole cluster that the jobs have received
	Sojourn  *Spread            `json:"sojourn_s,omitempty"` // sojourn times of the jobs that succeeded
	Wait     *Spread            `json:"wait_s,omitempty"`    // times to the first attempt of the jobs that have started
}

// Nodes is a part of the list of nodes.
type Nodes struct {
	Now       float64 `json:"now_s"`               // instant of the last event
	At        float64 `json:"at_s"`                // instant that used, busy, running, done and failed are of
	Total     int     `json:"total"`               // nodes that the filter allows
	Offset    int     `json:"offset"`              // place of the first row among these, from 0
	Rows      []Node  `json:"rows"`                // in the order that was asked for
	Forgotten bool    `json:"forgotten,omitempty"` // some attempts are no longer known: nodes may have been busier
}

// Node is a machine.
type Node struct {
	ID       int32            `json:"node"`            // number of the node, from 1
	Name     string           `json:"name"`            // as it joined
	Class    string           `json:"class,omitempty"` // of its hardware
	Rack     int32            `json:"rack"`            // number of its rack
	Lost     bool             `json:"lost,omitempty"`  // it is not there now
	Capacity map[string]int64 `json:"capacity"`        // resources that it has, by kind
	Used     map[string]int64 `json:"used"`            // resources that attempts hold, by kind
	Busy     float64          `json:"busy"`            // dominant share of its own capacity that is used
	Mean     float64          `json:"busy_mean"`       // mean of busy since the node joined
	Idle     float64          `json:"idle_s"`          // how long nothing ran there since the node joined
	Running  int32            `json:"running"`         // attempts
	Done     int32            `json:"done"`            // attempts that succeeded
	Failed   int32            `json:"failed"`          // attempts that failed
}

// Lanes says what ran on nodes between two instants: as bars if there are few, else as how busy each lane was in each
// column of time.
type Lanes struct {
	Now    float64    `json:"now_s"`              // instant of the last event
	From   float64    `json:"from_s"`             // first instant that is shown
	Until  float64    `json:"until_s"`            // last instant that is shown
	Total  int        `json:"total"`              // nodes in all
	Offset int        `json:"offset"`             // nodes that were skipped
	Lanes  []Lane     `json:"lanes"`              // in order of their first nodes
	Bars   []Attempt  `json:"bars,omitempty"`     // every attempt that ran, where they are few enough
	Column float64    `json:"column_s,omitempty"` // width of a column of busy
	Busy   [][]uint16 `json:"busy,omitempty"`     // of each lane by column: mean attempts a node, in hundredths
	Most   float64    `json:"most,omitempty"`     // the largest value of busy, in attempts
}

// Lane is a node, or a group of nodes with consecutive IDs.
type Lane struct {
	Name  string `json:"name"`  // of the node, or of the first and the last one
	First int32  `json:"node"`  // number of the first node
	Count int    `json:"nodes"` // how many they are
}

// Comparison compares several runs on the jobs that they share.
type Comparison struct {
	Runs   []Compared   `json:"runs"`   // the first is what the others are compared with
	Total  int          `json:"total"`  // jobs that succeeded in the first run and in another
	Offset int          `json:"offset"` // place of the first row among these, from 0
	Rows   []Difference `json:"rows"`   // in the order that was asked for
}

// Compared is one run of a comparison.
type Compared struct {
	Run     Run       `json:"run"`                 // as in the list of runs
	Sojourn *Spread   `json:"sojourn_s,omitempty"` // sojourn times of the jobs that succeeded
	Wait    *Spread   `json:"wait_s,omitempty"`    // their times to the first attempt
	Slow    *Spread   `json:"slowdown,omitempty"`  // their slowdowns, as numbers, where these are known
	Times   []float64 `json:"times_s"`             // quantiles of sojourn times, evenly by rank
	Parts   []float64 `json:"parts"`               // of the jobs that took no longer than each of times_s
	Changes []float64 `json:"changes"`             // quantiles of log2(sojourn time ÷ that in the first run)
	Common  int       `json:"common"`              // jobs with number and name of one in the first run; both succeeded
	Faster  int       `json:"faster"`              // jobs with a shorter sojourn time than in the first run
	Slower  int       `json:"slower"`              // jobs with a longer sojourn time than in the first run
}

// Difference has the sojourn times of one job, in the order of the runs; -1: it did not succeed in that run.
type Difference struct {
	ID       int32     `json:"job"`       // number of the job, in all runs
	Name     string    `json:"name"`      // in the first run
	Queue    string    `json:"queue"`     // in the first run
	Submit   float64   `json:"submit_s"`  // instant of the submission in the first run
	Sojourns []float64 `json:"sojourn_s"` // a sojourn time for each run
}

// Session names the user of a request, and has the token that changes need.
type Session struct {
	User  string `json:"user"`            // "": not known
	Token string `json:"token,omitempty"` // header X-Sojourn-Token of requests that change something
}

// Action is a change of a job that a user requests.
type Action struct {
	Kill     bool   `json:"kill,omitempty"`     // end the job
	Queue    string `json:"queue,omitempty"`    // path of the queue to move the job to
	Priority *int32 `json:"priority,omitempty"` // to give the job
}

// Problem says why a request was refused.
type Problem struct {
	Error string `json:"error"` // a sentence for the user
}
