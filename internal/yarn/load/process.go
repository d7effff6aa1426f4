package load

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns the processor time that a process and its threads have used; 0 is this process.
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
