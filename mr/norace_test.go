//go:build !race

package mr

const raceDetector = false
