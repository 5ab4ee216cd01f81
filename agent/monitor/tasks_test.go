package monitor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

func TestLastLineOfAScriptIsTheNumberOfTasks(t *testing.T) {
	problem := func(line string) Tasks {
		return Tasks{Problem: fmt.Sprintf("its tasks are not known: the last line of the script's output is %q, "+
			"and not a whole number from 0 to 1000000", line)}
	}
	for output, want := range map[string]Tasks{
		"230":                  {Count: 230, Known: true},
		"0\n":                  {Known: true},
		"200 OK\r\n 17 \r\n\n": {Count: 17, Known: true},
		"1000000":              {Count: 1_000_000, Known: true},
		"1000001":              problem("1000001"),
		"-1":                   problem("-1"),
		"0.75":                 problem("0.75"),
		"17\nyes":              problem("yes"),
		"load: 17":             problem("load: 17"),
		" \n\n":                problem(""),
		"\xff\xfe":             problem(""),

		strings.Repeat("a", 1000): problem(strings.Repeat("a", 40)),
	} {
		if got := tasksIn([]byte(output)); got != want {
			t.Errorf("%q: got %+v, want %+v", output, got, want)
		}
	}
}

func TestScriptSaysHowManyTasksTheServerHas(t *testing.T) {
	outcome := script(t, plan.ExternalCheck{Script: "echo fine; echo 42"}, time.Minute)
	if want := (Tasks{Count: 42, Known: true}); !outcome.Up || outcome.Tasks != want {
		t.Errorf("got %+v", outcome)
	}
	if outcome := script(t, plan.ExternalCheck{Script: "echo 42 >&2"}, time.Minute); outcome.Up ||
		outcome.Tasks != (Tasks{}) {
		t.Errorf("a script that fails says %+v", outcome)
	}
}

// busy is one pool whose servers say how many tasks they have, each 10 s.
func busy(interval time.Duration, servers ...string) []*plan.Pool {
	scripts := monitors("m", "script", "another")
	scripts[1].Type, scripts[2].Type = plan.External, plan.External
	all := pools("p", scripts, servers...)
	all[0].TasksInterval = interval
	return all
}

// say has the scripts find these outcomes, and returns what the data plane hears until then.
func (l *lab) say(span time.Duration, outcome func(monitor string) Outcome) (heard []string) {
	l.run(span, func(_, monitor string) Outcome {
		for _, server := range l.takeHeard() {
			heard = append(heard, fmt.Sprint(l.subjects[server].tasks))
		}
		return outcome(monitor)
	})
	for _, server := range l.takeHeard() {
		heard = append(heard, fmt.Sprint(l.subjects[server].tasks))
	}
	return heard
}

func counts(next func() uint32) func(string) Outcome {
	return func(monitor string) Outcome {
		switch monitor {
		case "script":
			return Outcome{Up: true, Tasks: Tasks{Count: next(), Known: true}}
		case "another":
			return Outcome{Up: true, Tasks: Tasks{Count: 1000, Known: true}}
		}
		return Outcome{Up: true}
	}
}

func TestDataPlaneHearsOfTheTasksThatTheFirstScriptSays(t *testing.T) {
	l, count := newLab(), uint32(0)
	next := counts(func() uint32 { count++; return count })
	l.reconcile(busy(10*time.Second, "one"), l.now)
	if heard := l.say(25*time.Second, next); !slices.Equal(heard, []string{"{1 true 1}", "{2 true 2}", "{3 true 3}"}) {
		t.Errorf("got %q", heard)
	}
	// Later than the checks: of three, one is passed on.
	l.reconcile(busy(30*time.Second, "one"), l.now)
	if heard := l.say(60*time.Second, next); !slices.Equal(heard, []string{"{4 true 6}", "{5 true 9}"}) {
		t.Errorf("got %q", heard)
	}
	l.reconcile(busy(0, "one"), l.now)
	if heard := l.say(time.Minute, next); len(heard) > 0 {
		t.Errorf("a pool of another algorithm hears %q", heard)
	}
}

func TestTasksAreUnknownAtOnceWhereAScriptWritesSomethingElse(t *testing.T) {
	l := newLab()
	l.reconcile(busy(30*time.Second, "one"), l.now)
	good := counts(func() uint32 { return 7 })
	l.say(25*time.Second, good)
	bad := func(monitor string) Outcome { return Outcome{Up: true, Tasks: tasksIn([]byte("yes"))} }
	if heard := l.say(10*time.Second, bad); !slices.Equal(heard, []string{"{2 false 0}"}) {
		t.Errorf("got %q", heard)
	}
	said := l.reports()[0]
	want := `its tasks are not known: the last line of the script's output is "yes", and not a whole number from 0 to 1000000`
	if !said.Up || said.Reason != "" || said.Monitors[1].Reason != want || !said.Monitors[1].Up {
		t.Errorf("got %+v", said)
	}
	if said.Monitors[0].Reason != "" || said.Monitors[2].Reason != "" {
		t.Errorf("other monitors say %+v", said.Monitors)
	}
	if heard := l.say(10*time.Second, good); !slices.Equal(heard, []string{"{3 true 7}"}) {
		t.Errorf("got %q", heard)
	}
	if said := l.reports()[0]; said.Monitors[1].Reason != "" {
		t.Errorf("still says %q", said.Monitors[1].Reason)
	}
	failing := func(string) Outcome { return Outcome{Reason: "the script wrote nothing"} }
	if heard := l.say(10*time.Second, failing); !slices.Equal(heard, []string{"{4 false 0}"}) {
		t.Errorf("got %q", heard)
	}
}
