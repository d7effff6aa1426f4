package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/workload"
)

// machineMemory returns the bytes of memory that this process may use: the machine's, or its control group's where that
// is less.
func machineMemory() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/meminfo: %w", err)
			}
			total = kib << 10
		}
	}
	if total == 0 {
		return 0, errors.New("/proc/meminfo does not say")
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			total = min(total, limit)
		}
	}
	return total, nil
}

// openCluster reads a cluster from a YAML file or from its shorthand.
func openCluster(text string) (*workload.Cluster, error) {
	c, err := workload.OpenCluster(text)
	if err != nil {
		return nil, fmt.Errorf("--cluster: %w", err)
	}
	return c, nil
}
