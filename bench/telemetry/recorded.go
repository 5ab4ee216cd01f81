package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"time"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/client"
)

// everything has each request leave a record, so many a second; 0: without a limit.
func everything(throttle int) client.Object {
	return client.Object{"analytics_policy": client.Object{"significant_log_throttle": throttle,
		"udf_log_throttle": throttle,
		"full_client_logs": client.Object{"enabled": true, "duration": 0, "throttle": throttle}}}
}

// recordsPage is what the API answers about records.
type recordsPage struct {
	Count      uint64 `json:"count"`
	Weight     uint64 `json:"weight"`
	Unrecorded uint64 `json:"unrecorded"`
}

func (s *stage) recordsOf(ctx context.Context, name, more string) (page recordsPage, err error) {
	err = s.controller.Session.Get(ctx, "analytics/logs?type=1&page_size=1&virtualservice="+name+more, &page)
	return page, err
}

// recordPoll is the time between two questions for a record.
const recordPoll = 50 * time.Millisecond

// measureVisibleRecord sends one request of its own path after the other, and asks for its record until it is there.
func measureVisibleRecord(ctx context.Context, r *run) (found findings.Finding, err error) {
	err = r.onStage(ctx, func(s *stage) error {
		vs, end, err := s.serve(ctx, "recorded", http.HandlerFunc(answer), everything(0))
		defer end()
		if err != nil {
			return err
		}
		var spans []time.Duration
		for number := range r.Short(6, 60) {
			if err := pause(ctx); err != nil {
				return err
			}
			path := fmt.Sprintf("/request-%d", number)
			ended, err := ask(ctx, vs.url(path))
			if err != nil {
				return err
			}
			if err := until(ctx, recordPoll, func() error {
				page, err := s.recordsOf(ctx, "recorded", "&filter="+url.QueryEscape(`eq(uri_path,"`+path+`")`))
				if err == nil && page.Count == 0 {
					err = errors.New("its record is not there")
				}
				return err
			}); err != nil {
				return err
			}
			spans = append(spans, time.Since(ended))
		}
		found = spread("requests, one after the other, each found by its path", spans)
		return nil
	})
	return found, err
}

// weightsMost is what the bar of weights is for.
const weightsMost = 10_000_000

// measureWeights sends requests, kills the record store meanwhile, and compares what the records stand for with what
// was counted.
func measureWeights(ctx context.Context, r *run) (found findings.Finding, err error) {
	err = r.onStage(ctx, func(s *stage) error {
		server, err := s.lab.Nginx(ctx, "weighed", 0, map[string]string{"index.html": "the page"})
		if err != nil {
			return err
		}
		vs, err := s.serveServers(ctx, "weighed", []string{server.ID()}, everything(10))
		if err != nil {
			return err
		}
		count := r.Short(50_000, weightsMost)
		load, err := s.lab.BeginLoad(ctx, "--url", vs.url("/index.html"), "--connections", "32",
			"--requests-per-connection", "1000", "--drain", "--count", strconv.Itoa(count), "--duration", "60m")
		if err != nil {
			return err
		}
		for kill := range killedTimes {
			if err := s.untilCounted(ctx, vs, float64(count)*float64(kill+1)/(killedTimes+2)); err != nil {
				return err
			}
			if err := until(ctx, recordPoll, func() error { _, err := s.killRecords(); return err }); err != nil {
				return err // it does not come back from the kill before
			}
		}
		if err := s.untilCounted(ctx, vs, float64(count)); err != nil {
			return err
		}
		seen, err := load.End()
		if err != nil {
			return err
		}
		var page recordsPage
		var counted float64
		settled := until(ctx, 200*time.Millisecond, func() error {
			now, err := s.counted(ctx, vs)
			if err != nil {
				return err
			}
			stored, err := s.recordsOf(ctx, "weighed", "")
			if err != nil {
				return err
			}
			counted, page = now, stored // of the last try that had both
			if page.Weight+page.Unrecorded != uint64(counted) {
				return errors.New("they do not stand for all")
			}
			return nil
		})
		twice, read, err := s.duplicates(ctx, "weighed")
		if err != nil {
			return err
		}
		found.Value = float64(twice) + math.Abs(counted-float64(page.Weight+page.Unrecorded))
		found.Note = fmt.Sprintf(
			"%.0f requests (%d failed), throttle 10 a second, the store killed %d times: %d records stand "+
				"for %d, and %d are in none yet; %d of the %d records that the API lists are there twice",
			counted, seen.ErrorTotal,
			killedTimes, page.Count, page.Weight, page.Unrecorded, twice, read)
		if settled != nil {
			found.Note += "; " + settled.Error()
		}
		if count < weightsMost {
			found.Fault = fmt.Sprintf("%d requests, and the bar is for %d", count, weightsMost)
		}
		return nil
	})
	return found, err
}

// duplicates counts the records whose id another one has, too, among those that the API lists.
func (s *stage) duplicates(ctx context.Context, name string) (twice, read int, err error) {
	seen := map[string]bool{}
	err = s.eachRecord(ctx, name, []string{"request_id"}, func(record client.Object) {
		read++
		id := fmt.Sprint(record["request_id"])
		if seen[id] {
			twice++
		}
		seen[id] = true
	})
	return twice, read, err
}

// counted is the number of requests that engines have counted.
func (s *stage) counted(ctx context.Context, of service) (float64, error) {
	var runtime struct {
		Counters struct {
			Requests float64 `json:"requests"`
		}
	}
	err := s.controller.Session.Get(ctx, "virtualservice/"+of.uuid+"/runtime", &runtime)
	return runtime.Counters.Requests, err
}

func (s *stage) untilCounted(ctx context.Context, of service, least float64) error {
	return until(ctx, 100*time.Millisecond, func() error {
		now, err := s.counted(ctx, of)
		if err == nil && now < least {
			err = fmt.Errorf("%.0f of %.0f requests are counted", now, least)
		}
		return err
	})
}

// measureWebhook has a rule about errors, makes some, and waits for the call.
func measureWebhook(ctx context.Context, r *run) (found findings.Finding, err error) {
	r.flags = []string{"--allow-local-receivers"}
	defer func() { r.flags = nil }()
	err = r.onStage(ctx, func(s *stage) error {
		called := make(chan time.Time, 64)
		hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called <- time.Now() }))
		defer hook.Close()
		failing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
		})
		vs, end, err := s.serve(ctx, "alarming", failing, nil)
		defer end()
		if err != nil {
			return err
		}
		for _, part := range []struct {
			kind   string
			object client.Object
		}{
			{"webhook", client.Object{"name": "hook", "callback_url": hook.URL + "/weir",
				"verification_token": "a token of the bench"}},
			{"actiongroupconfig", client.Object{"name": "hook", "level": "ALERT_HIGH",
				"weir_webhook_refs": []any{client.Ref("webhook", "hook")}}},
			{"alertconfig", client.Object{"name": "errors", "source": "METRICS", "category": "WATERMARK",
				"object_type": "VIRTUALSERVICE", "throttle": 0,
				"action_group_ref": client.Ref("actiongroupconfig", "hook"),
				"alert_rule": client.Object{"metrics_rule": []any{client.Object{"metric_id": "l7_client.avg_resp_5xx",
					"metric_threshold": client.Object{"threshold": 0}}}}}},
		} {
			if _, err := s.controller.Session.Create(ctx, part.kind, part.object); err != nil {
				return fmt.Errorf("%s: %w", part.kind, err)
			}
		}
		began := time.Now()
		load, err := s.lab.BeginLoad(ctx, "--url", vs.url("/"), "--connections", "4", "--requests-per-connection", "0",
			"--rate", "20", "--duration", "60s")
		if err != nil {
			return err
		}
		defer func() { _, _ = load.End() }()
		select {
		case at := <-called:
			found = findings.Finding{Value: milliseconds(at.Sub(began)),
				Note: "from the first of the requests that are answered with 502 until the webhook is called; a rule about 5xx"}
			return nil
		case <-ctx.Done():
			return fmt.Errorf("the webhook is not called: %w", ctx.Err())
		}
	})
	return found, err
}
