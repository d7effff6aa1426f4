//go:build race

package bomb

const raceDetector = true // which keeps several bytes beside each one of the program
