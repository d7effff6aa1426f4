package yarn

import (
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// A manager is the state of the ResourceManager. Only the goroutine whose turn it is (see owner) reads or writes it.
type manager struct {
	config  *Config
	core    *sched.Core
	clock   func() time.Time
	started time.Time // sched.Time 0; in ms the cluster's timestamp and the identity that nodes are told
	now     time.Time // of the current turn
	log     *logbook  // safe for many goroutines

	life   life
	saves  *saver // nil: nothing outlives the process
	finds  finds
	keys   keys
	nodes  nodeTable
	queues placement
	apps   appTable
	live   liveness
	leases leaseTable // containers that hold room in the core
	count  counts

	part      float64       // of each node that a service leaves, where Config.Room says that
	events    []sched.Event // facts for the next Step
	unsettled []unsettled   // asks to tell the core of before that
	wake      time.Time     // when the core wants a Step; zero: not asked for
	start     masterLauncher
	post      func(do func()) // runs do in a later turn; called outside of turns
	groups    *groupTable     // safe for many goroutines
}

// A life is one of those that a ResourceManager has, from start to end, on the same state.
type life struct {
	identity int64 // names it to nodes and in application ids: ms since 1970, later than that of any before
	epoch    int64 // how many there were before: part of the ids of its containers, so that no two lives share one
	first    int64 // identity of the first of them
}

// finds are what runs since an earlier life.
type finds struct {
	awaited map[wire.NodeID][]*container  // ApplicationMasters by the node that has not registered yet in this life
	told    map[*sched.Found]*container   // the core was told of these in this turn
	given   map[wire.ContainerID]*attempt // given back by their ApplicationMaster before their node registered
}

// keys sign the three kinds of tokens.
type keys struct {
	master, node, container *token.Keys
	delegations             delegations
	clients                 []byte // makes the keys by which clients call ApplicationMasters; it never rolls
}

// counts are since the start.
type counts struct {
	kept    int // containers that their node may not forget yet
	granted int64
	ended   [sched.Released + 1]int64 // containers by outcome
	refused int64                     // invalid actions of the policy
	said    map[string]bool           // reasons of those that were logged
}

// A node is a NodeManager. Its states are those that are reported:
//
//	registers ─▶ RUNNING ◀─▶ UNHEALTHY        as its own checks say
//	             RUNNING ─▶ DECOMMISSIONING ─▶ DECOMMISSIONED    excluded; gracefully: when nothing
//	                                                             runs there any more
//	             any of these ─▶ LOST          silent for too long
//	             any of these ─▶ SHUTDOWN      it said that it ends
//
// and from each of the last three back to RUNNING when it registers again. The core has the node while it is RUNNING or
// DECOMMISSIONING.
type node struct {
	m        *manager
	id       wire.NodeID
	name     string // of the id
	sched    sched.NodeID
	rack     string
	service  string // ip:port, of tokens
	version  string // of its NodeManager
	web      string // host:port of its pages; MapReduce's ApplicationMaster ends where there is none
	capacity wire.Resource
	state    wire.NodeState
	sizes    newSizes // that the node was not told of yet
	silent   aged
	heard    time.Time    // its last beat or registration
	quiet    *atomic.Bool // silent for Config.Quiet: it gets no containers until it beats; masterLauncher reads it
	launches launches
	life     int32  // number of its registrations: a token for an earlier life is of no use
	patience *alarm // the latest end of a graceful decommission
	doing    doing

	containers []*container            // that are not over, in no order
	last       *wire.HeartbeatResponse // the last reply, to be sent again if it was lost
	orders
}

// newSizes are other sizes than before: of a node, which an operator has said, and of containers.
type newSizes struct {
	own        *wire.Resource // nil: as it is
	containers []*container
}

// launches of ApplicationMasters on a node.
type launches struct {
	failures int32 // in a row
	shunned  aged  // while no ApplicationMaster is started there
}

// doing is what a node last said of itself.
type doing struct {
	health               wire.Health
	utilization, machine proto.Raw
	others               float64 // vcores that processes other than containers use, where Room.Measured asks for it
}

// orders are what a node must do and was not told yet.
type orders struct {
	cleanup []wire.ContainerID
	apps    []wire.ApplicationID
	remove  []wire.ContainerID
	signals []wire.Signal
	stopped map[wire.ContainerID]bool // those of cleanup; nil: none
}

// usable reports whether the core has the node.
func (n *node) usable() bool {
	return n.state == wire.NodeRunning || n.state == wire.NodeDecommissioning
}

// An application's states are those that are reported:
//
//	ACCEPTED ─▶ RUNNING ─▶ FINISHED     its ApplicationMaster registers; says that it is over
//	    ▲          │
//	    └──────────┴─▶ FAILED            the ApplicationMaster dies: again, or once too often
//	any of the first two ─▶ KILLED       a user, an operator or its lifetime ended it
//
// FINISHED is reported as soon as the ApplicationMaster has said so. The job of the core is over when the
// ApplicationMaster's container is over, too.
type application struct {
	m          *manager
	id         wire.ApplicationID
	job        sched.JobID
	user       string
	queue      string // dotted path below the root
	hints      hints
	submission wire.Submission
	held       int64 // bytes of submission that only launching needs
	state      wire.AppState
	outcome    outcome
	attempts   []*attempt // the last is the one that lives
	asks       askTable
	progress   float32        // 0 to 1
	nodes      map[*node]bool // nodes that had a container of it, and must be told of its end
	times      times
	used       sched.Work // once it is over
	over       bool       // nothing of it lives any more
	lifetime   lifetime
	missed     []wire.ContainerStatus // ends of containers that outlive attempts, while there was no attempt
	order      int64                  // of submission, over all lives
	kept       bool                   // what only launching needs is in the store
	forgotten  bool                   // it is told of no more
	shunned    map[*node]int32        // nodes, in which life, on which a launch of its ApplicationMaster failed
	access     map[int32]ACL          // as it was submitted with, by what they let users do
}

// lifetime is when an application is killed.
type lifetime struct {
	ends  time.Time // zero: never
	alarm *alarm    // for that; nil: it was never set
}

// outcome is what the end of an application is reported to be.
type outcome struct {
	final       wire.FinalStatus
	diagnostics string
}

// times are in ms since 1970; zero: not yet.
type times struct{ started, launched, finished int64 }

// current returns the attempt that lives, or lived last; nil: none has begun.
func (app *application) current() *attempt {
	if len(app.attempts) == 0 {
		return nil
	}
	return app.attempts[len(app.attempts)-1]
}

// An attempt is one life of an application's ApplicationMaster. Its states are those that are reported:
//
//	ALLOCATED ─▶ LAUNCHED ─▶ RUNNING ─▶ FINISHING ─▶ FINISHED
//	    └────────────┴──────────┴─▶ FAILED, KILLED
//
// It is ALLOCATED when the core gave its ApplicationMaster a container, LAUNCHED when the node has started that
// container, RUNNING when the ApplicationMaster has registered (which may be heard of before the node's reply),
// FINISHING when it has said that it is over, FINISHED when its container has ended. An unmanaged attempt, whose
// ApplicationMaster its client starts, is LAUNCHED at once and FINISHED without FINISHING.
type attempt struct {
	app         *application
	id          wire.AttemptID
	state       wire.AttemptState
	master      *container // nil: unmanaged
	address     wire.MasterAddress
	silent      aged
	finishing   aged
	diagnostics string
	times       times
	sequence    int64          // of the last container
	containers  containerTable // that live, or that their node may not forget yet
	dues        dues
	failed      bool   // it counts among those that the application may have
	blameless   bool   // it ended because its node could not be reached: the core does not count that
	cancel      func() // takes the launch back while it goes on; nil: no launch goes on
}

// dues are what an ApplicationMaster must be told in its next answer, and what it was told in the last.
type dues struct {
	granted   grantList
	completed []wire.ContainerStatus
	kept      []byte       // bytes that completed refers to
	told      []*container // in the last answer
	ending    []*container // of completed
	wanted    []wire.ContainerID
	resized   []resized
	refused   []wire.UpdateError
	updated   map[*node]bool
	tokens    map[*node]nodeToken // that it has
	key       int32               // of its own token
	last      *wire.AllocateResponse
	text      struct{ tokens, completed []byte } // of last
}

// nodeToken says which token an ApplicationMaster has for a node. A new key, or a new registration of the node, makes
// another token necessary.
type nodeToken struct{ key, life int32 }

// changed notes that the ApplicationMaster must be told of node n, once however often n changes until then.
func (d *dues) changed(n *node) {
	if d.updated == nil {
		d.updated = map[*node]bool{}
	}
	d.updated[n] = true
}

func (a *attempt) ended() bool {
	return a.state == wire.AttemptFinished || a.state == wire.AttemptFailed || a.state == wire.AttemptKilled
}

// containerState is how far a container is:
//
//	allocated ─▶ acquired ─▶ running ─▶ done ─▶ forgotten
//	    └───────────┴──────────────────▲
//
// It is allocated when the core has chosen its node, and acquired when its ApplicationMaster has been told (an
// ApplicationMaster's own container: when the masterLauncher has it). It is running when its node says so, done when
// its node says so or when it was given up, and forgotten when its node need not repeat it any more.
type containerState uint8

const (
	allocated containerState = iota
	acquired
	running
	done
)

// A container is a lease of a part of a node, and an attempt of the core.
type container struct {
	m        *manager
	id       wire.ContainerID
	lease    sched.AttemptID // zero: the core does not know of it, which is of an earlier life and was not found yet
	attempt  *attempt
	node     *node
	resource wire.Resource
	priority wire.Priority
	group    int64 // allocation id of the ask
	state    containerState
	version  int32    // how often its size has changed
	growth   *growth  // of its size; nil: it was never to change
	created  int64    // ms since 1970
	at       int32    // in its node's containers
	due      int32    // in its attempt's dues.granted, while notice is unheard
	waits    aged     // for its node to say that it runs
	leaving  *leaving // it was asked to end and still runs; nil: it was not
	notice   notice   // how far the news of its end has come
	grace    *alarm   // when it is killed for its room; nil: its room is not wanted
}

// leaving is how a container that was asked to end will have ended.
type leaving struct {
	end     wire.ContainerStatus
	outcome sched.Outcome
}

// A notice is how far the news of a container's end has come on its way to the ApplicationMaster.
type notice uint8

const (
	none    notice = iota
	unheard        // the ApplicationMaster has not even heard of the container
	queued         // for the next answer
	sent           // in the last answer
	heard          // the ApplicationMaster has called since
)

func (c *container) isMaster() bool { return c == c.attempt.master }

// A nodeTable finds nodes and racks.
type nodeTable struct {
	byID  map[wire.NodeID]*node
	list  []*node // list[id-1], as the core has them
	gone  aging   // of list, those that have left and are remembered, longest ago first; for silent
	racks map[string]sched.RackID

	byPlace  map[string][]*node // by host and by rack, in order of ID
	classes  map[string]bool    // names of sizes of nodes
	topology *topology          // safe for many goroutines
	hosts    hostSet            // that may be used
	widest   sched.Resources    // what the largest of list has of each kind, unless changed
	changed  bool               // a node has come or left, or has another size
	up       int32              // of list, those that the core has
	ready    int32              // of list, those that may get containers
}

// An appTable finds applications.
type appTable struct {
	byID    map[wire.ApplicationID]*application
	byJob   map[sched.JobID]*application
	list    []*application // in order of submission
	newest  sched.JobID
	order   int64                 // of the last
	named   int32                 // the last id that was given to a client
	taken   idSet                 // of those, with which an application was submitted
	trimmed map[wire.AppState]int // those that are told of no more, by how they ended
	logs    map[wire.ApplicationID]*collection
	gone    int   // of list, those that are over
	held    int64 // bytes of submissions of those that live
	wary    int   // of list, those that live and on whose behalf nodes are shunned
	retold  bool  // the core was told of nodes that are shunned, at the last change of nodes
}

// A leaseTable finds containers by the core's attempts, in whose slots they are.
type leaseTable struct {
	slots []*container
	count int
}

// A containerTable finds an attempt's containers by their ids, which count up: most that live are neighbours, so they
// are kept a page of neighbours at a time. A page goes when the last on it does.
type containerTable struct {
	pages map[int64]*containerPage
	count int
}

const pageBits = 6

type containerPage struct {
	at   [1 << pageBits]*container
	used int
}

// A grantList holds, in order, the containers that were granted and that their ApplicationMaster has not heard of. Each
// knows its place (container.due), so that one that ends before is taken out in O(1), however many there are.
type grantList struct {
	slots []*container // nil: taken out
	first int          // of slots, the first that may not be nil
	count int
}

// An unsettled group changed without an ask.
type unsettled struct {
	app   *application
	group *group
}

// An askTable is what an application wants. Asks are absolute: a new one for a place replaces the one before, zero
// takes it back. Those of one priority and allocation id are a group, with one size at a time; a group that has wanted
// containers is a stage of the core, until it wants none and none is on its way.
type askTable struct {
	groups  map[groupKey]*group
	stages  []stageKey // by index in the core: whose they are, or were last
	idle    map[askKind][]int32
	pending int64                     // of all groups
	places  int                       // of all groups
	banned  map[string]bool           // hosts and racks that the application does not want
	bans    []sched.NodeID            // the nodes that these are, sorted
	uses    map[wire.Priority]float64 // processors that a container uses, by what was learned; no entry: nothing was
}

type groupKey struct {
	priority   wire.Priority
	allocation int64
	grows      sched.AttemptID // the container that is to have what is asked for; zero: a new one
}

type stageKey struct {
	groupKey
	size wire.Resource
}

// An askKind is what the core cannot tell apart: a stage that no group has is used again for another of its kind.
type askKind struct {
	priority wire.Priority
	size     wire.Resource
}

// A group is the asks of one priority and allocation id. The request for anywhere carries the total; those for hosts
// and racks are hints, and bounds where farther places will not do.
type group struct {
	key     groupKey
	stage   int32 // in the core; 0: none
	size    wire.Resource
	on      *node // the only one that will do; nil: see places
	total   int32
	relax   bool                            // any node will do
	places  map[string]wire.ResourceRequest // nil: none yet
	strict  bool                            // the core was told to use some nodes only
	changed bool                            // by the call that is being taken in
	// containers that were granted and that the ApplicationMaster has not heard of
	owed int32
}

// delegations are the delegation tokens that are good. In simple mode no client needs one. Programs that ask for
// them, as Oozie does, get them.
type delegations struct {
	keys *token.Keys // of one key for ever: what is good is what is listed
	last int32
	good map[string]*delegation // by identifier
}

type delegation struct {
	id       token.Delegation
	password []byte
	expires  time.Time
	alarm    *alarm // to forget it
}

// An idSet is a set of numbers that count up, a bit each.
type idSet []uint64
