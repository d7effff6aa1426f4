package yarn

import "github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"

// nodeStates are the names of nodes' states.
var nodeStates = map[wire.NodeState]string{
	wire.NodeNew:             "NEW",
	wire.NodeRunning:         "RUNNING",
	wire.NodeUnhealthy:       "UNHEALTHY",
	wire.NodeDecommissioned:  "DECOMMISSIONED",
	wire.NodeLost:            "LOST",
	wire.NodeDecommissioning: "DECOMMISSIONING",
	wire.NodeShutdown:        "SHUTDOWN",
}

// attemptNames are the names of attempts' states.
var attemptNames = map[wire.AttemptState]string{
	wire.AttemptSubmitted: "SUBMITTED",
	wire.AttemptScheduled: "SCHEDULED",
	wire.AttemptAllocated: "ALLOCATED",
	wire.AttemptLaunched:  "LAUNCHED",
	wire.AttemptRunning:   "RUNNING",
	wire.AttemptFinishing: "FINISHING",
	wire.AttemptFinished:  "FINISHED",
	wire.AttemptFailed:    "FAILED",
	wire.AttemptKilled:    "KILLED",
}

// finalNames are the names of final statuses, by number.
var finalNames = []string{"UNDEFINED", "SUCCEEDED", "FAILED", "KILLED"}

// finalName returns the name of a final status. One that Hadoop does not have is UNDEFINED.
func finalName(f wire.FinalStatus) string {
	if f < 0 || int(f) >= len(finalNames) {
		return finalNames[0]
	}
	return finalNames[f]
}

// stateNamed returns the state of an application with a name; 0: there is none.
func stateNamed(name string) wire.AppState {
	for s := wire.AppNew; s <= wire.AppKilled; s++ {
		if s.String() == name {
			return s
		}
	}
	return 0
}
