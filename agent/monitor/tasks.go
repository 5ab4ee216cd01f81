package monitor

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

// tasksMax is what a script can say at most.
const tasksMax = 1_000_000

// quotedMax is how much of an output a reason quotes.
const quotedMax = 40

// Tasks is what a script has written about the tasks of a server. Neither field: nothing.
type Tasks struct {
	Count   uint32
	Known   bool
	Problem string // why the count is not known, although the script has written something
}

// tasksIn reads the last line of a script's output that is not empty. It should be a whole number.
func tasksIn(output []byte) Tasks {
	output = bytes.TrimSpace(output)
	line := string(bytes.TrimSpace(output[bytes.LastIndexByte(output, '\n')+1:]))
	count, err := strconv.ParseUint(line, 10, 32)
	if err != nil || count > tasksMax {
		quoted := strings.ToValidUTF8(line[:min(len(line), quotedMax)], "")
		return Tasks{Problem: fmt.Sprintf("its tasks are not known: the last line of the script's output is %q, "+
			"and not a whole number from 0 to %d", quoted, tasksMax)}
	}
	return Tasks{Count: uint32(count), Known: true}
}

// hear takes what the script of a subject has found. The first script of a pool says how many tasks its servers have.
// It tells whether the data plane has to hear that: a known number only so often as the pool says, since the data plane
// adds what it sends itself.
func (s *subject) hear(from *check) bool {
	script := s.script()
	if s.tasksInterval == 0 || script == nil || script != from {
		return false
	}
	tasks := from.tally.tasks
	// Checks may come a bit sooner than their interval says.
	early := time.Duration(float64(s.tasksInterval) * jitter)
	is := plan.Tasks{Report: s.tasks.Report + 1, Known: tasks.Known, Count: tasks.Count}
	if s.tasks.Report > 0 && is.Known == s.tasks.Known && from.started.Sub(s.heard) < s.tasksInterval-early {
		return false
	}
	s.tasks, s.heard = is, from.started
	return true
}

// script is the check of the first script of a subject's pool; nil: there is none.
func (s *subject) script() *check {
	for _, watch := range s.watches {
		if watch.check.isScript() {
			return watch.check
		}
	}
	return nil
}

// tasksProblem is why the tasks of a subject are not known although its script passes; empty: they are, or nobody wants
// to know them.
func (s *subject) tasksProblem() string {
	if script := s.script(); s.tasksInterval > 0 && script != nil {
		return script.tally.tasks.Problem
	}
	return ""
}

// takeHeard returns the servers whose tasks the data plane has to hear, since it was called last.
func (t *table) takeHeard() []plan.Member {
	heard := t.heard
	t.heard = nil
	return heard
}
