package web

import "github.com/sojourn-sched/sojourn/internal/record"

// The types of this file are the answers of the REST interface, version 1. Times are in seconds since the run began
// where their names end in _s; amounts are in the units of their kind of resource: MiB of memory, whole vcores and
// slots. Members are added and never change their meaning within a version.

// Run is one run of a site.
type Run struct {
	ID         int     `json:"id"`
	Name       string  `json:"name"`
	Engine     string  `json:"engine"` // sim, mr or yarn
	Policy     string  `json:"policy"`
	Estimator  string  `json:"estimator,omitempty"`
	Workload   string  `json:"workload,omitempty"`
	Seed       uint64  `json:"seed"`
	Live       bool    `json:"live"`           // it has not ended
	Note       string  `json:"note,omitempty"` // why the run is not shown completely
	Now        float64 `json:"now_s"`          // of the last event
	Version    int64   `json:"version"`        // changes when anything does
	Jobs       int     `json:"jobs"`
	Unfinished int     `json:"unfinished"`
	Nodes      int     `json:"nodes"`
	Explains   bool    `json:"explains"` // it can explain why a job waits
	Acts       bool    `json:"acts"`     // its jobs can be killed, moved and given priorities
}

// Runs is all runs of a site.
type Runs struct {
	Runs []Run `json:"runs"`
}

// Spread describes values over jobs, in seconds. Percentiles are by nearest rank.
type Spread struct {
	Jobs int     `json:"jobs"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Cluster is a cluster now and over time.
type Cluster struct {
	Now       float64   `json:"now_s"`
	Kinds     []Kind    `json:"kinds"`       // of resources that the cluster has
	Width     float64   `json:"bin_s"`       // width of the bins; each value over time is the average of a bin
	Jobs      []float64 `json:"jobs"`        // unfinished ones
	Waiting   []float64 `json:"waiting"`     // unfinished jobs that have not started
	Running   []float64 `json:"running"`     // attempts
	Pending   []float64 `json:"pending"`     // tasks that may start
	JobsNow   int32     `json:"jobs_now"`    // this and the next three: the same now
	WaitsNow  int32     `json:"waiting_now"` //
	RunsNow   int64     `json:"running_now"`
	PendsNow  int64     `json:"pending_now"`
	Nodes     int       `json:"nodes"`
	Lost      int       `json:"nodes_lost"`
	Ended     int       `json:"jobs_ended"`
	Failed    int       `json:"jobs_failed"` // ended jobs that failed or were killed
	Sojourn   *Spread   `json:"sojourn_s,omitempty"`
	Wait      *Spread   `json:"wait_s,omitempty"`
	Attempts  int64     `json:"attempts"`           // launched since the run began
	Forgotten int64     `json:"attempts_forgotten"` // attempts that are not shown any more
}

// Kind is one kind of resource of a cluster.
type Kind struct {
	Kind     string    `json:"kind"`
	Used     int64     `json:"used"`
	Capacity int64     `json:"capacity"`
	UsedOver []float64 `json:"used_over"`
	Over     []float64 `json:"capacity_over"`
}

// Queues is the tree of queues now and over time, parents before children.
type Queues struct {
	Now    float64 `json:"now_s"`
	At     float64 `json:"at_s"` // the instant of used, demand, owed_s, jobs, running and pending
	Width  float64 `json:"bin_s"`
	Queues []Queue `json:"queues"`
}

// Queue is one queue. Shares are dominant shares of the cluster, from 0 to 1.
type Queue struct {
	Path    string           `json:"queue"`
	Depth   int              `json:"depth"`
	Leaf    bool             `json:"leaf"`
	Gone    bool             `json:"gone,omitempty"`
	Weight  float64          `json:"weight"`
	Share   float64          `json:"share"` // by weight
	Used    float64          `json:"used"`
	Demand  float64          `json:"demand"`
	Owed    float64          `json:"owed_s"` // seconds of the whole cluster lent and not returned; below 0: borrowed
	Jobs    int32            `json:"jobs"`
	Running int32            `json:"running"`
	Pending int32            `json:"pending"`
	Mean    float64          `json:"used_mean"` // this and the next: averages since the run began
	Asked   float64          `json:"demand_mean"`
	Amount  map[string]int64 `json:"amount,omitempty"`
	Min     map[string]int64 `json:"min,omitempty"`
	Max     map[string]int64 `json:"max,omitempty"`
	Uses    []float64        `json:"used_over"`
	Demands []float64        `json:"demand_over"`
	Debts   []float64        `json:"owed_over"`
}

// Jobs is a part of the list of the jobs that a filter allows.
type Jobs struct {
	Now    float64     `json:"now_s"`
	Total  int         `json:"total"`  // how many jobs the filter allows
	Offset int         `json:"offset"` // of the first row among these jobs
	Rows   []ListedJob `json:"rows"`
	Queues []string    `json:"queues"` // the queues of all jobs, for the filter
	Users  []string    `json:"users"`  // the first hundred users, for the filter
}

// Job is a row of the list of jobs.
type Job struct {
	ID       int32    `json:"job"`
	Name     string   `json:"name"`
	User     string   `json:"user"`
	Queue    string   `json:"queue"`
	State    string   `json:"state"` // waiting, stalled (nothing of it runs now), running, done, failed, killed, lost
	Submit   float64  `json:"submit_s"`
	Start    *float64 `json:"start_s,omitempty"` // of the first attempt
	End      *float64 `json:"end_s,omitempty"`
	Sojourn  float64  `json:"sojourn_s"` // up to now while the job is unfinished
	Wait     float64  `json:"wait_s"`    // up to the first attempt, or to now
	Tasks    int32    `json:"tasks"`     // -1: the engine cannot know
	Done     int32    `json:"done"`
	Running  int32    `json:"running"`
	Pending  int32    `json:"pending"`
	Size     *float64 `json:"size_s,omitempty"` // seconds of the whole cluster, as estimated at the submission
	Service  *float64 `json:"service_s,omitempty"`
	Priority int32    `json:"priority"`
	Deadline *float64 `json:"deadline_s,omitempty"` // an instant
	Hidden   bool     `json:"hidden,omitempty"`     // the user may not look at it: name and user are left out
}

// ListedJob is a row of the list of jobs, with when the job is expected to start and to end.
type ListedJob struct {
	Job
	Expected Expected `json:"expected"`
}

// Expected says when an unfinished job of a live run is expected to start, if it has not, and to end, as instants. Nine
// of ten simulated ends lie between the limits Low and High. What is not known is left out.
type Expected struct {
	Start *float64 `json:"start_s,omitempty"`
	End   *float64 `json:"end_s,omitempty"`
	Low   *float64 `json:"end_low_s,omitempty"`
	High  *float64 `json:"end_high_s,omitempty"`
	// Unknown says why the end is not known.
	Unknown string `json:"unknown,omitempty"`
}

// JobDetail is one job.
type JobDetail struct {
	ListedJob
	Now       float64      `json:"now_s"`
	Stages    []Stage      `json:"stages"`
	Attempts  []Attempt    `json:"attempts"`            // in order of launch
	Forgotten bool         `json:"forgotten,omitempty"` // earlier attempts are not shown
	Counters  *JobCounters `json:"counters,omitempty"`
}

// Stage is a stage of a job.
type Stage struct {
	Stage     int              `json:"stage"`
	Kind      string           `json:"kind"`
	Tasks     int32            `json:"tasks"`
	Done      int32            `json:"done"`
	Running   int32            `json:"running"`
	Pending   int32            `json:"pending"`
	Suspended int32            `json:"suspended"`
	Failed    int32            `json:"failed"` // attempts, also in the next three
	Killed    int32            `json:"killed"`
	Lost      int32            `json:"lost"`
	Second    int32            `json:"speculative"`
	PerTask   map[string]int64 `json:"per_task"`
	Estimate  *float64         `json:"estimate_s,omitempty"` // of a task's time, made when the first was launched
	Spread    *float64         `json:"estimate_stddev_s,omitempty"`
	Measured  *float64         `json:"measured_s,omitempty"` // the mean time of successful attempts
	Start     *float64         `json:"start_s,omitempty"`
	End       *float64         `json:"end_s,omitempty"`
	Locality  *Locality        `json:"locality,omitempty"`
}

// Locality counts launches by how near the input was.
type Locality struct {
	Node int32 `json:"node"`
	Rack int32 `json:"rack"`
	Off  int32 `json:"off"`
}

// Attempt is an execution of a task.
type Attempt struct {
	Attempt  uint64   `json:"attempt"`
	Job      int32    `json:"job"`
	Stage    int16    `json:"stage"`
	Kind     string   `json:"kind"`
	Task     int32    `json:"task"` // 0: the engine does not say
	Node     int32    `json:"node"`
	Start    float64  `json:"start_s"`
	End      *float64 `json:"end_s,omitempty"`
	Outcome  string   `json:"outcome"` // ok, failed, killed, lost, released; running or suspended
	Locality string   `json:"locality,omitempty"`
	Second   bool     `json:"speculative,omitempty"`
}

// JobCounters are sums over the successful attempts of a job.
type JobCounters struct {
	InputBytes     int64              `json:"input_bytes"`
	OutputBytes    int64              `json:"output_bytes"`
	InputRecords   int64              `json:"input_records"`
	OutputRecords  int64              `json:"output_records"`
	LocalBytes     int64              `json:"local_bytes"`
	RemoteBytes    int64              `json:"remote_bytes"`
	SpilledRecords int64              `json:"spilled_records"`
	CPU            float64            `json:"cpu_s"`
	Phases         map[string]float64 `json:"phases_s,omitempty"` // wall-clock time by phase
}

// JobLogs lists the logs of a job: the standard error of its attempts' programs.
type JobLogs struct {
	Logs []LogEntry `json:"logs"`
}

// LogEntry is the log of an attempt.
type LogEntry struct {
	Attempt string `json:"attempt"` // stage, task and attempt, from 0: map-00003-0
	Bytes   int64  `json:"bytes"`
}

// Log is the log of an attempt, as far as it is kept. Bytes that are not UTF-8 are replaced.
type Log struct {
	LogEntry
	Text string `json:"text"`
}

// Why explains why a job had no more tasks running at an instant.
type Why struct {
	record.Explanation
}

// Nodes is a part of the list of nodes.
type Nodes struct {
	Now       float64 `json:"now_s"`
	At        float64 `json:"at_s"` // the instant of used, busy, running, done and failed
	Total     int     `json:"total"`
	Offset    int     `json:"offset"`
	Rows      []Node  `json:"rows"`
	Forgotten bool    `json:"forgotten,omitempty"` // some attempts are no longer known: nodes may have been busier
}

// Node is a machine.
type Node struct {
	ID       int32            `json:"node"`
	Name     string           `json:"name"`
	Class    string           `json:"class,omitempty"`
	Rack     int32            `json:"rack"`
	Lost     bool             `json:"lost,omitempty"`
	Capacity map[string]int64 `json:"capacity"`
	Used     map[string]int64 `json:"used"`
	Busy     float64          `json:"busy"`      // dominant share of its own capacity
	Mean     float64          `json:"busy_mean"` // since the node joined
	Running  int32            `json:"running"`
	Done     int32            `json:"done"`
	Failed   int32            `json:"failed"`
}

// Lanes says what ran on nodes between two instants: as bars if there are few, else as how busy each lane was in each
// column of time.
type Lanes struct {
	Now    float64    `json:"now_s"`
	From   float64    `json:"from_s"`
	Until  float64    `json:"until_s"`
	Total  int        `json:"total"` // nodes in all
	Offset int        `json:"offset"`
	Lanes  []Lane     `json:"lanes"`
	Bars   []Attempt  `json:"bars,omitempty"`
	Column float64    `json:"column_s,omitempty"` // of Busy: its width
	Busy   [][]uint16 `json:"busy,omitempty"`     // of each lane by column: mean attempts a node, in hundredths
	Most   float64    `json:"most,omitempty"`     // the largest of these, in attempts
}

// Lane is a node, or a group of nodes with consecutive IDs.
type Lane struct {
	Name  string `json:"name"`
	First int32  `json:"node"`
	Count int    `json:"nodes"`
}

// Comparison compares several runs on the jobs that they share.
type Comparison struct {
	Runs   []Compared   `json:"runs"`
	Total  int          `json:"total"` // jobs that ended in the first run and in another
	Offset int          `json:"offset"`
	Rows   []Difference `json:"rows"`
}

// Compared is one run of a comparison.
type Compared struct {
	Run     Run       `json:"run"`
	Sojourn *Spread   `json:"sojourn_s,omitempty"`
	Wait    *Spread   `json:"wait_s,omitempty"`
	Times   []float64 `json:"times_s"` // quantiles of the sojourn time, evenly by rank
	Parts   []float64 `json:"parts"`   // the part of the jobs, from 0 to 1, that does not exceed each of times_s
	Changes []float64 `json:"changes"` // quantiles of log2(sojourn time ÷ that in the first run), evenly by rank
	Faster  int       `json:"faster"`  // jobs with a shorter sojourn time than in the first run
	Slower  int       `json:"slower"`
}

// Difference has the sojourn times of one job, in the order of the runs; -1: it did not succeed in that run.
type Difference struct {
	ID       int32     `json:"job"`
	Name     string    `json:"name"`
	Queue    string    `json:"queue"`
	Submit   float64   `json:"submit_s"`
	Sojourns []float64 `json:"sojourn_s"`
}

// Session names the user of a request, and has the token that changes need.
type Session struct {
	User  string `json:"user"`            // "": not known
	Token string `json:"token,omitempty"` // header X-Sojourn-Token of requests that change something
}

// Action is a change of a job that a user requests.
type Action struct {
	Kill     bool   `json:"kill,omitempty"`
	Queue    string `json:"queue,omitempty"`    // the queue to which the job moves
	Priority *int32 `json:"priority,omitempty"` // the job's new priority
}

// Problem says why a request was refused.
type Problem struct {
	Error string `json:"error"`
}
