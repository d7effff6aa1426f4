// Package reference has algorithms written down as plainly as their sources print them. Tests hold the quick
// implementations of policies against them; no program imports it.
package reference
