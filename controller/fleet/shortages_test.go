package fleet

import (
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

func sentAway(unixMs, evicted, refused, memory uint64) *enginev1.Report {
	return &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
		Pid: 7, UnixMs: unixMs,
		VirtualServices: []*dataplanev1.VirtualServiceCounters{{Uuid: "vs-1", Errors: []*dataplanev1.ErrorCounter{
			{Cause: "engine_evicted", Total: evicted}, {Cause: "engine_refused", Total: refused}, {Cause: "engine_memory", Total: memory},
		}}},
	}}}
}

func TestClientsThatAnEngineHadToSendAwayAreToldOfAtOnceAndThenEachMinute(t *testing.T) {
	s := newStage(t)
	s.serve("se-one")
	told := func(id string) (messages []string) {
		for _, entry := range s.events.Entries() {
			if entry.ID == id {
				messages = append(messages, entry.Message)
			}
		}
		return messages
	}
	s.Reported("se-one", sentAway(1000, 5, 0, 0)) // what it was before is not known
	if got := told("CONN_DROP_MAX_FLOW_TBL"); len(got) != 0 {
		t.Fatalf("told of nothing new: %q", got)
	}
	s.Reported("se-one", sentAway(2000, 8, 1, 0))
	s.Reported("se-one", sentAway(3000, 18, 1, 0))
	got := told("CONN_DROP_MAX_FLOW_TBL")
	if len(got) != 1 || !strings.Contains(got[0], "sent 4 away") {
		t.Fatalf("at once, and once: %q", got)
	}
	s.now = func() time.Time { return clock.Add(time.Minute) }
	s.Reported("se-one", sentAway(4000, 18, 1, 2))
	got = told("CONN_DROP_MAX_FLOW_TBL")
	if len(got) != 2 || !strings.Contains(got[0], "sent 10 away") {
		t.Errorf("what came since: %q", got)
	}
	if got := told("CONN_DROP_NO_CONN_MEM"); len(got) != 1 || !strings.Contains(got[0], "sent 2 away") {
		t.Errorf("memory: %q", got)
	}
}
