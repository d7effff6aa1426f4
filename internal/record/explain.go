package record

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/outlook"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Ranker is a policy that can tell where a stage stands in its order. Position returns the stage's key: smaller keys
// come first, and equal keys go by submission. It returns false if the stage has no place in the order, because the
// policy holds it back or none of its tasks waits. Position is called after a Step, to explain a decision, and must
// change nothing. A policy that wraps another one passes the call on. If queues have orders of their own, keys begin
// with that of the queue.
type Ranker interface {
	Position(*sched.View, *sched.Stage) (sched.Key, bool)
}

// A Withholder is a Ranker that has limits of its own: on what the ApplicationMasters of a queue hold, or a user in a
// queue. Withheld returns in words which limit keeps a stage from starting, whatever room there is: the limit, its
// value, and how much of it is used. "" means that no such limit does.
type Withholder interface {
	Withheld(*sched.View, *sched.Stage) string
}

// A Reasoner is a Ranker that plans for stages. Why returns in words what it plans for one, such as an allocation and
// what that gains; "": nothing.
type Reasoner interface {
	Why(*sched.View, *sched.Stage) string
}

// A Worder is a Ranker whose keys can be read. InWords returns what key k stands for; k is the key of the stage.
type Worder interface {
	InWords(v *sched.View, st *sched.Stage, k sched.Key) string
}

// A Reason is why tasks of a stage do not run.
type Reason string

// The reasons. Explain gives the first that holds, in this order.
const (
	NothingWaits Reason = "nothing waits" // all tasks of the stage run or are done
	EarlierStage Reason = "earlier stage" // the stage starts after another stage, which is not far enough
	NotAsked     Reason = "not asked for" // the job's ApplicationMaster has not asked for the tasks
	QueueMaximum Reason = "queue maximum" // with one more task the queue, or one above, would exceed its maximum
	// The stage is an ApplicationMaster, and those of its queue, or of its user there, hold all that they may.
	MasterLimit  Reason = "limit of masters"
	UserLimit    Reason = "limit of the user" // the user holds all that the policy lets a user hold in the queue
	TooLarge     Reason = "too large"         // no node could hold a task even if it were empty
	NoNodeFits   Reason = "no node fits"      // no node has room for a task now
	ReservedRoom Reason = "reserved"          // the nodes with room are reserved for other stages
	// The job avoids the nodes with room: its tasks failed there, or it asked for other nodes.
	Blacklisted Reason = "blacklisted"
	NoReport    Reason = "no report" // under heartbeats: nodes have room, but have not reported since they got it
	// A node fits, and the policy holds the stage back: it has no place in the order, or is first and waits.
	Held      Reason = "held"
	Behind    Reason = "behind"            // a node fits, and other stages come first in the policy's order
	Unordered Reason = "the policy's wish" // a node fits; the policy is not known, or cannot tell its order
)

// An Explanation says why a job was where it was at an instant.
type Explanation struct {
	Job       sched.JobID        `json:"job"`                // number of the job, from 1
	Name      string             `json:"name,omitempty"`     // as it was submitted
	At        float64            `json:"at_s"`               // the instant, in seconds since the run began
	State     string             `json:"state"`              // "not submitted", "unfinished", "ended", Unknown
	Submitted float64            `json:"submit_s,omitempty"` // instant of the submission
	Ended     float64            `json:"end_s,omitempty"`    // instant of the end, if that was before
	Stages    []StageExplanation `json:"stages,omitempty"`   // of an unfinished job
	Expected  *Expectation       `json:"expected,omitempty"` // what was expected of an unfinished job
	Note      string             `json:"note,omitempty"`     // what is not known, and why
}

// An Expectation says when an unfinished job was expected to start and to end, and when it did. Instants are in seconds
// since the run began.
type Expectation struct {
	Since   float64         `json:"since_s"`           // the instant from which the outlook counts
	Outlook outlook.Outlook `json:"outlook"`           // what was expected
	Began   float64         `json:"start_s,omitempty"` // of its first task; 0: before Since, or not in the record
	Ended   float64         `json:"end_s,omitempty"`   // 0: not in the record
}

// Unknown is the state of a job that the record does not have.
const Unknown = "unknown"

// A StageExplanation says why tasks of a stage do not run.
type StageExplanation struct {
	Stage   int32      `json:"stage"`               // number of the stage in its job, from 0
	Kind    string     `json:"kind"`                // map, reduce, master or other
	Waiting int32      `json:"waiting"`             // tasks, for whatever reason
	Running int32      `json:"running"`             // attempts
	Done    int32      `json:"done"`                // tasks
	Reason  Reason     `json:"reason"`              // in a word
	Detail  string     `json:"detail"`              // in a sentence
	Key     *sched.Key `json:"key,omitempty"`       // its place in the policy's order
	Words   string     `json:"key_words,omitempty"` // what the key stands for
	Wish    string     `json:"wish,omitempty"`      // what the policy wants for it, in words
	// stages of other jobs that wait for the same kinds of resources and come first
	Ahead   int      `json:"ahead,omitempty"`
	Before  []Rank   `json:"before,omitempty"`  // the first of them
	Holders []Holder `json:"holders,omitempty"` // where no node fits: who has the room, the largest first
}

// A Rank is a stage with its key in a policy's order.
type Rank struct {
	Stage sched.StageID `json:"stage"`          // the stage
	Name  string        `json:"name,omitempty"` // of its job
	Key   sched.Key     `json:"key"`            // its place in the policy's order
	Words string        `json:"key_words"`      // what the key stands for, and what decides where keys are equal
}

// inWords returns in words what decides the place of stage st, whose key is k: what the key stands for, and the job's
// submission, which decides between equal keys. If the policy cannot say what its keys stand for, inWords names the
// job's priority and the parts of the key that are not zero.
func inWords(r Ranker, v *sched.View, st *sched.Stage, k sched.Key) string {
	j := st.Job
	submitted := fmt.Sprintf("submitted %v", j.Submitted.Round(time.Millisecond))
	if w, ok := r.(Worder); ok {
		if words := w.InWords(v, st, k); words != "" {
			return words + ", " + submitted
		}
	}
	words := []string{fmt.Sprintf("priority %d", j.Spec.Priority)}
	if k.Class != 0 {
		words = append(words, fmt.Sprintf("group %d of the policy's order (smaller first)", k.Class))
	}
	if k.Value != 0 {
		words = append(words, fmt.Sprintf("value %.6g", k.Value))
	}
	if k.Then != 0 {
		words = append(words, fmt.Sprintf("then %d", k.Then))
	}
	return strings.Join(append(words, submitted), ", ")
}

// A Holder is a job that holds room for which other jobs wait.
type Holder struct {
	Job      sched.JobID `json:"job"`            // number of the job
	Name     string      `json:"name,omitempty"` // of the job
	Attempts int         `json:"attempts"`       // that hold room
}

const mostNamed = 5 // jobs in a list

// Explain returns why the job of q had no more tasks running after the last Step at or before the instant of q. It
// applies the recorded decisions again, from the last useful snapshot before the instant, or from the beginning of the
// record. The policy that make creates is asked for its order only; make is nil if the policy is not known.
func Explain(r *Reader, q Question, make Deciders) (*Explanation, error) {
	marks := r.Marks()
	i, err := startFor(r, marks, q)
	for ; err == nil && i >= 0; i-- {
		var x *explainer
		if x, err = explainFrom(r, marks[i], q, make); err != nil {
			break
		}
		if err := x.run(); err != nil {
			return nil, err
		}
		switch {
		case x.parted: // the policy's memory is not all in the snapshot
			i = 0
		case !x.heard.unsure:
			return x.e, nil
		}
	}
	if len(marks) > 0 {
		if err := r.rewind(); err != nil { // also after a snapshot that cannot be read: the Steps suffice
			return nil, err
		}
	}
	x := &explainer{q: q, known: play(r), e: &Explanation{Job: q.Job, At: q.At.Seconds(), State: "not submitted"}}
	if make != nil {
		if x.policy, err = newReplayer(r, make); err != nil {
			return nil, err
		}
	}
	x.begin(make != nil)
	return x.e, x.run()
}

// startFor returns the index of the last mark from which question q can be answered; -1: from the beginning only. That
// mark is not after the instant of q, and the job had not ended there: a snapshot does not have jobs that have ended.
// It searches binarily, and reads O(log marks) snapshots.
func startFor(r *Reader, marks []Mark, q Question) (int, error) {
	last := before(marks, q.At)
	if last < 0 || marks[last].Newest < q.Job {
		return last, nil
	}
	first := sort.Search(last, func(i int) bool { return marks[i].Newest >= q.Job }) // where it had been submitted
	var err error
	n := sort.Search(last-first+1, func(i int) bool { // how many, counted from the last, do not have the job any more
		if err != nil {
			return false
		}
		var snap *Snapshot
		if snap, err = r.Seek(marks[last-i]); err != nil {
			return false
		}
		return slices.ContainsFunc(snap.State.Jobs, func(j sched.SavedJob) bool { return j.ID == q.Job && !j.Ended })
	})
	return last - n, err
}

// explainFrom returns an explainer that begins at the snapshot of mark m.
func explainFrom(r *Reader, m Mark, q Question, make Deciders) (*explainer, error) {
	x := &explainer{q: q, e: &Explanation{Job: q.Job, At: q.At.Seconds(), State: "not submitted"}}
	snap, err := r.Seek(m)
	if err != nil {
		return nil, err
	}
	if x.known, err = playFrom(r, snap); err != nil {
		return nil, err
	}
	if make != nil {
		if snap, err = r.Seek(m); err != nil { // again, because a core keeps the state from which it is restored
			return nil, err
		}
		if x.policy, err = replayFrom(r, snap, make); err != nil {
			return nil, err
		}
	}
	x.begin(make != nil)
	x.jobs = m.Newest
	x.note(m.Now)
	x.heard.from(m.Now)
	return x, nil
}

// begin prepares the explainer, whose cores are set, for its first Step. known says that there is a policy: if the
// policy cannot tell its order, the explanation says so.
func (x *explainer) begin(known bool) {
	x.heard = newHeard(x.q.Job, &x.known.core.View)
	if ranker, _ := x.ranker(); ranker == nil && known {
		x.e.Note = fmt.Sprintf("policy %s cannot tell its order", x.known.reader.Header.Policy)
	}
}

// run follows the record to the instant of the question, explains, and then follows the record further until it shows
// when the job started and ended.
func (x *explainer) run() error {
	for s, err := range x.known.reader.Steps() {
		if x.e.Stages != nil {
			if err != nil || !x.later(s) {
				break
			}
			continue
		}
		if errors.Is(err, ErrCut) {
			x.e.Note = err.Error()
			break
		}
		if err != nil {
			return err
		}
		for i := range s.Events {
			if e := &s.Events[i]; e.Kind == sched.JobSubmitted {
				x.jobs = e.Job
			}
		}
		if s.Now > x.q.At && (x.e.State != "not submitted" || x.jobs >= x.q.Job) {
			if x.finish(); x.e.Expected == nil || !x.later(s) {
				break
			}
			continue
		}
		if s.Now > x.q.At {
			continue // the job may be submitted later
		}
		if err := x.follow(s); err != nil {
			return err
		}
	}
	if x.e.State == "not submitted" && x.jobs < x.q.Job {
		x.e.State = Unknown
		x.e.Note = strings.TrimPrefix(x.e.Note+fmt.Sprintf("; the record has no job %d: the last is %d", x.q.Job,
			x.jobs), "; ")
	}
	x.finish()
	return nil
}

// finish explains the job if it is unfinished, and adds when it is expected to start and to end. A second call does
// nothing.
func (x *explainer) finish() {
	if x.e.State != "unfinished" || x.e.Stages != nil {
		return
	}
	if x.policy != nil && x.steps == 0 {
		x.heard.unsure = true
		return
	}
	for _, st := range x.known.core.Job(x.q.Job).Stages {
		x.e.Stages = append(x.e.Stages, x.explain(st))
	}
	if ranker, v := x.ranker(); ranker != nil {
		look := outlook.At(v, outlook.OrderOf(x.policy.policy, v))
		x.e.Expected = &Expectation{Since: v.Now.Seconds(), Outlook: look.Of(x.q.Job)}
	}
}

// later applies Step s, which is after the instant, and reports whether a further Step can show when the job started or
// ended.
func (x *explainer) later(s *Step) bool {
	if x.known.apply(s) != nil {
		return false
	}
	j, e := x.known.core.Job(x.q.Job), x.e.Expected
	if j == nil {
		return false
	}
	if e.Began == 0 && e.Outlook.Start != nil && slices.ContainsFunc(j.Stages, func(st *sched.Stage) bool {
		return st.Kind != sched.Master && st.Running+st.Done > 0
	}) {
		e.Began = s.Now.Seconds()
	}
	if j.Ended {
		e.Ended = s.Now.Seconds()
	}
	return !j.Ended
}

// A Question asks why a job has no more tasks running at an instant.
type Question struct {
	Job sched.JobID
	At  sched.Time
}

// An explainer plays a record on two cores. The core of known applies the recorded actions: it tells what could be
// done. The core of policy runs under the policy, which tells its order.
type explainer struct {
	q      Question
	known  *player
	policy *replayer // nil: the policy is not known, or decides otherwise than recorded
	heard  *heard
	e      *Explanation
	jobs   sched.JobID // the last job that was submitted
	steps  int         // how many were followed; a policy can tell its order after one
	parted bool        // the policy has decided otherwise than recorded
}

// follow applies Step s on both cores.
func (x *explainer) follow(s *Step) error {
	x.steps++
	if err := x.known.apply(s); err != nil {
		return err
	}
	x.heard.follow(s)
	if x.policy != nil {
		actions, err := x.policy.step(s)
		if err != nil {
			return err
		}
		if d := x.policy.difference(s, actions); d != nil {
			x.e.Note = fmt.Sprintf("the policy decides otherwise now than it did (%v): its order is not known", d)
			x.policy, x.parted = nil, true
		}
	}
	x.note(s.Now)
	return nil
}

// note sets the job's name, state, submission and end in the explanation.
func (x *explainer) note(now sched.Time) {
	if j := x.known.core.Job(x.q.Job); j != nil {
		x.e.Name, x.e.State, x.e.Submitted = j.Spec.Name, "unfinished", j.Submitted.Seconds()
		if j.Ended {
			x.e.State, x.e.Ended = "ended", now.Seconds()
		}
	}
}

// explain returns why tasks of stage st do not run.
func (x *explainer) explain(st *sched.Stage) StageExplanation {
	v := &x.known.core.View
	e := StageExplanation{
		Stage:   st.ID.Index,
		Kind:    st.Kind.String(),
		Running: st.Running,
		Done:    st.Done,
		Waiting: sched.Waiting(v, st),
	}
	before := unmet(st)
	switch {
	case e.Waiting == 0:
		e.Reason, e.Detail = NothingWaits, "its tasks run or are done"
		return e
	case before != nil:
		b := st.Job.Stages[before.Stage]
		e.Reason = EarlierStage
		e.Detail = fmt.Sprintf("it starts when %g of stage %d (%v) is done; %d of %d tasks are", before.Part,
			before.Stage, b.Kind, b.Done, b.Total)
		return e
	case st.Spec.Asked && st.Pending == 0:
		e.Reason, e.Detail = NotAsked, "its job's ApplicationMaster has not asked for its tasks yet"
		return e
	}
	x.rank(&e, st)
	if q, k := full(v, st); q != nil {
		e.Reason = QueueMaximum
		e.Detail = fmt.Sprintf("queue %s uses %d of at most %d %v, and a task takes %d", v.Path(q), q.Used[k], q.Max[k],
			k, st.Spec.PerTask[k])
		return e
	}
	if why := x.withheld(st); why != "" {
		if e.Reason, e.Detail = UserLimit, why; st.Kind == sched.Master {
			e.Reason = MasterLimit
		}
		return e
	}
	x.room(&e, st)
	return e
}

// unmet returns the first dependency of stage st that is not fulfilled; nil: all are. It rounds as the core does.
func unmet(st *sched.Stage) *sched.Dep {
	for i, d := range st.Spec.After {
		if b := st.Job.Stages[d.Stage]; float64(b.Done) < d.Part*float64(b.Total) {
			return &st.Spec.After[i]
		}
	}
	return nil
}

// full returns the queue whose maximum leaves no room for one more task of st, and the kind of resource: the lowest
// such queue of the stage's own and those above. nil: there is none.
func full(v *sched.View, st *sched.Stage) (*sched.Queue, sched.ResourceKind) {
	for q := v.Queues[st.Job.Queue]; ; q = v.Queues[q.Parent] {
		for k, a := range st.Spec.PerTask {
			if a > 0 && q.Used[k]+a > q.Max[k] {
				return q, sched.ResourceKind(k)
			}
		}
		if q.ID == 0 {
			return nil, 0
		}
	}
}

// rank sets in e the key of stage st in the policy's order, and the stages that come before it.
func (x *explainer) rank(e *StageExplanation, st *sched.Stage) {
	ranker, v := x.ranker()
	if ranker == nil {
		return
	}
	own := v.Stage(st.ID)
	if r, ok := ranker.(Reasoner); ok && own != nil {
		e.Wish = r.Why(v, own)
	}
	key, ok := ranker.Position(v, own)
	if !ok {
		return
	}
	e.Key, e.Words = &key, inWords(ranker, v, own, key)
	for j := range v.Jobs() {
		for _, o := range j.Stages {
			k, ok := ranker.Position(v, o)
			if ok && j.ID != st.ID.Job && o.Pending > 0 && shares(o.Spec.PerTask, st.Spec.PerTask) &&
				cmp.Or(k.Compare(key), int(j.ID-st.ID.Job)) < 0 {
				e.Before = append(e.Before, Rank{o.ID, j.Spec.Name, k, inWords(ranker, v, o, k)})
			}
		}
	}
	e.Ahead = len(e.Before)
	slices.SortStableFunc(e.Before, func(a, b Rank) int {
		return cmp.Or(a.Key.Compare(b.Key), int(a.Stage.Job-b.Stage.Job))
	})
	e.Before = e.Before[:min(mostNamed, len(e.Before))]
}

// withheld returns which limit of the policy keeps stage st from starting; "": none, or the policy cannot tell.
func (x *explainer) withheld(st *sched.Stage) string {
	if ranker, v := x.ranker(); ranker != nil {
		if w, ok := ranker.(Withholder); ok {
			return w.Withheld(v, v.Stage(st.ID))
		}
	}
	return ""
}

// ranker returns the policy and its view; nil if the policy is not known or cannot tell its order.
func (x *explainer) ranker() (Ranker, *sched.View) {
	if x.policy == nil {
		return nil, nil
	}
	r, ok := x.policy.policy.(Ranker)
	if !ok {
		return nil, nil
	}
	return r, &x.policy.core.View
}

// A survey says which nodes have room for one more task of a stage.
type survey struct {
	nodes, large int           // all nodes; those that could hold a task if they were empty
	fits         []*sched.Node // nodes where a task may be launched
	reserved     []*sched.Node // nodes with room, reserved for another stage
	avoided      []*sched.Node // nodes with room that the job avoids
}

// look returns the survey of all nodes for stage st.
func look(v *sched.View, st *sched.Stage) (s survey) {
	allowed := map[sched.NodeID]bool{}
	for n := range v.FitsAs(st, 0, v.Shape(sched.Resources{})) { // the empty shape fits on every allowed node
		allowed[n.ID] = true
	}
	for _, n := range v.Nodes {
		if n.Lost {
			continue
		}
		s.nodes++
		if st.Spec.PerTask.FitsIn(n.Capacity) {
			s.large++
		}
		switch {
		case !st.Spec.PerTask.FitsIn(n.Free()):
		case allowed[n.ID]:
			s.fits = append(s.fits, n)
		case n.Reserved != (sched.StageID{}):
			s.reserved = append(s.reserved, n)
		default:
			s.avoided = append(s.avoided, n)
		}
	}
	return s
}

// room sets in e why tasks of stage st wait, which may start: no node has room for them, or else the order of the
// policy is the reason (turn).
func (x *explainer) room(e *StageExplanation, st *sched.Stage) {
	v := &x.known.core.View
	s := look(v, st)
	switch {
	case s.large == 0:
		e.Reason, e.Detail = TooLarge, fmt.Sprintf("a task takes %s, more than any node of %d has",
			amounts(st.Spec.PerTask), s.nodes)
	case len(s.fits) > 0:
		x.turn(e, st, s.fits)
	case len(s.reserved) > 0:
		n := s.reserved[0]
		e.Reason, e.Detail = ReservedRoom, fmt.Sprintf("%s have room but are reserved, %s for job %d stage %d",
			names(s.reserved), n.Name, n.Reserved.Job, n.Reserved.Index)
	case len(s.avoided) > 0:
		e.Reason, e.Detail = Blacklisted, fmt.Sprintf("%s have room, and the job avoids them: its tasks failed "+
			"there, or it asked for others", names(s.avoided))
	default:
		e.Reason, e.Holders = NoNodeFits, holders(v, st)
		e.Detail = fmt.Sprintf("a task takes %s, and no node of %d has that free",
			amounts(st.Spec.PerTask), s.nodes)
		if e.Ahead > 0 {
			e.Detail += "; " + spelling.Count(e.Ahead, "stage comes", "stages come") + " first when one has"
		}
	}
}

// turn sets in e why no task of stage st was launched although nodes fit.
func (x *explainer) turn(e *StageExplanation, st *sched.Stage, fits []*sched.Node) {
	ranker, _ := x.ranker()
	switch {
	case x.known.reader.Header.Core.Heartbeats && !x.heard.any(st.ID, fits):
		e.Reason, e.Detail = NoReport, fmt.Sprintf("%s have room, and have not reported since", names(fits))
	case ranker == nil:
		e.Reason, e.Detail = Unordered, fmt.Sprintf("%s fit; the policy cannot be asked why it launches "+
			"nothing there", names(fits))
	case e.Key == nil:
		e.Reason, e.Detail = Held, fmt.Sprintf("%s fit; the policy has no place for the stage in "+
			"its order now", names(fits))
	case e.Ahead > 0:
		e.Reason, e.Detail = Behind, fmt.Sprintf("%s fit; %s first in the policy's order, the first of job %d",
			names(fits), spelling.Count(e.Ahead, "stage comes", "stages come"), e.Before[0].Stage.Job)
	default:
		e.Reason, e.Detail = Held, fmt.Sprintf("%s fit and no stage comes first; the policy waits for "+
			"a better one", names(fits))
	}
}

// names returns the names of the first few nodes, and how many more there are.
func names(nodes []*sched.Node) string {
	var some []string
	for _, n := range nodes[:min(mostNamed, len(nodes))] {
		some = append(some, n.Name)
	}
	if more := len(nodes) - len(some); more > 0 {
		some = append(some, fmt.Sprintf("%d more", more))
	}
	return strings.Join(some, ", ")
}

// amounts returns the amounts of r that are not zero, as text.
func amounts(r sched.Resources) string {
	l := line{}
	l.resources("", r)
	return strings.TrimPrefix(string(l.b), " =")
}

// holders returns the jobs with the most attempts on nodes that a task of st would fit on if they were empty.
func holders(v *sched.View, st *sched.Stage) (list []Holder) {
	at := map[sched.JobID]int{}
	running(v, func(a *sched.Attempt) {
		if !st.Spec.PerTask.FitsIn(v.Node(a.Node).Capacity) || !shares(v.Amount(a.Holds), st.Spec.PerTask) {
			return
		}
		k, ok := at[a.Stage.ID.Job]
		if !ok {
			k = len(list)
			at[a.Stage.ID.Job] = k
			list = append(list, Holder{Job: a.Stage.ID.Job, Name: a.Stage.Job.Spec.Name})
		}
		list[k].Attempts++
	})
	slices.SortFunc(list, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Attempts, a.Attempts), cmp.Compare(a.Job, b.Job))
	})
	return list[:min(mostNamed, len(list))]
}

// shares reports whether a and b both have some of the same kind of resource.
func shares(a, b sched.Resources) bool {
	for k := range a {
		if a[k] > 0 && b[k] > 0 {
			return true
		}
	}
	return false
}

// heard remembers when each node last reported and last got more room, and since when each stage of a job may start.
// Under heartbeats a policy can use room only when its node reports.
type heard struct {
	view            *sched.View
	job             sched.JobID
	reported, freed map[sched.NodeID]sched.Time
	since           map[int32]sched.Time // by index of the stage
	began           sched.Time           // reports before this instant are not known; -1: all are known
	unsure          bool                 // an answer depended on reports that are not known
}

func newHeard(job sched.JobID, v *sched.View) *heard {
	return &heard{
		view:     v,
		job:      job,
		reported: map[sched.NodeID]sched.Time{},
		freed:    map[sched.NodeID]sched.Time{},
		since:    map[int32]sched.Time{},
		began:    -1,
	}
}

// from begins h at instant now, with the stages that wait by then: since when they have waited is not known.
func (h *heard) from(now sched.Time) {
	h.began = now
	if j := h.view.Job(h.job); j != nil {
		for _, st := range j.Stages {
			if st.Pending > 0 {
				h.since[st.ID.Index] = now
			}
		}
	}
}

// follow notes what the events of Step s say of nodes, and which stages wait after it.
func (h *heard) follow(s *Step) {
	for i := range h.view.Events {
		switch e := &h.view.Events[i]; e.Kind {
		case sched.NodeReported:
			h.reported[e.Node] = s.Now
		case sched.NodeJoined:
			h.freed[e.Node] = s.Now
			delete(h.reported, e.Node)
		case sched.AttemptDone, sched.AttemptSuspended, sched.AttemptResized, sched.ResizeAsked:
			if a := h.view.Attempt(e.Attempt); a != nil {
				h.freed[a.Node] = s.Now
			}
		}
	}
	j := h.view.Job(h.job)
	if j == nil {
		return
	}
	for _, st := range j.Stages {
		if _, ok := h.since[st.ID.Index]; st.Pending == 0 {
			delete(h.since, st.ID.Index)
		} else if !ok {
			h.since[st.ID.Index] = s.Now
		}
	}
}

// any reports whether one of nodes has sent a report since it had room and stage st could start.
func (h *heard) any(st sched.StageID, nodes []*sched.Node) bool {
	unsure := false
	for _, n := range nodes {
		since := max(h.freed[n.ID], h.since[st.Index])
		at, ok := h.reported[n.ID]
		if ok && at >= since {
			return true
		}
		unsure = unsure || !ok && since <= h.began
	}
	h.unsure = h.unsure || unsure
	return false
}
