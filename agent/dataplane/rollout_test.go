package dataplane

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-lb/weir/agent/plan"
)

// Each line of a transcript is an event; what is sent or decided follows, indented.
func play(transcript string) string {
	var r rollout
	var out strings.Builder
	alive := false
	decided := func(verdict *verdict) {
		if verdict != nil {
			fmt.Fprintf(&out, "  plan %d applied: %v\n", verdict.plan.Revision, verdict.applied)
		}
	}
	for line := range strings.Lines(transcript) {
		event := strings.TrimSpace(line)
		if strings.HasPrefix(line, " ") || event == "" {
			continue
		}
		fmt.Fprintln(&out, event)
		var revision uint64
		switch fmt.Sscanf(event, "want %d", &revision); {
		case revision > 0:
			r.submit(&plan.Plan{Revision: revision})
		case strings.HasPrefix(event, "assume"):
			r.assume(&plan.Plan{Revision: numberIn(event)})
		case strings.HasPrefix(event, "hello"):
			alive = true
			r.begin(numberIn(event))
		case event == "beats":
			for range retryMost / beat {
				r.beat()
			}
		case event == "ack":
			decided(r.answered(true))
		case event == "nack":
			decided(r.answered(false))
		case event == "death":
			alive = false
			decided(r.died())
		}
		if alive {
			if plan := r.next(); plan != nil {
				fmt.Fprintf(&out, "  send %d\n", plan.Revision)
			}
		}
	}
	return out.String()
}

// numberIn returns the number behind the word of an event; 0: none.
func numberIn(event string) (number uint64) {
	_, _ = fmt.Sscanf(event, "%s %d", new(string), &number)
	return number
}

func TestRolloutTranscripts(t *testing.T) {
	for name, want := range map[string]string{
		"an older Plan of ours stays away from who serves a newer one": `
assume 1
hello 2
hello 2
hello
  send 1
ack
  plan 1 applied: true
hello
  send 1
`,
		"a Plan of ours is sent again to who serves it, also if the process before served a newer one": `
assume 1
hello 2
hello
  send 1
hello 1
  send 1
`,
		"a Plan that served and is refused is sent again": `
assume 1
hello
  send 1
nack
beats
  send 1
ack
  plan 1 applied: true
beats
`,
		"a Plan that served and is refused gives way to a new one": `
assume 1
hello
  send 1
nack
want 2
  send 2
ack
  plan 2 applied: true
beats
`,
		"a new Plan goes before a Plan that served and is refused": `
assume 1
hello
  send 1
nack
beats
  send 1
want 2
nack
  send 2
beats
nack
  plan 2 applied: false
beats
  send 1
`,
		"one Plan after the other": `
hello
want 1
  send 1
ack
  plan 1 applied: true
want 2
  send 2
nack
  plan 2 applied: false
`,
		"of Plans that wait only the newest is sent": `
hello
want 1
  send 1
want 2
want 3
ack
  plan 1 applied: true
  send 3
ack
  plan 3 applied: true
`,
		"a new process gets what served before it gets what is new": `
hello
want 1
  send 1
ack
  plan 1 applied: true
want 2
  send 2
death
hello
  send 1
ack
  send 2
ack
  plan 2 applied: true
`,
		"a Plan that two processes died of is refused": `
hello
want 1
  send 1
ack
  plan 1 applied: true
want 2
  send 2
death
hello
  send 1
ack
  send 2
death
  plan 2 applied: false
hello
  send 1
ack
`,
		"a Plan is not blamed for deaths that come after it serves": `
hello
want 1
  send 1
death
hello
  send 1
ack
  plan 1 applied: true
death
hello
  send 1
ack
`,
		"a new Plan gets its chance when the old one kills": `
hello
want 1
  send 1
ack
  plan 1 applied: true
death
hello
  send 1
death
hello
  send 1
death
want 2
hello
  send 2
ack
  plan 2 applied: true
`,
		"a Plan that a new process refuses though it served is not sent for ever": `
hello
want 1
  send 1
ack
  plan 1 applied: true
death
hello
  send 1
nack
want 2
  send 2
`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := "\n" + play(want); got != want {
				t.Errorf("got:%swant:%s", got, want)
			}
		})
	}
}

func TestAPlanThatServedAndIsRefusedIsSentAgainAfterLongerAndLongerPauses(t *testing.T) {
	var r rollout
	r.assume(&plan.Plan{Revision: 1})
	for range 2 { // for each process anew
		r.begin(0)
		r.next()
		for _, most := range []int{5, 10, 20, 40, 60, 60} {
			r.answered(false)
			beats := 0
			for ; r.next() == nil && beats <= most; beats++ {
				r.beat()
			}
			if beats < most/2 || beats > most {
				t.Fatalf("sent again after %d beats, want %d to %d", beats, most/2, most)
			}
		}
	}
}
