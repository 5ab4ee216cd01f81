// Package meter reads from the kernel what a process group has used: exact run time, its split into user and system,
// memory. And it says which cores there are and keeps processes on them.
package meter

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process and all its descendants have used so far.
type Usage struct {
	Run      time.Duration // of all tasks, exact (schedstat)
	Waited   time.Duration // that they were ready to run, and others had their core
	User     time.Duration // by ticks: the split is coarser than the sum
	System   time.Duration
	RSSBytes int64
}

// tickLength is USER_HZ, 100 on every Linux that Go runs on.
const tickLength = 10 * time.Millisecond

// Read adds up the group that pid leads.
func Read(pid int) (Usage, error) { return ReadGroup(Group(pid)) }

// ReadGroup adds up a [Group] that was listed before: the list takes longer than the reading, and a busy process would
// run on meanwhile.
func ReadGroup(group []int) (Usage, error) {
	var sum Usage
	for i, member := range group {
		usage, err := readOne(member)
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			continue // a child that ended between listing and reading
		}
		if err != nil {
			return Usage{}, fmt.Errorf("process %d cannot be measured: %w", member, err)
		}
		sum.Run += usage.Run
		sum.Waited += usage.Waited
		sum.User += usage.User
		sum.System += usage.System
		sum.RSSBytes += usage.RSSBytes
	}
	return sum, nil
}

// Private adds up the memory that a group alone holds and has written to: what programs share on disk comes and goes.
func Private(pid int) (int64, error) {
	var sum int64
	for _, member := range Group(pid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", member))
		if member != pid && errors.Is(err, fs.ErrNotExist) {
			continue // a child that ended between listing and reading
		}
		if err != nil {
			return 0, fmt.Errorf("memory of process %d cannot be measured: %w", member, err)
		}
		_, rest, found := bytes.Cut(text, []byte("Private_Dirty:"))
		kilobytes, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
		dirty, err := strconv.ParseInt(string(kilobytes), 10, 64)
		if !found || err != nil {
			return 0, fmt.Errorf("/proc/%d/smaps_rollup says nothing of private memory: %w", member, err)
		}
		sum += dirty << 10
	}
	return sum, nil
}

// Resident splits the memory that a process has: what is its own (RssAnon), and pages of files (RssFile), which the
// kernel can take back.
func Resident(pid int) (own, mapped int64, err error) {
	file := fmt.Sprintf("/proc/%d/status", pid)
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	for name, bytes := range map[string]*int64{"RssAnon:": &own, "RssFile:": &mapped} {
		_, rest, _ := strings.Cut(string(text), "\n"+name)
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(
			strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), " kB"),
			10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("%s says nothing of %s %w", file, name, err)
		}
		*bytes = kilobytes << 10
	}
	return own, mapped, nil
}

// Since is what was used after before. Memory is what it is now.
func (u Usage) Since(before Usage) Usage {
	return Usage{Run: u.Run - before.Run, Waited: u.Waited - before.Waited, User: u.User - before.User,
		System: u.System - before.System, RSSBytes: u.RSSBytes}
}

// Split divides the exact run time by the ticks.
func (u Usage) Split() (user, system time.Duration) {
	ticks := u.User + u.System
	if ticks == 0 {
		return 0, u.Run
	}
	user = time.Duration(float64(u.Run) * float64(u.User) / float64(ticks))
	return user, u.Run - user
}

// Group lists a process and its descendants.
func Group(pid int) []int {
	parents := parents()
	group := []int{pid}
	for i := 0; i < len(group); i++ {
		for child, parent := range parents {
			if parent == group[i] {
				group = append(group, child)
			}
		}
	}
	slices.Sort(group[1:])
	return group
}

// threads lists the threads of a process; none if it has ended.
func threads(pid int) (tids []int, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(filepath.Base(task))
		if err != nil {
			return nil, err
		}
		tids = append(tids, tid)
	}
	return tids, nil
}

func readOne(pid int) (u Usage, err error) {
	if u.Run, u.Waited, err = schedstat(pid); err != nil {
		return u, err
	}
	fields, err := stat(pid)
	if err != nil {
		return u, err
	}
	if u.User, err = ticks(fields[11]); err != nil {
		return u, err
	}
	if u.System, err = ticks(fields[12]); err != nil {
		return u, err
	}
	pages, err := strconv.ParseInt(string(fields[21]), 10, 64)
	u.RSSBytes = pages * int64(os.Getpagesize())
	return u, err
}

// schedstat adds up the times of all tasks of a process.
func schedstat(pid int) (ran, waited time.Duration, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return 0, 0, errors.Join(err, fs.ErrNotExist)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			return 0, 0, err
		}
		var taskRan, taskWaited time.Duration
		if _, err := fmt.Sscan(string(text), &taskRan, &taskWaited); err != nil {
			return 0, 0, fmt.Errorf("%s says %q: %w", task, text, err)
		}
		ran, waited = ran+taskRan, waited+taskWaited
	}
	return ran, waited, nil
}

func ticks(field []byte) (time.Duration, error) {
	count, err := strconv.ParseInt(string(field), 10, 64)
	return time.Duration(count) * tickLength, err
}

// stat returns the fields of /proc/pid/stat from the state on: the program's name before may hold anything.
func stat(pid int) ([][]byte, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 22 {
		return nil, fmt.Errorf("/proc/%d/stat has only %d fields", pid, len(fields))
	}
	return fields, nil
}

// parents maps each process to its parent.
func parents() map[int]int {
	found := map[int]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if fields, err := stat(pid); err == nil {
			found[pid], _ = strconv.Atoi(string(fields[1]))
		}
	}
	return found
}
