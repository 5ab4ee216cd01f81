package elastic

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// quotaPeriod is the kernel's default: in each of these the processes of a group run for their quota, and then wait.
const quotaPeriod = 100 * time.Millisecond

// cgroups is where the kernel's groups of processes are, in either of its two layouts.
const cgroups = "/sys/fs/cgroup"

// quota is a control group whose processes get a share of one core.
type quota struct{ dir string }

// newQuota makes a group with a share of a core: 0.1 is 10 ms in each 100 ms.
func newQuota(name string, share float64) (*quota, error) {
	parent, limit := filepath.Join(cgroups, "cpu"), "cpu.cfs_quota_us"
	value := strconv.FormatInt(time.Duration(share*float64(quotaPeriod)).Microseconds(), 10)
	if controllers, err := os.ReadFile(filepath.Join(cgroups, "cgroup.controllers")); err == nil {
		if !bytes.Contains(controllers, []byte("cpu")) {
			return nil, errors.New("the control group of this machine's root does not offer cpu")
		}
		parent, limit, value = cgroups, "cpu.max", fmt.Sprintf("%s %d", value, quotaPeriod.Microseconds())
		if err := os.WriteFile(filepath.Join(cgroups, "cgroup.subtree_control"), []byte("+cpu"), 0); err != nil {
			return nil, fmt.Errorf("quota: %w", err)
		}
	}
	q := &quota{filepath.Join(parent, "weirlab."+name)}
	if err := os.Mkdir(q.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) { // a crash may have left it
		return nil, fmt.Errorf("quota: %w", err)
	}
	if err := os.WriteFile(filepath.Join(q.dir, limit), []byte(value), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("quota: %w", err), q.remove())
	}
	return q, nil
}

// hold puts a process under the quota, with all its threads.
func (q *quota) hold(pid int) error {
	return os.WriteFile(filepath.Join(q.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

// remove takes the group away, whose processes have ended.
func (q *quota) remove() error { return os.Remove(q.dir) }
