//go:build race

package mr

const raceDetector = true
