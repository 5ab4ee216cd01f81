package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/lab/clients"
)

// statistics are what a runtime page says of times.
type statistics struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
}

const (
	percentilesRate = 200 // requests per second
	// The servers think for about 40 ms, some for far longer: the middle bucket of the histogram would not show a
	// percentile that is wrong by one.
	thinkMedian, thinkSpread = 40 * time.Millisecond, 0.6
)

// think is how long a server thinks about a request: logarithmically normal.
func think(random *rand.Rand) time.Duration {
	return time.Duration(float64(thinkMedian) * math.Exp(thinkSpread*random.NormFloat64()))
}

// measurePercentiles compares what Weir says of the times of requests with what their clients saw.
func measurePercentiles(ctx context.Context, r *run) (found findings.Finding, err error) {
	err = r.onStage(ctx, func(s *stage) error {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(1, 2))
		vs, end, err := s.serve(ctx, "thinks", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			span := think(random)
			mu.Unlock()
			time.Sleep(span)
			fmt.Fprint(w, "the page")
		}), nil)
		defer end()
		if err != nil {
			return err
		}
		span := time.Duration(r.Short(15, 40)) * time.Second
		load, err := s.loadFirst(ctx, &s.lab.Host, append(clients.Rate(128, 0, percentilesRate), "--url",
			vs.url("/"), "--duration",
			fmt.Sprintf("%.0fs", span.Seconds()))...)
		if err != nil {
			return err
		}
		told, err := s.timesOf(ctx, vs, load.Requests)
		if err != nil {
			return err
		}
		found, err = comparePercentiles(told.Total, statistics{P50: load.P50us / 1000, P95: load.P95us / 1000,
			P99: load.P99us / 1000}), nil
		found.Note += fmt.Sprintf(". %d requests, %d a second; %d failed", load.Requests, percentilesRate,
			load.ErrorTotal)
		if load.ErrorTotal > 0 {
			found.Fault = strconv.FormatInt(load.ErrorTotal, 10) + " requests failed"
		}
		return err
	})
	return found, err
}

// comparePercentiles returns the largest difference, in percent of what clients saw.
func comparePercentiles(told, seen statistics) (f findings.Finding) {
	for _, p := range []struct {
		name       string
		told, seen float64
	}{{"p50", told.P50, seen.P50}, {"p95", told.P95, seen.P95}, {"p99", told.P99, seen.P99}} {
		f.Value = max(f.Value, 100*math.Abs(p.told-p.seen)/p.seen)
		if f.Note != "" {
			f.Note += ", "
		}
		f.Note += fmt.Sprintf("%s %.1f ms, clients saw %.1f ms", p.name, p.told, p.seen)
	}
	return f
}

var delays = []time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 500 * time.Millisecond}

const delayedRate = 20 // requests per second

// lagging is a server that delays each answer, and knows by how much it did.
type lagging struct {
	by             time.Duration
	answers, spent atomic.Int64
}

func (l *lagging) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	began := time.Now()
	time.Sleep(l.by)
	l.spent.Add(int64(time.Since(began)))
	l.answers.Add(1)
	fmt.Fprint(w, "the page")
}

func (l *lagging) meanMs() float64 {
	return float64(l.spent.Load()) / float64(max(1, l.answers.Load())) / float64(time.Millisecond)
}

// measureSegments compares the time of the application, as Weir tells it, with what each server spent.
func measureSegments(ctx context.Context, r *run) (found findings.Finding, err error) {
	err = r.onStage(ctx, func(s *stage) error {
		servers, services := make([]*lagging, len(delays)), make([]service, len(delays))
		for i, delay := range delays {
			servers[i] = &lagging{by: delay}
			var end func()
			services[i], end, err = s.serve(ctx, "delays-"+delay.String(), servers[i], nil)
			defer end()
			if err != nil {
				return err
			}
		}
		var loading sync.WaitGroup
		errs := make([]error, len(delays))
		for i := range delays {
			loading.Go(func() {
				_, errs[i] = s.lab.Load(ctx, append(clients.Rate(32, 0, delayedRate), "--url", services[i].url("/"),
					"--duration", strconv.Itoa(r.Short(10, 30))+"s")...)
			})
		}
		loading.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		for i, server := range servers {
			told, err := s.timesOf(ctx, services[i], server.answers.Load())
			if err != nil {
				return err
			}
			found.Value = max(found.Value, math.Abs(told.App.Mean-server.meanMs()))
			found.Note += fmt.Sprintf("%.2f ms where the server spent %.2f; ", told.App.Mean, server.meanMs())
		}
		found.Note += fmt.Sprintf("means of %d requests a second; the row round-trips has servers that are far away",
			delayedRate)
		return nil
	})
	return found, err
}

// requestTimes are what a runtime page says of the requests of a virtual service.
type requestTimes struct {
	Requests  int64
	Total     statistics `json:"total_ms"`
	App       statistics `json:"app_response_ms"`
	ServerRTT statistics `json:"server_rtt_ms"`
	ClientRTT statistics `json:"client_rtt_ms"`
}

// timesOf reads them once all requests are counted.
func (s *stage) timesOf(ctx context.Context, of service, requests int64) (told requestTimes, err error) {
	err = until(ctx, 200*time.Millisecond, func() error {
		var runtime struct{ Times requestTimes }
		err := s.controller.Session.Get(ctx, "virtualservice/"+of.uuid+"/runtime", &runtime)
		told = runtime.Times
		if err == nil && told.Requests != requests {
			err = fmt.Errorf("it shows %d of %d requests", told.Requests, requests)
		}
		return err
	})
	return told, err
}
