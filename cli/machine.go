package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/workload"
)

// machineMemory returns the bytes of memory that this process may use: the machine's, or the least that its control
// group and those above it may use, where that is less.
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
	groups, _ := os.ReadFile("/proc/self/cgroup") // there is none without control groups
	return min(total, groupMemory("/sys/fs/cgroup", string(groups))), nil
}

// groupMemory returns the least limit of memory, in bytes, of the control groups of a process and of those above them:
// math.MaxInt64 where there is none. groups is its /proc/self/cgroup, in which version 2 has a line 0::PATH and version
// 1 one like 5:memory:PATH. A container may see only its own part of the tree, below which PATH then does not exist.
func groupMemory(root, groups string) int64 {
	least := int64(math.MaxInt64)
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		folder, file := root, "memory.max"
		switch controllers := strings.Split(parts[1], ","); {
		case slices.Contains(controllers, "memory"):
			folder, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		case parts[1] != "":
			continue
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			// The root of version 2 has no such file, and a group without a limit says "max".
			text, _ := os.ReadFile(filepath.Join(folder, group, file))
			if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
				least = min(least, limit)
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}

// openCluster reads a cluster from a YAML file or from its shorthand.
func openCluster(text string) (*workload.Cluster, error) {
	c, err := workload.OpenCluster(text)
	if err != nil {
		return nil, fmt.Errorf("--cluster: %w", err)
	}
	return c, nil
}
