// Package reference has algorithms written down as plainly as their sources print them. Tests hold the quick
// implementations of policies against them, and a reproduction runs LTYARN's engine beside the policy longterm.
package reference
