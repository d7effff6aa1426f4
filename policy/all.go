package policy

import "github.com/sojourn-sched/sojourn/sched"

// All holds the policies of this package.
var All = Registry{
	"adaptive":      {adaptiveCard, newAdaptive},
	"capacity":      {capacityCard, newCapacity},
	"distributions": {distributionsCard, newDistributions},
	"drf":           {drfCard, newDRF},
	"dynamicmr":     {dynamicmrCard, newDynamicMR},
	"edf":           {edfCard, newEDF},
	"fair":          {fairCard, newFair},
	"flex":          {flexCard, newFlex},
	"fifo":          {fifoCard, newFIFO},
	"fsp":           {fspCard, newFSP},
	"fspy":          {fspyCard, newFSPY},
	"gittins":       {gittinsCard, newGittins},
	"hardware":      {hardwareCard, newHardware},
	"hfsp":          {hfspCard, newHFSP},
	"las":           {lasCard, newLAS},
	"late":          {lateCard, newLate},
	"longterm":      {longtermCard, newLongterm},
	"minedf":        {minedfCard, newMinEDF},
	"mrorder":       {mrorderCard, newMROrder},
	"probe":         {probeCard, newProbe},
	"psbs":          {psbsCard, newPSBS},
	"ras":           {rasCard, newRAS},
	"reverse":       {reverseCard, newReverse},
	"spt":           {sptCard, newSPT},
	"srpt":          {srptCard, newSRPT},
}

// Parse makes the policy of All that spec names; see Registry.Parse.
func Parse(spec string) (sched.Policy, Card, error) { return All.Parse(spec) }
