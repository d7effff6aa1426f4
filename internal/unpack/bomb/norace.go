//go:build !race

package bomb

const raceDetector = false
