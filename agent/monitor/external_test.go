package monitor

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

// script runs a script against a server, with so much time.
func script(t *testing.T, check plan.ExternalCheck, timeout time.Duration) Outcome {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may isolate scripts")
	}
	monitor := &plan.Monitor{Type: plan.External, Name: "ours", External: check, Timeout: timeout}
	return Probe(t.Context(), Target{Address: netip.MustParseAddr("192.0.2.1"), Port: 8080, Monitor: monitor})
}

func TestScriptThatWritesSomethingMeansUp(t *testing.T) {
	for name, c := range map[string]struct{ script, reason string }{
		"it writes":           {"echo yes", ""},
		"it writes and fails": {"echo yes; exit 1", ""},
		"it names its shell":  {"#!/bin/bash\n[[ $1 == 192.0.2.1 ]] && echo yes", ""},
		"it writes nothing":   {"true", "the script wrote nothing"},
		"it fails":            {"exit 3", "the script wrote nothing: exit status 3"},
		"it complains": {"echo 'no such host' >&2; exit 1",
			"the script wrote nothing: exit status 1: no such host"},
		"its shell does not exist": {"#!/bin/nosuch\n",
			"the script wrote nothing: exit status 127: sh: 2: exec: /proc/self/fd/3: not found"},
		"it gets the address":        {`[ "$1 $2" = "192.0.2.1 8080" ] && echo yes`, ""},
		"it gets its arguments":      {`[ "$3 $4" = "first second one" ] && echo yes`, ""},
		"it gets its environment":    {`[ "$IP:$PORT of $HM_NAME" = "192.0.2.1:8080 of ours" ] && echo yes`, ""},
		"it gets its variables":      {`[ "$USER" = "me and you" ] && echo yes`, ""},
		"it gets no other variables": {`env | grep -v '^\(PATH\|HOME\|LANG\|IP\|PORT\|HM_NAME\|USER\|PWD\)=' >&2 || echo yes`, ""},
		"it is nobody":               {`[ "$(id -u) $(id -G)" = "65534 65534" ] && echo yes`, ""},
		"it cannot gain privileges":  {`grep -q 'NoNewPrivs:[^0-9]*1' /proc/self/status && echo yes`, ""},
		"it has no capabilities": {`grep -q 'CapEff:[^0-9]*0000000000000000' /proc/self/status && echo yes`,
			""},
		"it has an empty input": {`read -r line || echo yes`, ""},
		"it cannot read what is ours": {`cat /etc/shadow && echo yes`,
			"the script wrote nothing: exit status 1: cat: /etc/shadow: Permission denied"},
		"it cannot fill the disk":          {`dd if=/dev/zero of=/tmp/weir-monitor-test bs=1M count=2 >/dev/null 2>&1 || echo yes; rm -f /tmp/weir-monitor-test`, ""},
		"it cannot open files without end": {`[ "$(ulimit -n)" = 256 ] && echo yes`, ""},
		"its processes are limited, too":   {`sh -c '[ "$(ulimit -v)" = 1048576 ] && echo yes'`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			outcome := script(t, plan.ExternalCheck{Script: c.script, Arguments: []string{"first", "second one"},
				Variables: []string{"USER=me and you"}}, time.Minute)
			if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
				t.Errorf("got %+v, want %q", outcome, c.reason)
			}
		})
	}
}

func TestScriptThatDoesNotEndIsKilledWithAllThatItStarted(t *testing.T) {
	began, long := time.Now(), longSleep()
	outcome := script(t, plan.ExternalCheck{Script: "echo begun; setsid " + long + " & " + long}, 300*time.Millisecond)
	if outcome.Up || outcome.Reason != "the script did not end within 300 ms" || time.Since(began) > 30*time.Second {
		t.Errorf("got %+v", outcome)
	}
	if left := processesWith(t, long); len(left) > 0 {
		t.Errorf("still runs: %v", left)
	}
}

func TestScriptThatLeavesProcessesBehindIsNotWaitedFor(t *testing.T) {
	long := longSleep()
	outcome := script(t, plan.ExternalCheck{Script: "setsid " + long + " & echo done"}, time.Minute)
	if !outcome.Up || outcome.Took > 30*time.Second {
		t.Errorf("got %+v", outcome)
	}
	if left := processesWith(t, long); len(left) > 0 {
		t.Errorf("still runs: %v", left)
	}
}

func TestScriptThatWritesWithoutEndIsKilled(t *testing.T) {
	for _, endless := range []string{"yes", "yes >&2"} {
		outcome := script(t, plan.ExternalCheck{Script: endless}, time.Minute)
		if outcome.Up || outcome.Reason != "the script has written more than 65536 bytes" {
			t.Errorf("%s: got %+v", endless, outcome)
		}
	}
}

// longSleep is a command that no other test runs.
func longSleep() string { return fmt.Sprintf("sleep %d.%d", 600, os.Getpid()) }

// processesWith are the processes with this command.
func processesWith(t *testing.T, command string) (found []string) {
	t.Helper()
	line := strings.ReplaceAll(command, " ", "\x00") + "\x00"
	processes, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		if text, err := os.ReadFile("/proc/" + process.Name() + "/cmdline"); err == nil &&
			strings.HasSuffix(string(text), line) {
			found = append(found, process.Name())
		}
	}
	return found
}
