package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// sameFiles reports whether two output directories have the same files with the same bytes.
func sameFiles(a, b string) (bool, error) {
	names, err := os.ReadDir(a)
	if err != nil {
		return false, err
	}
	others, err := os.ReadDir(b)
	if err != nil || len(names) != len(others) {
		return false, err
	}
	for i, n := range names {
		if others[i].Name() != n.Name() {
			return false, nil
		}
		same, err := sameBytes(filepath.Join(a, n.Name()), filepath.Join(b, n.Name()))
		if !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

func sameBytes(a, b string) (bool, error) {
	fa, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer fa.Close()
	fb, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer fb.Close()
	ra, rb := bufio.NewReaderSize(fa, 1<<20), bufio.NewReaderSize(fb, 1<<20)
	var pa, pb [1 << 16]byte
	for {
		na, ea := io.ReadFull(ra, pa[:])
		nb, eb := io.ReadFull(rb, pb[:])
		if !bytes.Equal(pa[:na], pb[:nb]) {
			return false, nil
		}
		ended := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
		switch {
		case ended(ea) || ended(eb):
			return ended(ea) == ended(eb), nil
		case ea != nil:
			return false, ea
		case eb != nil:
			return false, eb
		}
	}
}
