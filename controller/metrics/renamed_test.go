package metrics

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/metrics/retention"
	"github.com/weir-lb/weir/controller/series"
)

func TestRenamingAnObjectAgainAndAgainFillsNoMemory(t *testing.T) {
	s := newStage(t)
	rename := func(n int) {
		s.VS.Name = fmt.Sprintf("name %d", n)
		s.Want(uint64(20+n), "vs-1", "pool-1")
		s.report("se-one", 1, requested(uint64(100*(n+1))))
	}
	s.pass(3, rename)
	begun := s.tiers.inMemory()
	s.history.collector.headMax = 2 * begun
	s.pass(40, func(n int) { rename(3 + n) })
	if now := s.tiers.inMemory(); now > 3*begun {
		t.Errorf("%d series in memory, of which there were %d after three names", now, begun)
	}
	told := func(entry events.Entry) bool { return entry.ID == "METRICS_LIMIT" }
	if !slices.ContainsFunc(s.Events.Entries(), told) {
		t.Error("no event tells of the limit")
	}
	s.history.collector.headMax = headMax // as if a block had been written
	s.pass(3, func(n int) { s.report("se-one", 1, requested(uint64(10_000+100*n))) })
	s.wantQuery(`sum(increase(weir_service_requests_total{service="name 42"}[30s] anchored))`, 200)
}

func TestTheSeriesOfAnEarlierNameEndAtOnce(t *testing.T) {
	s := newStage(t)
	s.report("se-one", 1, requested(0))
	s.pass(4, func(n int) { s.report("se-one", 1, requested(uint64(100*(n+1)))) })
	s.rename("renamed", 20)
	s.pass(1, func(int) { s.report("se-one", 1, requested(500)) })
	if value, there := s.query(`weir_service_requests_total{service="web"}`, ""); there {
		t.Errorf("a query still finds %v under the earlier name", value)
	}
	s.rename("web", 21)
	s.pass(2, func(n int) { s.report("se-one", 1, requested(uint64(600+100*n))) })
	s.wantQuery(`weir_service_requests_total{service="web"}`, 700)
}

// rename gives the virtual service another name.
func (s *stage) rename(name string, revision uint64) {
	s.VS.Name = name
	s.Want(revision, "vs-1", "pool-1")
}

func TestSeriesThatHaveEndedAreSweptOutOfMemoryAndStayOnDisk(t *testing.T) {
	s := newStage(t)
	const hour = int(time.Hour / turn)
	s.report("se-one", 1, requested(0))
	s.pass(5*hour/2, func(n int) { // two and a half hours, with a new name after each half of one
		if n%hour == hour/2 {
			s.rename(fmt.Sprintf("name %d", n/hour), uint64(20+n))
		}
		s.report("se-one", 1, requested(uint64(100*(n+1))))
	})
	s.pass(hour/2, func(n int) { // and with another one, so late that no block has taken the series along
		if n == hour/4 {
			s.rename("last name", uint64(20+3*hour))
		}
		s.report("se-one", 1, requested(uint64(250*hour+100*(n+1))))
	})
	want, goOn := s.ofAllNames(), [len(retention.Tiers)]uint64{}
	for i, db := range s.tiers.of {
		goOn[i] = db.Head().NumSeries() - db.Head().NumStaleSeries()
		if db.Head().NumStaleSeries() == 0 {
			t.Errorf("tier %s does not know that series have ended", retention.Tiers[i].Name)
		}
	}
	s.must(s.tiers.sweep(0))
	for i, db := range s.tiers.of {
		if now := db.Head().NumSeries(); now != goOn[i] {
			t.Errorf("tier %s has %d series in memory, and %d go on", retention.Tiers[i].Name, now, goOn[i])
		}
	}
	s.wantAllNames("after a sweep", want)
	killed := t.TempDir()
	s.must(os.CopyFS(killed, os.DirFS(s.dir)))
	s.restart()
	s.wantAllNames("after a restart", want)
	s.end()
	s.dir = killed
	s.begin()
	s.wantAllNames("after a kill", want)
	s.must(s.tiers.sweep(0))
	s.wantAllNames("after a kill and a sweep", want)
}

// ofAllNames has the number of samples of each name of the virtual service, and their largest value, in each tier.
func (s *stage) ofAllNames() (found []string) {
	s.Helper()
	for tier := range retention.Tiers {
		only := &tiers{dir: s.dir}
		for i := range only.of {
			only.of[i] = s.tiers.of[tier]
		}
		for _, text := range []string{
			`count_over_time(weir_service_requests_total[5h])`,
			`max_over_time(weir_service_requests_total[5h])`,
		} {
			result, err := s.history.run(s.Context(), view{only, series.Sight{}, s.Now},
				series.Query{Text: text, Start: s.Now, Stop: s.Now})
			s.must(err)
			lines := strings.Split(result.value.String(), "\n")
			slices.Sort(lines)
			found = append(found, retention.Tiers[tier].Name+": "+strings.Join(lines, ", "))
			result.Close()
		}
	}
	return found
}

func (s *stage) wantAllNames(when string, want []string) {
	s.Helper()
	if got := s.ofAllNames(); !slices.Equal(got, want) {
		s.Errorf("%s: got %q, want %q", when, got, want)
	}
}
