//go:build !unix

package yarn

// mostFiles returns how many files and connections this process may have open.
func mostFiles() int { return usualFiles }
