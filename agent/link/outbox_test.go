package link

import (
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

func verdictOf(server string, up bool) *enginev1.Report {
	return &enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: &enginev1.ServerVerdicts{
		Verdicts: []*enginev1.ServerVerdict{{PoolUuid: "pool", ServerId: server, Up: up}},
	}}}
}

func TestKeepsOnlyTheNewestOfEachForAControllerThatDoesNotRead(t *testing.T) {
	box := newOutbox()
	for i := range uint64(1000) {
		box.put(&enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{UnixMs: i}}})
		box.put(&enginev1.Report{Body: &enginev1.Report_Status{Status: &enginev1.Status{SinceUnixMs: i}}})
		box.put(verdictOf("one", i%2 == 0))
		box.put(verdictOf("two", i%2 == 1))
	}
	box.put(nack(3, "n", enginev1.NackCause_NACK_CAUSE_REFUSED, nil))
	reports, ok := box.take()
	if !ok || len(reports) != 4 {
		t.Fatalf("got %d reports, %v", len(reports), ok)
	}
	if reports[0].GetNack().GetRevision() != 3 {
		t.Errorf("the answer does not come first: %v", reports[0])
	}
	for _, verdict := range reports[1].GetVerdicts().GetVerdicts() {
		if verdict.GetUp() != (verdict.GetServerId() == "two") {
			t.Errorf("an old verdict: %v", verdict)
		}
	}
	if reports[2].GetStatus().GetSinceUnixMs() != 999 || reports[3].GetSample().GetUnixMs() != 999 {
		t.Errorf("old news: %v", reports[2:])
	}
	if reports, ok := box.take(); !ok || len(reports) != 0 {
		t.Errorf("told twice: %v", reports)
	}
}

func TestGivesUpOnAControllerThatAsksAndDoesNotListen(t *testing.T) {
	box := newOutbox()
	for i := range uint64(answersMax) {
		box.put(nack(i, "", enginev1.NackCause_NACK_CAUSE_RESYNC, nil))
	}
	if _, ok := box.take(); !ok {
		t.Fatal("gave up too early")
	}
	for i := range uint64(answersMax + 1) {
		box.put(nack(i, "", enginev1.NackCause_NACK_CAUSE_RESYNC, nil))
	}
	if _, ok := box.take(); ok {
		t.Error("keeps more answers than it may")
	}
}

func TestKeepsTheNewestFewReportsOfHotKeys(t *testing.T) {
	box := newOutbox()
	const most = demandsMax * 3
	for i := range uint64(most) {
		box.put(&enginev1.Report{Body: &enginev1.Report_KeyDemands{KeyDemands: &dataplanev1.KeyDemands{Heard: i}}})
	}
	reports, ok := box.take()
	if !ok || len(reports) != demandsMax || reports[0].GetKeyDemands().GetHeard() != most-demandsMax ||
		reports[demandsMax-1].GetKeyDemands().GetHeard() != most-1 {
		t.Errorf("got %v, %v", reports, ok)
	}
}
