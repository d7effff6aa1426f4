//go:build unix

package yarn

import "syscall"

// mostFiles returns how many files and connections this process may have open.
func mostFiles() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return usualFiles
	}
	return int(min(uint64(l.Cur), 1<<30))
}
