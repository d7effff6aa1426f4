//go:build !linux

package mr

import "time"

// threadTime returns 0: the processor time of a thread is not counted here.
func threadTime() time.Duration { return 0 }
