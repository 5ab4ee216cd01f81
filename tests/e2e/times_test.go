package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// What each request of the test takes at the least.
const (
	timesWait     = 150 * time.Millisecond
	timesResponse = 400 * time.Millisecond
	timesTransfer = 250 * time.Millisecond
	timesTotal    = timesWait + timesResponse + timesTransfer
)

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

// lateBody is a body that comes some time after its head.
type lateBody struct {
	once sync.Once
	io.Reader
}

func (b *lateBody) Read(room []byte) (int, error) {
	b.once.Do(func() { time.Sleep(timesWait) })
	return b.Reader.Read(room)
}

func TestPageOfAServiceTellsWhereItsRequestsSpendTheirTime(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(timesResponse)
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(timesTransfer)
		fmt.Fprint(w, "the end")
	}))
	t.Cleanup(slow.Close)
	s := setUp(t, strings.TrimPrefix(slow.URL, "http://"))
	if times := s.runtime("virtualservice", "web")["times"]; times != nil {
		t.Errorf("times before the first request: %v", times)
	}
	const requests = 20
	var asked sync.WaitGroup
	var longer surplus
	for range requests {
		asked.Go(func() {
			begun := time.Now()
			defer func() { longer.note(time.Since(begun), timesTotal) }()
			body := &lateBody{Reader: strings.NewReader("the body")}
			answer, err := http.Post(plainURL("/"), "text/plain", body)
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			if content, err := io.ReadAll(answer.Body); err != nil || string(content) != "the end" {
				t.Errorf("%q, %v", content, err)
			}
		})
	}
	asked.Wait()
	var times map[string]any
	s.eventually("all requests are on the page", func() error {
		times, _ = s.runtime("virtualservice", "web")["times"].(map[string]any)
		if times["requests"] != float64(requests) {
			return fmt.Errorf("%v", times)
		}
		return nil
	})
	for name, want := range map[string]time.Duration{"wait_ms": timesWait, "response_ms": timesResponse,
		"transfer_ms": timesTransfer, "total_ms": timesTotal} {
		of, _ := times[name].(map[string]any)
		for _, statistic := range []string{"mean", "p50", "p95", "p99"} {
			ms, _ := of[statistic].(float64)
			got := time.Duration(ms * float64(time.Millisecond))
			// the next lower bucket of 150 ms is at 142 ms
			if most := (want + longer.of()) * 110 / 100; got < want*85/100 || got > most {
				t.Errorf("%s of %s is %v, want %v, and at most %v", statistic, name, got, want, most)
			}
		}
	}
}

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
