// Package policytest holds policies to what every policy owes: Conform runs one under random load and trouble and
// compares runs that must be alike; RunScenarios runs small clusters written down with the instants that come out.
//
// Both drive a core with the small engine of this package: exact instants, no chance of its own, and trouble where a
// test wants it. Package sim is the engine for results.
package policytest
