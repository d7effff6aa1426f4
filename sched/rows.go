package sched

// A Node is a machine of the cluster.
type Node struct {
	ID       NodeID
	Class    ClassID
	Rack     RackID
	Open     bool    // may be launched on in this Step: always, or under heartbeats only when it has just reported
	Lost     bool    // gone, perhaps to return under the same ID
	Reserved StageID // the only stage that may launch here; zero: any

	// The fields up to here and the next three share the first cache line: each event reads them, of a random node.
	class   *Class
	offered uint64  // the Step in which it was last put into Offers
	slots   []int32 // of the attempts that run or are suspended here, in order of launch

	Capacity Resources
	Used     Resources // may exceed Capacity, after it shrank
	Leaving  Resources // of Used, what a Kill or a Suspend has asked for
	Name     string

	outputs outputs // finished tasks whose output is here and may still be needed
}

// Free returns what is not used; a component is negative where capacity shrank below use.
func (n *Node) Free() Resources { return n.Capacity.Sub(n.Used) }

// A Class is a set of nodes that are alike.
type Class struct {
	ID             ClassID
	Name           string
	Nodes          int
	Capacity, Used Resources

	members []uint64 // the nodes that are there, as bits
}

// A Count is the number of tasks of one kind of stage in a queue.
type Count struct {
	Pending int64 // 64 bits, because many jobs together may have more than 2³¹ tasks
	Running int32
	Away    int32 // of Running: holding another shape than their stage's own (slots lent to the other kind)
}

// A Queue is a named share of the cluster. Each user of a queue is a queue below it, and jobs are in such leaves only.
type Queue struct {
	ID, Parent QueueID // the root, 0, is its own parent
	User       bool    // made for a user's first job, gone with the last
	Children   []QueueID
	Jobs       int32     // unfinished, of all below
	Used       Resources // of all below, as the next three
	Masters    Resources // of Used, what masters hold
	Leaving    Resources
	Demand     Resources // Used + pending × per-task
	Count      [NumKinds]Count
	Min, Max   Resources // of Spec, in amounts for the capacity there is; Max is Unlimited where nothing is said
	Spec       *QueueSpec

	above  *Queue  // the parent; nil: it is the root
	served Work    // up to since
	since  Time    // not after that of the queue above; -1: nothing has been used yet
	cap    QueueID // the nearest of itself and those above with a maximum; 0: none
	uses   int64   // how many queues had this row before
	// retired says that the queue is not configured any more, and goes when it is empty.
	retired bool
	gone    bool
}

// Gone reports whether the queue has been removed. Its row stays until another queue takes it.
func (q *Queue) Gone() bool { return q.gone }

// Weight returns the queue's weight among its siblings.
func (q *Queue) Weight() float64 { return weightOr1(q.Spec.Weight) }

// Pending returns how many tasks of all kinds wait in the queue.
func (q *Queue) Pending() (n int64) {
	for _, c := range q.Count {
		n += c.Pending
	}
	return n
}

// Running returns how many attempts of all kinds run in the queue.
func (q *Queue) Running() (n int32) {
	for _, c := range q.Count {
		n += c.Running
	}
	return n
}

// A Job is a job that was submitted and is not forgotten: it runs, it ended in this Step, or what ran of it is leaving.
type Job struct {
	ID        JobID
	Queue     QueueID
	Weight    float64 // as specified, 1 where nothing was; not Spec.Weight, which may be 0
	Submitted Time
	Running   int32 // attempts
	Ended     bool  // finished, failed or killed; what still runs of it is leaving
	Used      Resources
	// The list grows while a YARN application finds new things to ask for. A key of an Index may sum over it.
	Stages []*Stage
	Spec   *JobSpec

	leaf       *Queue
	slot       int32
	next, prev int32 // slots of the neighbours in order of submission; -1: none
	open       int32 // stages that are not complete, and one more if Spec.Open: at 0 the job ends
	chained    bool  // some stage starts after another
	attempts   int32 // running or suspended
	served     Work  // up to since
	since      Time
	failures   map[NodeID]int32 // failed attempts by node
	touched    int64            // end of the change log after all stages were marked last
	banned     []NodeID         // sorted; may be an event's own list, so that it is replaced and never changed
}

// A Stage is the tasks of one job that do the same to different data.
type Stage struct {
	ID                                StageID
	Kind                              StageKind
	Shape                             ShapeID
	Total                             int32 // tasks; -1 where the engine cannot know
	Pending                           int32 // tasks that may start now
	Running, Suspended, Done, Leaving int32 // attempts; Leaving: of Running, those asked to end or to suspend
	Job                               *Job
	Spec                              *StageSpec

	slot    int32
	cap     QueueID // of its job's queue: the nearest with a maximum
	waiting int32   // tasks that neither run nor are done. While the stage is ready they are Pending
	// ready says that the dependencies of the stage hold.
	ready    bool
	alive    bool // its job has not ended
	attempts attemptList
	reserved []NodeID // nodes kept for it
	only     []NodeID // the only nodes to use, sorted; nil: all
	tasks    taskSet
}

// AttemptState says what an attempt is doing.
type AttemptState uint8

// The states of an attempt.
const (
	Running    AttemptState = iota
	Suspending              // asked to suspend; still runs
	Suspended               // holds only its memory
	Leaving                 // asked to end; still runs
	gone                    // ended; readable until the next Step
)

// An Attempt is one execution of a task on a node.
type Attempt struct {
	ID       AttemptID
	Stage    *Stage
	Start    Time
	Node     NodeID
	Task     int32   // from 1; zero where the engine chooses
	Progress float32 // in [0, 1]; -1 where the engine has not said
	Holds    ShapeID
	Class    ClassID // of its node when it was launched
	Phase    Phase
	State    AttemptState

	parked bool     // suspended: holds its memory only
	moot   bool     // its task is done without it, or its job has ended
	index  int32    // in its stage's list
	wants  ShapeID  // what it holds once resized, or resumed
	twin   *Attempt // ring of the attempts of the same task; nil: alone
}

// Resizing reports whether the attempt runs, was resized to less, and the engine has not said yet that it has less.
func (a *Attempt) Resizing() bool { return a.State == Running && a.wants != a.Holds }

// An attemptList holds the slots of a stage's attempts in order of launch. A gap marks an attempt that has ended, so
// that the removal of one attempt moves no other.
type attemptList struct {
	slots  []int32 // -1: a gap
	gaps   int
	starts Time // sum over the running attempts of their starts, shifted by their pauses; it may wrap around
	paused Time // sum over the suspended attempts of the time for which they have run
}

// weightOr1 returns a weight of a spec, where zero means 1.
func weightOr1(w float64) float64 {
	if w == 0 {
		return 1
	}
	return w
}

// A row is what a Per can hold something for.
type row interface{ row() (slot int32, id int64) }

func (j *Job) row() (int32, int64)   { return j.slot, int64(j.ID) }
func (s *Stage) row() (int32, int64) { return s.slot, s.ID.number() }
func (q *Queue) row() (int32, int64) { return int32(q.ID), q.uses<<32 | int64(q.ID) }

// number packs a StageID into an integer in order of submission.
func (id StageID) number() int64 { return int64(id.Job)<<16 | int64(id.Index) }
