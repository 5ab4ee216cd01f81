package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// CPUTime is what the kernel has given to all threads of a process so far.
func CPUTime(pid int) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("process %d has no schedstat: %w", pid, errors.Join(err, os.ErrNotExist))
	}
	var total time.Duration
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			return 0, err
		}
		var nanos int64
		if _, err := fmt.Sscan(string(text), &nanos); err != nil {
			return 0, fmt.Errorf("%s: %w", task, err)
		}
		total += time.Duration(nanos)
	}
	return total, nil
}
