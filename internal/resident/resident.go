// Package resident tells how much memory a process has had resident.
package resident

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Peak returns the most memory in bytes that a process has had resident since it began its program. It reads
// /proc/PID/status (Linux). What the kernel tells a parent of its child when it has ended (Maxrss) is at least what the
// parent had when it started the child.
func Peak(process int) (int64, error) {
	path := fmt.Sprintf("/proc/%d/status", process)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(f[1], 10, 53)
			if err != nil {
				return 0, fmt.Errorf("%s: VmHWM: %w", path, err)
			}
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("%s has no VmHWM", path)
}
