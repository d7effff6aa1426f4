// Package policytest holds policies to what every policy owes: Conform runs one under random load and trouble and
// compares runs that must be alike; RunScenarios runs small clusters written down with the instants that come out.
//
// Both drive a core with the small engine of this package (engine.go): exact instants, no chance of its own, and
// trouble where a test wants it. Package internal/sim is the engine for measurements; sim.go runs scenarios there as
// well.
//
// Conform (conform.go) draws its setups in load.go. It checks the claims of a card (watch.go), that the policy only
// reads the view (mirror.go), and that a policy which begins in the midst of a run goes on in the same way (revive.go).
package policytest
