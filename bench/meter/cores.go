package meter

import (
	"fmt"
	"os"
	"path/filepath"
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
	var cores []int
	for core := range coresMax {
		if set.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores, nil
}

// Stay keeps this process, and what it starts from now on, on these cores.
func Stay(cores []int) error {
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(core)
	}
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(filepath.Base(task))
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil && !os.IsNotExist(err) && err != unix.ESRCH {
			return fmt.Errorf("stay on cores %s: %w", List(cores), err)
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

// Pinned makes a command line that runs program on these cores only, under the same process number.
func Pinned(cores []int, program string, args ...string) (string, []string) {
	return "taskset", append([]string{"-c", List(cores), program}, args...)
}
