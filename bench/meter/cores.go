package meter

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// coresMax is more than a CPU set of the kernel's holds.
const coresMax = 1024

// Cores lists those that this process may use.
func Cores() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("which cores this process may use: %w", err)
	}
	return listed(&set), nil
}

// CoresOf lists those on which any thread of a process or of its descendants may run.
func CoresOf(pid int) ([]int, error) {
	var cores []int
	for _, member := range Group(pid) {
		tids, err := threads(member)
		if err != nil {
			return nil, err
		}
		for _, tid := range tids {
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(tid, &set); err == unix.ESRCH {
				continue // a thread that ended between listing and reading
			} else if err != nil {
				return nil, fmt.Errorf("which cores thread %d may use: %w", tid, err)
			}
			cores = append(cores, listed(&set)...)
		}
	}
	if len(cores) == 0 {
		return nil, fmt.Errorf("there is no process %d: %w", pid, fs.ErrNotExist)
	}
	slices.Sort(cores)
	return slices.Compact(cores), nil
}

func listed(set *unix.CPUSet) (cores []int) {
	for core := range coresMax {
		if set.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores
}

// Stay keeps this process, and what it starts from now on, on these cores.
func Stay(cores []int) error { return Keep(os.Getpid(), cores) }

// Keep does so with another process.
func Keep(pid int, cores []int) error {
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(core)
	}
	tids, err := threads(pid)
	if err != nil {
		return err
	}
	for _, tid := range tids {
		if err := unix.SchedSetaffinity(tid, &set); err != nil && err != unix.ESRCH {
			return fmt.Errorf("keep process %d on cores %s: %w", pid, List(cores), err)
		}
	}
	return nil
}

// List writes cores as taskset reads them: "0,2".
func List(cores []int) string {
	var texts []string
	for _, core := range cores {
		texts = append(texts, strconv.Itoa(core))
	}
	return strings.Join(texts, ",")
}

// Allow lets this process open this many descriptors, or returns an error that says that it may not.
func Allow(descriptors int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Cur >= uint64(descriptors) {
		return nil
	}
	limit.Cur, limit.Max = uint64(descriptors), max(limit.Max, uint64(descriptors))
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("%d descriptors may not be opened: %w: raise the hard limit (ulimit -Hn)", descriptors, err)
	}
	return nil
}

// Limited makes a command line that runs program with at most this many descriptors, under the same process number.
func Limited(descriptors int, program string, args ...string) (string, []string) {
	return "prlimit", append([]string{fmt.Sprintf("--nofile=%[1]d:%[1]d", descriptors), program}, args...)
}

// Pinned makes a command line that runs program on these cores only, under the same process number.
func Pinned(cores []int, program string, args ...string) (string, []string) {
	return "taskset", append([]string{"-c", List(cores), program}, args...)
}
