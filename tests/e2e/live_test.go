package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
)

const (
	liveResponse = 40 * time.Millisecond // of the server, so that what the load sees is not the length of batches
	liveRate     = 200                   // requests per second
	liveSteps    = 6                     // for which the load goes on at the least
	liveAgrees   = 0.1                   // by how much stream and load may differ
	liveTries    = 8
)

// livePoint is a step of the stream.
type livePoint struct {
	AtMs     int64    `json:"at_ms"`
	Seconds  float64  `json:"seconds"`
	Engines  int      `json:"engines"`
	Requests float64  `json:"requests_per_s"`
	P50      *float64 `json:"p50_ms"`
}

type liveEvent struct {
	Overview struct{ Points []livePoint }
	Services []struct{ Points []livePoint } `json:"virtual_services"`
}

// points reads the steps of a virtual service from the stream until ctx ends.
func (s *stage) points(ctx context.Context, service client.Object) <-chan livePoint {
	points := make(chan livePoint, 1000)
	go func() {
		defer close(points)
		err := s.controller.Session.Live(ctx, []string{"overview", fmt.Sprintf("vs:%s", service["uuid"])}, "",
			func(event client.LiveEvent) error {
				var told liveEvent
				if err := json.Unmarshal(event.Data, &told); err != nil {
					return err
				}
				if event.Name == "delta" {
					for _, point := range told.Services[0].Points {
						points <- point
					}
				}
				return nil
			})
		if !errors.Is(err, context.Canceled) {
			s.Errorf("the stream ended: %v", err)
		}
	}()
	return points
}

// nextPoint waits for a step that fits.
func (s *stage) nextPoint(points <-chan livePoint, what string, fits func(livePoint) bool) livePoint {
	s.Helper()
	deadline := time.After(eventTimeout)
	for {
		select {
		case point, open := <-points:
			if !open {
				s.Fatalf("the stream ended before %s", what)
			}
			if fits(point) {
				return point
			}
		case <-deadline:
			s.Fatalf("not within %v: %s", eventTimeout, what)
		}
	}
}

func TestStreamAndTopTellWhatTheLoadSees(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(liveResponse)
		fmt.Fprint(w, "the page")
	}))
	t.Cleanup(slow.Close)
	s := setUp(t, strings.TrimPrefix(slow.URL, "http://"))
	service, err := s.controller.Session.ByName(s.ctx, "virtualservice", "web")
	s.must(err)
	ctx, cancel := context.WithCancel(s.ctx)
	points := s.points(ctx, service)
	defer func() {
		cancel()
		for range points {
		}
	}()
	s.visibleSoon(points)

	load, err := s.lab.BeginLoad(s.ctx, append([]string{"--url", plainURL("/"), "--connections", "32", "--rate",
		fmt.Sprint(liveRate), "--drain"}, untilTold...)...)
	s.must(err)
	var told []livePoint // of the load, to its end
	note := func(p livePoint) { told = append(told, p) }
	for range liveSteps {
		s.nextPoint(points, "the load goes on", func(p livePoint) bool {
			note(p)
			return p.Requests > 0.8*liveRate
		})
	}
	s.topShows("web", "UP")
	report, err := load.End()
	s.must(err)
	ended, quiet := time.Now().UnixMilli(), 0
	s.nextPoint(points, "the load is over", func(p livePoint) bool {
		note(p)
		if p.AtMs > ended && p.Engines > 0 && p.Requests == 0 {
			quiet++
		}
		return quiet == 2 // the first may be of a sample that was late
	})
	s.agrees(report, told)
}

// sumOf is how many requests steps tell of.
func sumOf(points []livePoint) (requests float64) {
	for _, point := range points {
		requests += point.Requests * point.Seconds
	}
	return requests
}

// visibleSoon measures how long after a request the stream tells of it. weir bench telemetry has the bar.
func (s *stage) visibleSoon(points <-chan livePoint) {
	s.Helper()
	var took []time.Duration
	for try := range liveTries {
		s.nextPoint(points, "nothing happens", func(p livePoint) bool { return p.Engines > 0 && p.Requests == 0 })
		timer := time.NewTimer(time.Duration(try) * time.Second / liveTries) // at any moment of a second
		<-timer.C
		begun := time.Now()
		answer, err := http.Get(plainURL("/"))
		s.must(err)
		_, err = io.Copy(io.Discard, answer.Body)
		s.must(errors.Join(err, answer.Body.Close()))
		s.nextPoint(points, "the request is told", func(p livePoint) bool { return p.Requests > 0 })
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	s.Logf("a request is told after %v (median), %v (longest of %d)", took[liveTries/2], took[liveTries-1], liveTries)
}

// agrees compares the steps from before a load to its end with what the load saw. A step in which no engine reported is
// a gap: nobody knows what was in it. The load's times include what the load itself waits for on a busy machine.
func (s *stage) agrees(report lab.LoadReport, told []livePoint) {
	s.Helper()
	gaps, fastest := 0, math.Inf(1)
	for _, point := range told {
		if point.Engines == 0 {
			gaps++
		}
		if point.P50 != nil {
			fastest = min(fastest, *point.P50)
		}
	}
	sum, sent, seen := sumOf(told), float64(report.Requests), report.P50us/1000
	s.Logf("stream: %.0f requests in %d steps, %d gaps, fastest p50 %.2f ms; load: %.0f, %.2f ms", sum, len(told), gaps,
		fastest, sent, seen)
	if report.ErrorTotal > 0 {
		s.Errorf("the load failed: %v", report.Errors)
	}
	if sum > (1+liveAgrees)*sent || gaps == 0 && sum < (1-liveAgrees)*sent {
		s.Errorf("the stream tells of %.0f requests, the load of %.0f", sum, sent)
	}
	least := float64(liveResponse.Milliseconds())
	if fastest < (1-liveAgrees)*least || fastest > (1+liveAgrees)*seen {
		s.Errorf("the stream tells of a median of %.2f ms, the server of %.0f ms, the load of %.2f ms",
			fastest, least, seen)
	}
}

// rowShows looks for words, and for about the rate of the load, in the row of a virtual service.
func rowShows(all, name string, words ...string) error {
	row, end := "", 0 // of the column of rates, which is aligned to the right
	for line := range strings.Lines(all) {
		if at := strings.Index(line, "REQ/S"); at >= 0 {
			end = at + len("REQ/S")
		}
		if strings.HasPrefix(line, name+" ") {
			row = line
		}
	}
	for _, word := range words {
		if !strings.Contains(row, word) {
			return fmt.Errorf("%q is not in the row of %s:\n%s", word, name, all)
		}
	}
	var rate float64
	if fields := strings.Fields(row[:min(end, len(row))]); len(fields) > 0 {
		if _, err := fmt.Sscan(fields[len(fields)-1], &rate); err != nil {
			return fmt.Errorf("%w in\n%s", err, all)
		}
	}
	if math.Abs(rate-liveRate) > 3*liveAgrees*liveRate {
		return fmt.Errorf("it says that there are %v requests/s:\n%s", rate, all)
	}
	return nil
}

// topShows runs `weir top --once`, and wants these words in the row of a virtual service.
func (s *stage) topShows(name string, words ...string) {
	s.Helper()
	config, home := s.TempDir(), os.Getenv("HOME")
	run := func(args ...string) string {
		s.Helper()
		command := exec.CommandContext(s.ctx, weir(s.T), args...)
		command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+config, "HOME="+home)
		out, err := command.CombinedOutput()
		if err != nil {
			s.Fatalf("weir %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	password, err := s.controller.Password()
	s.must(err)
	file := filepath.Join(config, "password")
	s.must(os.WriteFile(file, []byte(password), 0o600))
	run("login", s.controller.URL, "--password-file", file, "--trust-on-first-use")
	s.eventually("weir top shows the rate of the load", func() error { // each time that of one second
		all := run("top", "--once")
		s.Logf("weir top --once:\n%s", all)
		return rowShows(all, name, words...)
	})
	for _, part := range [][]string{{"engines", "engine-1"}, {"vs web", "response"}, {"vs web", "SERVER OF web"}} {
		if got := run(append(strings.Fields("top "+part[0]), "--once")...); !strings.Contains(got, part[1]) {
			s.Errorf("weir top %s --once says\n%s", part[0], got)
		}
	}
	if got := run("vs", "show", name); !strings.Contains(got, "LAST 5 MINUTES") || !strings.Contains(got, "█") {
		s.Errorf("weir vs show %s says\n%s", name, got)
	}
	var event struct {
		Event string
		Data  liveEvent
	}
	lines := strings.Split(strings.TrimSpace(run("top", "--json", "--once")), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &event); err != nil || event.Event != "delta" ||
		len(event.Data.Overview.Points) == 0 {
		s.Errorf("weir top --json says %v, %v", lines, err)
	}
}
