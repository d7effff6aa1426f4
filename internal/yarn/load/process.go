package load

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what a process and its threads have used, to the nanosecond; 0 is this one.
func processorTime(process int) (time.Duration, error) {
	clock := int32(unix.CLOCK_PROCESS_CPUTIME_ID)
	if process > 0 {
		clock = int32(^process<<3 | 2) // how Linux numbers the clock of a process: clock_getcpuclockid(3)
	}
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", process, err)
	}
	return time.Duration(t.Nano()), nil
}

// peakMemory is the most memory, in MB, that a process has had resident.
func peakMemory(process int) (float64, error) {
	path := fmt.Sprintf("/proc/%d/status", process)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "VmHWM:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			return kib * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("%s has no VmHWM", path)
}
