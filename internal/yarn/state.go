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
	started time.Time // sched.Time 0: when this process made the state, unless Room.Since is set
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

	part      float64       // the part of each node that a co-located service leaves, if Config.Room names one
	events    []sched.Event // for the next Step
	unsettled []unsettled   // groups of asks that the core must learn of before that Step
	actions   sched.Dispatcher
	wake      time.Time // when the core wants a Step; zero: it does not
	start     masterLauncher
	post      func(do func()) // runs do in a later turn; called outside of turns
	groups    *groupTable     // safe for many goroutines
}

// A life of a ResourceManager is the time from a start to an end. All lives share the stored state.
type life struct {
	identity int64 // its name for nodes: ms since 1970, later than all timestamps of applications of the lives before
	epoch    int64 // how many lives there were before: part of the ids of containers, so that no two lives share an id
	first    int64 // the identity of the first life
}

// finds are containers that run since an earlier life.
type finds struct {
	awaited map[wire.NodeID][]*container // ApplicationMasters, by the node that has not registered yet in this life
	noted   map[*sched.Found]*container  // containers that were noted for the core in this turn
	// given has the containers that the present attempt of an application has given back before their node registered.
	// There is an entry for each application that ran in an earlier life and is not over. A node may register at any
	// time: its containers run on while it has no ResourceManager.
	given    map[*application]map[wire.ContainerID]bool
	allGiven int // containers in given
}

// Limits of the containers that are given back before their node has registered.
const (
	mostGiven    = 10_000    // of one application
	mostAllGiven = 1_000_000 // of all applications
)

// newFinds returns an empty finds.
func newFinds() finds {
	return finds{
		awaited: map[wire.NodeID][]*container{},
		noted:   map[*sched.Found]*container{},
		given:   map[*application]map[wire.ContainerID]bool{},
	}
}

// give notes that an application gives back a container whose node has not registered. It does nothing if the
// application did not run in an earlier life, or if a limit is reached.
func (f *finds) give(app *application, id wire.ContainerID) {
	if of := f.given[app]; of != nil && !of[id] && len(of) < mostGiven && f.allGiven < mostAllGiven {
		of[id] = true
		f.allGiven++
	}
}

// wasGiven reports whether an application has given a container back, and forgets it.
func (f *finds) wasGiven(app *application, id wire.ContainerID) bool {
	was := f.given[app][id]
	if was {
		delete(f.given[app], id)
		f.allGiven--
	}
	return was
}

// restart lets the next attempt of an application of an earlier life give containers back. What the attempt before has
// given back is forgotten.
func (f *finds) restart(app *application) {
	f.forget(app)
	f.given[app] = map[wire.ContainerID]bool{}
}

// forget drops what is noted of an application, which is over.
func (f *finds) forget(app *application) {
	f.allGiven -= len(f.given[app])
	delete(f.given, app)
}

// keys are the keys that sign the three kinds of tokens.
type keys struct {
	master, node, container *token.Keys
	delegations             delegations
	clients                 []byte // the secret from which clientKey makes keys; it never changes
}

// counts are totals since the start.
type counts struct {
	granted int64
	ended   [sched.Released + 1]int64 // containers by outcome
	refused int64                     // invalid actions of the policy
	said    map[string]bool           // reasons of invalid actions that were logged
}

// A node is a NodeManager. Its states are those that are reported:
//
//	registers ─▶ RUNNING ◀─▶ UNHEALTHY        as its own checks say
//	             RUNNING ─▶ DECOMMISSIONING ─▶ DECOMMISSIONED    excluded; gracefully: when no application that
//	                                                             lives needs it any more; its health changes nothing
//	             any of these ─▶ LOST          silent for too long
//	             any of these ─▶ SHUTDOWN      it said that it ends
//
// and from each of the last three back to RUNNING when it registers again. The core has the node while it is RUNNING or
// DECOMMISSIONING.
type node struct {
	m            *manager
	id           wire.NodeID
	name         string // of the id
	sched        sched.NodeID
	rack         string
	service      string // ip:port, of tokens
	version      string // of its NodeManager
	web          string // host:port of its pages; without one, MapReduce's ApplicationMaster fails
	capacity     wire.Resource
	state        wire.NodeState
	sizes        newSizes     // changes of sizes that were not sent to the node yet
	silent       aged         // in liveness.nodes or, if quiet, in liveness.quiet; once it has left, in nodeTable.gone
	heard        time.Time    // its last heartbeat or registration
	quiet        *atomic.Bool // silent for Config.Quiet: it gets no containers until it beats; masterLauncher reads it
	launches     launches
	registration int32 // number of its latest, from 1: tokens of earlier ones are not valid
	farewell     farewell
	doing        doing

	containers []*container            // that have not ended, in no order
	last       *wire.HeartbeatResponse // the last reply, to be sent again if it was lost
	orders
}

// newSizes are changes of sizes: of a node, by its operator, and of containers.
type newSizes struct {
	own        *wire.Resource // of the node; nil: no change
	containers []*container
}

// launches say whether launches of ApplicationMasters on a node have failed.
type launches struct {
	failures int32 // in a row
	shunned  aged  // set while no ApplicationMaster is started there
}

// farewell says when a node that is decommissioned gracefully may leave.
type farewell struct {
	patience *alarm // the latest end
	needed   int32  // applications that live and had a container there
}

// doing is a node's last report of its health and its use.
type doing struct {
	health               wire.Health
	utilization, machine proto.Raw
	others               float64 // vcores that processes other than containers use, if Room.Measured is set
}

// orders are orders for a node that were not sent yet.
type orders struct {
	cleanup []wire.ContainerID   // containers to end
	apps    []wire.ApplicationID // applications to clean up after
	remove  []wire.ContainerID   // ended containers to forget
	signals []wire.Signal
	stopped map[wire.ContainerID]bool // the containers of cleanup; nil: none
}

// here reports whether the node beats: it has not left.
func (n *node) here() bool { return n.usable() || n.state == wire.NodeUnhealthy }

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
// FINISHED is reported as soon as the ApplicationMaster has said that the application is over. The core's job ends when
// the ApplicationMaster's container has ended.
type application struct {
	m          *manager
	id         wire.ApplicationID
	job        sched.JobID
	user       string
	queue      string // dotted path below the root
	hints      hints
	submission wire.Submission
	footprint  int64 // bytes of memory that submission and access take; zero: it is over
	state      wire.AppState
	outcome    outcome
	attempts   []*attempt // only the last may be running
	asks       askTable
	progress   float32        // 0 to 1
	nodes      map[*node]bool // nodes that had a container of it, and must be told of its end
	times      times
	used       sched.Work // set when it is over
	over       bool       // it has ended, and its containers were given up
	lifetime   lifetime
	missed     []wire.ContainerStatus // ends of containers that outlive attempts, while there was no attempt
	order      int64                  // of submission, over all lives
	stored     stored
	forgotten  bool                 // it is not reported any more
	shunned    map[*node]int32      // nodes where a launch of its ApplicationMaster failed, and node.registration then
	access     map[int32]accessList // its access lists, by what they allow (wire.ViewApp, wire.ModifyApp)
}

// lifetime says when an application is killed.
type lifetime struct {
	ends  time.Time // zero: never
	alarm *alarm    // goes off at ends; nil: it was never set
}

// outcome is the reported result of an application.
type outcome struct {
	final       wire.FinalStatus
	diagnostics string
}

// times are instants in ms since 1970; zero: not yet.
type times struct{ started, launched, finished int64 }

// current returns the last attempt; nil: none has begun.
func (app *application) current() *attempt {
	if len(app.attempts) == 0 {
		return nil
	}
	return app.attempts[len(app.attempts)-1]
}

// An attempt is one run of an application's ApplicationMaster. Its states are those that are reported:
//
//	ALLOCATED ─▶ LAUNCHED ─▶ RUNNING ─▶ FINISHING ─▶ FINISHED
//	    └────────────┴──────────┴─▶ FAILED, KILLED
//
// It is ALLOCATED when the core has granted the ApplicationMaster's container, and LAUNCHED when the node has started
// that container. It is RUNNING when the ApplicationMaster has registered, which may happen before the node's reply
// arrives. It is FINISHING when the ApplicationMaster has said that it is over, and FINISHED when its container has
// ended. An unmanaged attempt, whose client starts the ApplicationMaster, is LAUNCHED at once and FINISHED
// without FINISHING.
type attempt struct {
	app         *application
	id          wire.AttemptID
	state       wire.AttemptState
	master      *container // nil: unmanaged
	address     wire.MasterAddress
	silent      aged // in liveness.masters, while it is ALLOCATED, LAUNCHED or RUNNING
	finishing   aged // in liveness.finishing, while it is FINISHING
	diagnostics string
	times       times
	sequence    int64          // number of the last container
	containers  containerTable // containers that have not ended, or that their node may not forget yet
	dues        dues
	failed      bool   // it counts as one of the failures that the application may have
	blameless   bool   // it ended because its node could not be reached: the core does not count that
	cancel      func() // withdraws the launch in progress; nil: there is none
	clientKey   []byte // of clients' tokens, if another ResourceManager has made it; nil: see manager.clientKey
}

// dues are the contents of an ApplicationMaster's next answer, and of the last one.
type dues struct {
	granted   grantList
	completed []wire.ContainerStatus
	strings   []byte             // the memory of the strings in completed
	sent      []*container       // containers whose end is in the last answer
	ending    []*container       // the containers of completed
	wanted    []wire.ContainerID // containers that the core wants back
	resized   []resized
	refused   []wire.UpdateError
	news      int64               // number of the last change of a node that the ApplicationMaster was told of
	tokens    map[*node]nodeToken // the tokens for nodes that the ApplicationMaster has
	key       int32               // number of the key that signed its own token
	last      *wire.AllocateResponse
	text      struct{ tokens, completed []byte } // memory of last
}

// nodeToken says which token an ApplicationMaster has for a node. A new key, or a new registration of the node, makes
// another token necessary.
type nodeToken struct{ key, registration int32 }

func (a *attempt) ended() bool {
	return a.state == wire.AttemptFinished || a.state == wire.AttemptFailed || a.state == wire.AttemptKilled
}

// containerState is the state of a container:
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
	lease    sched.AttemptID // zero: the core does not know the container yet: it is from an earlier life
	attempt  *attempt
	node     *node
	resource wire.Resource
	priority wire.Priority
	group    int64 // allocation id of the ask
	state    containerState
	version  int32    // how often its size has changed
	growth   *growth  // the change of its size; nil: there never was one
	created  int64    // ms since 1970
	at       int32    // its index in the node's containers
	due      int32    // its index in its attempt's dues.granted, while notice is unheard
	waits    aged     // in liveness.containers; in liveness.quiet for an absentMaster
	leaving  *leaving // set if it was asked to end and still runs
	notice   notice   // whether its ApplicationMaster knows its end
	grace    *alarm   // when it is killed for its room; nil: the core does not want its room
}

// leaving is the end that a container will be given when its node reports its end.
type leaving struct {
	end     wire.ContainerStatus
	outcome sched.Outcome
}

// A notice says how far the notice of a container's end has come on its way to the ApplicationMaster.
type notice uint8

const (
	none    notice = iota // the ApplicationMaster knows the container, which has not ended
	unheard               // the ApplicationMaster has not heard of the container itself yet
	queued                // the notice is for the next answer
	sent                  // it was in the last answer
	heard                 // the ApplicationMaster has called since then
)

func (c *container) isMaster() bool { return c == c.attempt.master }

// A nodeTable finds nodes and racks.
type nodeTable struct {
	byID  map[wire.NodeID]*node
	list  []*node // by NodeID-1 of the core
	gone  aging   // the nodes of list that have left and are remembered, the one first that left first (node.silent)
	racks map[string]sched.RackID

	byPlace    map[string][]*node        // by host and by rack, in order of ID
	idsOf      map[string][]sched.NodeID // the IDs of byPlace, of places that were named since they changed
	classes    map[string]bool           // names of the classes that nodes have had, at most mostClasses
	topology   *topology                 // safe for many goroutines
	hosts      hostSet                   // hosts that may have NodeManagers
	resolver   *resolver                 // safe for many goroutines
	sizes      map[string]wire.Resource  // of nodes by host:port, which override the nodes' own
	widest     sched.Resources           // of each kind the most that a node has, unless changed
	changed    bool                      // a node has come or left, or has another size: widest is out of date
	came       map[string]bool           // hosts and racks of nodes that were added since meet; see application.reask
	news       []nodeChange              // in the order of their numbers
	newest     map[*node]int64           // number of the last change of each node
	lastNews   int64                     // number of the last change
	up         int32                     // how many nodes the core has
	ready      int32                     // how many nodes may get containers
	containers int                       // how many containers their nodes may not forget yet
}

// An endedApp is what is remembered of an application that is not reported any more: its queue, and how it ended.
type endedApp struct {
	queue string
	state wire.AppState
}

// A nodeChange says that ApplicationMasters must be told of a node. Changes are numbered from 1.
type nodeChange struct {
	node   *node
	number int64
}

// An appTable finds applications.
type appTable struct {
	byID      map[wire.ApplicationID]*application
	byJob     map[sched.JobID]*application
	list      []*application // in order of submission
	newest    sched.JobID
	order     int64 // application.order of the last
	ids       appIDs
	trimmed   map[endedApp]int // how many applications are not reported any more
	logs      map[wire.ApplicationID]*collection
	gone      int   // how many of list are over
	footprint int64 // the sum of application.footprint
	wary      int   // how many applications that are not over shun nodes
	wasWary   bool  // nodes were shunned at the last change of nodes
	again     bool  // the core must learn where ApplicationMasters that wait may be started
	nearer    bool  // the same of those that name nodes: a node has come
}

// A leaseTable finds containers by the core's attempts. It is indexed by the attempts' slots.
type leaseTable struct {
	slots []*container
	count int
}

// A containerTable finds an attempt's containers by their ids. Ids count up, so most containers that have not ended are
// neighbours: the table has pages of neighbouring ids. A page is freed with its last container.
type containerTable struct {
	pages map[int64]*containerPage
	count int
}

const pageBits = 6

type containerPage struct {
	at   [1 << pageBits]*container
	used int
}

// A grantList has, in order, the granted containers that their ApplicationMaster has not heard of. Each container knows
// its index (container.due), so that it can be removed in O(1) if it ends before.
type grantList struct {
	slots []*container // nil: removed
	first int          // all slots before it are nil
	count int
}

// An unsettled names a group of asks that has changed without a call of the ApplicationMaster.
type unsettled struct {
	app   *application
	group *group
}

// An askTable has the asks of an application. Asks are absolute: a new ask for a place replaces the one before, and
// zero withdraws it. The asks of one priority and allocation id are a group, which has one size at a time. A group that
// wants containers is a stage of the core, until it wants none and none is on its way.
type askTable struct {
	groups  map[groupKey]*group
	stages  []stageKey                // by index of the core: the group that has the stage, or had it last
	idle    map[askKind][]int32       // stages that no group has
	pending int64                     // of all groups
	places  int                       // of all groups
	banned  map[string]bool           // hosts and racks that the application does not want
	bans    []sched.NodeID            // the nodes of banned, sorted
	uses    map[wire.Priority]float64 // processors that a container uses, as learned; no entry: not known
}

type groupKey struct {
	priority   wire.Priority
	allocation int64
	grows      sched.AttemptID // the container that shall grow; zero: a new container is asked for
}

type stageKey struct {
	groupKey
	size wire.Resource
}

// An askKind has the parts of a stageKey that matter to the core: an idle stage is used again for a group of its kind.
type askKind struct {
	priority wire.Priority
	size     wire.Resource
}

// A group has the asks of one priority and allocation id. The request for any place ("*") has the total. The requests
// for hosts and racks are hints, or, without locality relaxation, limits.
type group struct {
	key     groupKey
	stage   int32 // in the core; 0: none
	size    wire.Resource
	on      *node // the only node that may be used; nil: see places
	total   int32
	relax   bool                            // any node may be used
	places  map[string]wire.ResourceRequest // nil: none yet
	changed bool                            // by the present call
	owed    int32                           // granted containers that the ApplicationMaster has not heard of
}

// delegations are the valid delegation tokens. Without Kerberos no client needs one; programs that ask for one, as
// Oozie does, get it.
type delegations struct {
	keys *token.Keys // one key for ever: the tokens in good are valid, and no others
	last int32
	good map[string]*delegation // by identifier
	of   map[string]int         // how many of them a user owns; no entry: none
}

type delegation struct {
	id       token.Delegation
	password []byte
	expires  time.Time
	key      []byte // that signed it, if that is another ResourceManager's; nil: it is delegations.keys
	alarm    *alarm // goes off when it expires
}

// appIDs are the ids of applications that were given to clients since the start, or since their timestamp was renewed:
// they count from 1, and each has the timestamp.
type appIDs struct {
	timestamp int64 // ms since 1970; the first is the identity of this life
	last      int32
	taken     idSet // the ids with which an application was submitted
}

// An idSet is a set of numbers, with a bit for each number from 0 to the largest.
type idSet []uint64

// A growth is an increase of a container that waits, or that its node has not confirmed.
type growth struct {
	asked  *group        // the ask for the difference; nil: none waits
	to     wire.Resource // size of the container when asked is granted
	unsure bool          // the node has not confirmed the container's size
	known  wire.Resource // while unsure: the last size that the node confirmed
	unsent bool          // the container is in its node's sizes.containers
}

// A resized is a new size of container c that its ApplicationMaster is told in the next answer.
type resized struct {
	c    *container
	kind wire.UpdateKind
}
