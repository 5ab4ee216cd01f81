package meter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// most is the highest priority of ordinary processes.
const most = -20

// Prefer has every process that a process has started, each in a session of its own, go before whatever else wants a
// core: before the parent, too. It takes the right to raise priorities (CAP_SYS_NICE), which root has.
func Prefer(parent int) error {
	for _, member := range Group(parent)[1:] {
		if err := prefer(member); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("process %d cannot be preferred: %w", member, err)
		}
	}
	return nil
}

// prefer raises a process within its session, and its session among others, where the kernel tells sessions apart.
func prefer(pid int) error {
	tids, err := threads(pid)
	if err != nil {
		return err
	}
	for _, tid := range tids {
		if err := unix.Setpriority(unix.PRIO_PROCESS, tid, most); err != nil {
			return err
		}
	}
	return os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(most)), 0)
}
