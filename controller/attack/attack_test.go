package attack

import (
	"slices"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// stage is a virtual service of HTTP on two engines, and a watch that looks each second.
type stage struct {
	*fleettest.Stage
	watch   *Watch
	refused [2]uint64 // requests beyond the limits of their clients, as each engine counts
	failed  uint64    // requests with 5xx, as the first engine counts
	begun   uint32    // data planes of the second engine that have ended
}

func newStage(t *testing.T, period uint32, thresholds ...kinds.DosThreshold) *stage {
	t.Helper()
	s := watching(fleettest.New(t))
	s.guard(10, period, thresholds...)
	s.Serve("se-one", "se-two")
	return s
}

func watching(fleet *fleettest.Stage) *stage {
	s := &stage{Stage: fleet}
	s.watch = New(s.Fleet, s.Events, func() time.Time { return s.Now })
	return s
}

// guard gives the virtual service thresholds.
func (s *stage) guard(revision uint64, period uint32, thresholds ...kinds.DosThreshold) {
	s.VS.HTTP = &kinds.HTTPProfile{}
	s.VS.ApplicationProfile = &kinds.ApplicationProfile{DosRateLimit: &kinds.DosRateLimit{
		DosProfile: &kinds.DosProfile{PeriodS: period, Thresholds: thresholds}}}
	s.Want(revision, "vs-1", "pool-1")
}

// pass lets some seconds pass, in each of which each engine refuses so many requests. It returns the events.
func (s *stage) pass(seconds int, refused ...uint64) []string {
	return s.Told(func() {
		for range seconds {
			s.Now = s.Now.Add(time.Second)
			for i, more := range refused {
				s.refused[i] += more
				s.report(i)
			}
			s.watch.Look()
		}
	})
}

func (s *stage) report(engine int) {
	row := &dataplanev1.VirtualServiceCounters{Uuid: "vs-1", RequestsTotal: 10 + s.refused[engine],
		ResponsesTotal: []uint64{0, 10, 0, s.refused[engine], s.failed}}
	if total := s.refused[engine]; total > 0 {
		row.Errors = []*dataplanev1.ErrorCounter{{Cause: "client_request_rate", Total: total}}
		row.Limited = []*dataplanev1.ErrorCounter{{Cause: "client_requests", Total: total}}
	}
	s.Reported([]string{"se-one", "se-two"}[engine], &enginev1.Report{Body: &enginev1.Report_Sample{
		Sample: &dataplanev1.Sample{Pid: 7 + uint32(engine)*(1+s.begun), UnixMs: uint64(s.Now.UnixMilli()),
			VirtualServices: []*dataplanev1.VirtualServiceCounters{row}}}})
}

var ofClients = kinds.DosThreshold{Attack: "DOS_REQ_IP_RL_DROP", Min: 50, Max: 200}

const (
	attackOf = "DOS_ATTACK VIRTUALSERVICE web DOS_REQ_IP_RL_DROP: "
	endOf    = "DOS_ATTACK_ENDED VIRTUALSERVICE web DOS_REQ_IP_RL_DROP: "
)

func (s *stage) wants(told []string, want ...string) {
	s.Helper()
	fits := func(got, want string) bool { return strings.HasPrefix(got, want) }
	if !slices.EqualFunc(told, want, fits) {
		s.Errorf("got %q, want %q", told, want)
	}
}

func TestAttackBeginsWithTheCountOfAllEnginesInAPeriodAndEndsAfterHalfAMinuteWithLess(t *testing.T) {
	s := newStage(t, 5, ofClients)
	s.wants(s.pass(60, 4, 4)) // 40 in 5 s
	s.wants(s.pass(10, 6, 5), attackOf+"5")
	lasting := s.watch.Of("vs-1")
	if len(lasting) != 1 || lasting[0].Name != "DOS_REQ_IP_RL_DROP" || lasting[0].Count != 55 || lasting[0].Severe {
		t.Errorf("got %+v", lasting)
	}
	if s.watch.IsOver("vs-1", "DOS_REQ_IP_RL_DROP") || !s.watch.IsOver("vs-1", "DOS_HTTP_ERROR") {
		t.Error("it is over, or another one is not")
	}
	s.wants(s.pass(29, 0, 0))
	s.wants(s.pass(10, 0, 0), endOf+"the attack is over after 1")
	if len(s.watch.Of("vs-1")) > 0 || !s.watch.IsOver("vs-1", "DOS_REQ_IP_RL_DROP") {
		t.Error("it is not over")
	}
}

func TestAttackBecomesSevereOnce(t *testing.T) {
	s := newStage(t, 5, ofClients)
	s.pass(10, 0, 0)
	s.wants(s.pass(8, 20, 0), attackOf+"60 requests beyond the limits of their clients in 5s, of 50: an attack")
	s.wants(s.pass(8, 60, 0), attackOf+"220 requests")
	s.wants(s.pass(8, 20, 0))
	s.wants(s.pass(8, 60, 0))
	if lasting := s.watch.Of("vs-1"); len(lasting) != 1 || !lasting[0].Severe || lasting[0].Most < 300 {
		t.Errorf("got %+v", lasting)
	}
}

func TestFloodIsSevereAtOnce(t *testing.T) {
	s := newStage(t, 5, ofClients)
	s.pass(10, 0, 0)
	told := s.pass(3, 0, 1000)
	s.wants(told, attackOf+"1000 requests")
	if !strings.HasSuffix(told[0], "an attack, and a severe one") {
		t.Errorf("got %q", told)
	}
}

func TestAttackOnTheBorderIsOneAttack(t *testing.T) {
	s := newStage(t, 5, ofClients)
	s.pass(10, 0, 0)
	var told []string
	for range 30 {
		told = append(told, s.pass(2, 30, 0)...)
		told = append(told, s.pass(3, 0, 0)...)
	}
	s.wants(told, attackOf)
}

func TestWhatWasCountedBeforeTheLeaderBeganIsNoAttack(t *testing.T) {
	s := newStage(t, 5, ofClients)
	s.refused = [2]uint64{5000, 5000}
	s.wants(s.pass(10, 0, 0))
	s.wants(s.pass(6, 20, 0), attackOf)
}

func TestLongPeriodCountsAsMuchAsItSays(t *testing.T) {
	s := newStage(t, 3600, kinds.DosThreshold{Attack: "DOS_REQ_IP_RL_DROP", Min: 3500, Max: 3500})
	s.wants(s.pass(3400, 1, 0))
	if points := len(s.watch.services["vs-1"].watches[0].points); points > pointsMost+2 {
		t.Errorf("%d points are kept", points)
	}
	told := s.pass(200, 1, 0)
	s.wants(told, attackOf+"3500 requests")
	s.wants(s.pass(3000, 1, 0))
}

func TestThresholdThatIsTakenAwayEndsItsAttack(t *testing.T) {
	s := newStage(t, 5, ofClients, kinds.DosThreshold{Attack: "DOS_HTTP_ERROR", Min: 1, Max: 1})
	s.pass(3, 0, 0)
	s.wants(s.pass(3, 20, 0), attackOf)
	s.guard(11, 5, ofClients)
	s.wants(s.pass(3, 20, 0))
	s.guard(12, 5, kinds.DosThreshold{Attack: "DOS_HTTP_ERROR", Min: 1, Max: 1})
	s.wants(s.pass(3, 20, 0), endOf+"has no threshold any more")
	s.guard(13, 5, ofClients)
	s.wants(s.pass(4, 20, 0), attackOf)
	gone := *s.State.Model
	gone.VirtualServices = nil
	s.State.Model = &gone
	s.Observe(s.State)
	s.wants(s.pass(1), endOf+"has no threshold any more")
	s.pass(60)
	if !s.watch.IsOver("vs-1", "DOS_REQ_IP_RL_DROP") {
		t.Error("an attack on nothing lasts")
	}
}

func TestErrorsOfServersAreAnAttackOnThem(t *testing.T) {
	s := newStage(t, 5, kinds.DosThreshold{Attack: "DOS_APP_ERROR", Min: 10, Max: 10})
	s.pass(3, 0)
	s.failed = 12
	s.wants(s.pass(1, 0), "DOS_ATTACK VIRTUALSERVICE web DOS_APP_ERROR: 12 responses with 5xx in 5s, of 10: an attack")
}

func TestOldThresholdsAreTakenAsFarAsTheyMakeSense(t *testing.T) {
	vs := &model.VirtualService{HTTP: &kinds.HTTPProfile{}, ApplicationProfile: &kinds.ApplicationProfile{
		DosRateLimit: &kinds.DosRateLimit{DosProfile: &kinds.DosProfile{Thresholds: []kinds.DosThreshold{
			{Attack: "SYN_FLOOD", Min: 5}, {Attack: "POLICY_DROPS"}, {Attack: "POLICY_DROPS", Min: 7},
			{Attack: "POLICY_DROPS", Min: 8}, {Attack: "DOS_HTTP_ERROR", Min: -1}, {Attack: "nothing", Min: 1},
		}}}}}
	if got := guards(vs); len(got) != 1 || got[0].Attack != "POLICY_DROPS" || got[0].Min != 7 {
		t.Errorf("got %+v", got)
	}
	if vs.ApplicationProfile.DosRateLimit.DosProfile.Period() != time.Second {
		t.Error("a period of 0 is not one second")
	}
}

func TestEachAttackThatCountsHasItsCounters(t *testing.T) {
	for _, attack := range kinds.CountedAttacks() {
		if _, has := counters[attack]; !has && attack != appError {
			t.Errorf("%s has no counters", attack)
		}
	}
	for attack := range counters {
		if !slices.Contains(kinds.CountedAttacks(), attack) {
			t.Errorf("%s is not among those that engines count", attack)
		}
	}
}
