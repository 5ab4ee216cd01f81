package meter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// most is the highest priority of ordinary processes.
const most = -20

// Prefer has every process that a process has started, each in a session of its own, go before whatever else wants a
// core: before the parent, too. Those of busy may use a core for long: they get the highest ordinary priority. All
// others run as soon as they have something to do (SCHED_RR). Under an ordinary policy they would wait for some
// milliseconds while another process uses its slice of the core. Prefer takes the right to raise priorities
// (CAP_SYS_NICE), which root has.
func Prefer(parent int, busy []int) error {
	for _, member := range Group(parent)[1:] {
		err := prefer(member, !slices.Contains(busy, member))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("process %d cannot be preferred: %w", member, err)
		}
	}
	return nil
}

func prefer(pid int, atOnce bool) error {
	tids, err := threads(pid)
	if err != nil {
		return err
	}
	realTime := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	for _, tid := range tids {
		if atOnce {
			err = unix.SchedSetAttr(tid, &realTime, 0)
		} else {
			err = unix.Setpriority(unix.PRIO_PROCESS, tid, most)
		}
		if err != nil {
			return err
		}
	}
	if atOnce {
		return nil
	}
	// Where the kernel tells sessions apart, that was a priority within the session.
	return os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(most)), 0)
}
