package e2e

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// What each request of the test takes, at least.
const (
	timesWait     = 150 * time.Millisecond
	timesResponse = 400 * time.Millisecond
	timesTransfer = 250 * time.Millisecond
)

// spent is how long the parts of a request really took, by their names on the page.
type spent map[string]time.Duration

// timed is requests that are under way at once.
type timed struct {
	mu  sync.Mutex
	all []spent
}

// took notes a part of a request that began at a moment, and has ended now.
func (t *timed) took(request int, part string, begun time.Time) {
	span := time.Since(begun)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[request][part] += span
	t.all[request]["total_ms"] += span
}

// statistic of a part over all requests.
func (t *timed) statistic(part, name string) time.Duration {
	var spans []time.Duration
	var sum time.Duration
	for _, request := range t.all {
		spans = append(spans, request[part])
		sum += request[part]
	}
	slices.Sort(spans)
	if name == "mean" {
		return sum / time.Duration(len(spans))
	}
	percent, _ := strconv.Atoi(strings.TrimPrefix(name, "p"))
	return spans[max(0, (len(spans)*percent+99)/100-1)]
}

// lateBody is a body that comes some time after its head.
type lateBody struct {
	once sync.Once
	late func()
	io.Reader
}

func (b *lateBody) Read(room []byte) (int, error) {
	b.once.Do(b.late)
	return b.Reader.Read(room)
}

// ServeHTTP takes its time before the head of the answer, and before its end.
func (t *timed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, _ := strconv.Atoi(r.URL.Query().Get("n"))
	_, _ = io.Copy(io.Discard, r.Body)
	begun := time.Now()
	time.Sleep(timesResponse)
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	t.took(request, "response_ms", begun)
	begun = time.Now()
	time.Sleep(timesTransfer)
	t.took(request, "transfer_ms", begun)
	fmt.Fprint(w, "the end")
}

// askAll sends all requests to an address at once.
func (t *timed) askAll(s *stage, address string) {
	s.Helper()
	var asked sync.WaitGroup
	for n := range t.all {
		t.all[n] = spent{}
		asked.Go(func() {
			body := &lateBody{Reader: strings.NewReader("the body"), late: func() {
				begun := time.Now()
				time.Sleep(timesWait)
				t.took(n, "wait_ms", begun)
			}}
			answer, err := http.Post(fmt.Sprintf("http://%s/?n=%d", address, n), "text/plain", body)
			if err != nil {
				s.Error(err)
				return
			}
			defer answer.Body.Close()
			if content, err := io.ReadAll(answer.Body); err != nil || string(content) != "the end" {
				s.Errorf("%q, %v", content, err)
			}
		})
	}
	asked.Wait()
}

// timesOf are the times on the page of a virtual service, once they are those of all requests.
func (s *stage) timesOf(name string, requests int) (times map[string]any) {
	s.Helper()
	s.eventually("all requests are on the page", func() error {
		times, _ = s.runtime("virtualservice", name)["times"].(map[string]any)
		if times["requests"] != float64(requests) {
			return fmt.Errorf("%v", times)
		}
		return nil
	})
	return times
}

// What the page says of each part is within a tenth of what clients and servers measured. They and the engine share a
// machine that may be busy: of several runs, the best one of each statistic counts.
func TestPageOfAServiceTellsWhereItsRequestsSpendTheirTime(t *testing.T) {
	const requests, runsMost, tolerance = 20, 6, 0.1
	now := new(atomic.Pointer[timed]) // of the run
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now.Load().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s := setUp(t, strings.TrimPrefix(server.URL, "http://"))
	if times := s.runtime("virtualservice", "web")["times"]; times != nil {
		t.Errorf("times before the first request: %v", times)
	}
	best, told := map[string]float64{}, map[string]string{}
	for run := range runsMost {
		name, address := "web", vip
		if run > 0 {
			name, address = fmt.Sprintf("web-%d", run), loopback(20+run)
			s.createVirtualService(name, "web", address, tlsPort, plainPort)
			s.waitUp(name)
		}
		seen := &timed{all: make([]spent, requests)}
		now.Store(seen)
		seen.askAll(s, net.JoinHostPort(address, strconv.Itoa(plainPort)))
		times := s.timesOf(name, requests)
		worst := 0.0
		for _, part := range []string{"wait_ms", "response_ms", "transfer_ms", "total_ms"} {
			of, _ := times[part].(map[string]any)
			for _, statistic := range []string{"mean", "p50", "p95", "p99"} {
				got, _ := of[statistic].(float64)
				want := float64(seen.statistic(part, statistic)) / float64(time.Millisecond)
				what, off := statistic+" of "+part, math.Abs(got-want)/want
				if least, has := best[what]; !has || off < least {
					best[what], told[what] = off, fmt.Sprintf("%.1f ms, and was %.1f ms", got, want)
				}
				worst = max(worst, best[what])
			}
		}
		if worst <= tolerance {
			return
		}
	}
	for what, off := range best {
		if off > tolerance {
			t.Errorf("%s is %s", what, told[what])
		}
	}
}

// surplus is how much longer than they should take requests took, as their clients saw it: on a busy machine, no other
// clock says what may be in the parts of their time.
type surplus struct{ most atomic.Int64 }

func (s *surplus) note(took, should time.Duration) {
	for {
		most := s.most.Load()
		if int64(took-should) <= most || s.most.CompareAndSwap(most, int64(took-should)) {
			return
		}
	}
}

func (s *surplus) of() time.Duration { return time.Duration(s.most.Load()) }

// slowness is how long the servers of the test need for a request.
var slowness = []time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 500 * time.Millisecond}

func TestPageOfAPoolTellsHowLongEachServerNeedsApartFromTheWayToIt(t *testing.T) {
	var servers []string
	needed := make([]atomic.Int64, len(slowness)) // what the requests of each server really needed, in ns
	for i, needs := range slowness {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			begun := time.Now()
			time.Sleep(needs)
			needed[i].Add(int64(time.Since(begun)))
			fmt.Fprint(w, i)
		}))
		t.Cleanup(server.Close)
		servers = append(servers, strings.TrimPrefix(server.URL, "http://"))
	}
	s := setUp(t, servers...)
	s.changeApplied("web", "pool", "web", func(pool client.Object) {
		pool["lb_algorithm"] = "LB_ALGORITHM_ROUND_ROBIN"
	})
	const rounds = 12
	var longer surplus
	for range rounds * len(servers) {
		begun, server := time.Now(), 0
		answer, err := http.Get(plainURL("/"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fscan(answer.Body, &server)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		longer.note(time.Since(begun), slowness[server])
	}
	wayMost := 4*time.Millisecond + longer.of() // of a connect, or a round trip
	number := func(in map[string]any, path ...string) float64 {
		for _, name := range path[:len(path)-1] {
			in, _ = in[name].(map[string]any)
		}
		value, _ := in[path[len(path)-1]].(float64)
		return value
	}
	var page map[string]any
	s.eventually("all requests are on the page", func() error {
		page = s.runtime("pool", "web")
		all := 0.0
		list, _ := page["servers"].([]any)
		for _, server := range list {
			all += number(server.(map[string]any), "times", "responses")
		}
		if all != rounds*float64(len(servers)) {
			return fmt.Errorf("%v responses", all)
		}
		return nil
	})
	for i, item := range page["servers"].([]any) {
		server := item.(map[string]any)
		ms := func(path ...string) time.Duration {
			return time.Duration(number(server, append([]string{"times"}, path...)...) * float64(time.Millisecond))
		}
		responses := number(server, "times", "responses")
		if responses == 0 {
			t.Fatalf("%v has answered nothing", server["server_id"])
		}
		want := time.Duration(float64(needed[i].Load()) / responses)
		less := max(time.Millisecond, want/20)
		if mean := ms("app_response_ms", "mean"); mean < want-less || mean > want+less+longer.of() {
			t.Errorf("%v: it needs %v, want %v, and at most %v more", server["server_id"], mean, want, less+longer.of())
		}
		if connect := ms("connect_ms", "mean"); connect <= 0 || connect > wayMost {
			t.Errorf("%v: a connect takes %v", server["server_id"], connect)
		}
		if got := number(server, "counters", "responses_2xx"); got != number(server, "times", "responses") {
			t.Errorf("%v: %v responses of 2xx", server["server_id"], got)
		}
		if got := number(server, "counters", "received_bytes"); got <= 0 {
			t.Errorf("%v: %v bytes received", server["server_id"], got)
		}
	}
	times, _ := s.runtime("virtualservice", "web")["times"].(map[string]any)
	wayMostMs := float64(wayMost) / float64(time.Millisecond)
	if rtt := number(times, "server_rtt_ms", "mean"); rtt <= 0 || rtt > wayMostMs {
		t.Errorf("the round trip to servers takes %v ms", rtt)
	}
	if connections := number(times, "client_rtt_connections"); connections < 1 ||
		number(times, "client_rtt_ms", "mean") > wayMostMs {
		t.Errorf("round trip to %v clients: %v", connections, times["client_rtt_ms"])
	}
	cpu := 0.0
	workers, _ := s.runtime("serviceengine", "engine-1")["workers"].([]any)
	for _, worker := range workers {
		cpu += number(worker.(map[string]any), "cpu_us")
	}
	if len(workers) == 0 || cpu == 0 {
		t.Errorf("workers: %v", workers)
	}
}
