package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/client"
)

// recordsReadable is how many of the newest records the API lists page by page, and recordsOfPage how many are on one.
const (
	recordsReadable = 100_000
	recordsOfPage   = 10_000
)

// eachRecord reads the records of requests to a virtual service, as many as the API lists, with some fields. None may
// come meanwhile.
func (s *stage) eachRecord(ctx context.Context, name string, fields []string, take func(client.Object)) error {
	for page := 1; page <= recordsReadable/recordsOfPage; page++ {
		var answer struct{ Results []client.Object }
		if err := s.controller.Session.Get(ctx, fmt.Sprintf(
			"analytics/logs?type=1&virtualservice=%s&page_size=%d&page=%d&timeout=60&cols=%s", name,
			recordsOfPage, page,
			strings.Join(fields, ",")), &answer); err != nil {
			return err
		}
		for _, record := range answer.Results {
			take(record)
		}
		if len(answer.Results) < recordsOfPage {
			break
		}
	}
	return nil
}

// parts are what the total time of a request consists of. The round trip to the client is none of them.
var parts = []string{"wait_us", "server_rtt_us", "app_response_time_us", "data_transfer_time_us"}

// summed is a load whose requests have parts of a kind of their own.
type summed struct {
	name  string
	count int
	flags []string
}

// measureSums sends requests of several kinds, and adds up the parts of each record. Parts are in whole microseconds.
func measureSums(ctx context.Context, r *run) (found findings.Finding, err error) {
	err = r.onStage(ctx, func(s *stage) error {
		servers, end, err := s.summedServers(ctx)
		if err != nil {
			return err
		}
		defer end()
		read := 0
		for _, load := range []summed{
			{"kept", r.Short(2_000, 50_000), []string{"--connections", "32", "--requests-per-connection", "0"}},
			{"afresh", r.Short(500, 10_000), []string{"--connections", "16", "--requests-per-connection", "1"}},
			{"bodies", r.Short(500, 5_000), []string{"--connections", "16", "--requests-per-connection", "20",
				"--method", "POST", "--body-bytes", "100000"}},
			{"late", r.Short(200, 2_000), []string{"--connections", "64", "--requests-per-connection", "0"}},
			{"refused", r.Short(200, 2_000), []string{"--connections", "16", "--requests-per-connection", "0"}},
		} {
			wrong, count, note, err := s.sum(ctx, load, servers[load.name])
			if err != nil {
				return fmt.Errorf("%s: %w", load.name, err)
			}
			found.Value += float64(wrong)
			read += count
			found.Note += note
		}
		found.Note += fmt.Sprintf("%d records in all, each read", read)
		return nil
	})
	return found, err
}

// summedServers are those of each load, by its name.
func (s *stage) summedServers(ctx context.Context) (servers map[string]string, end func(), err error) {
	quick, err := s.lab.Nginx(ctx, "summed", 0, map[string]string{"index.html": "the page"})
	if err != nil {
		return nil, nil, err
	}
	late := httptest.NewServer(&lagging{by: 20 * time.Millisecond})
	bodies := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		written := make([]byte, 200_000)
		_, _ = r.Body.Read(written)
		_, _ = w.Write(written)
	}))
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	address := func(server *httptest.Server) string { return strings.TrimPrefix(server.URL, "http://") }
	return map[string]string{"kept": quick.ID(), "afresh": quick.ID(), "late": address(late), "bodies": address(bodies),
		"refused": address(gone)}, func() { late.Close(); bodies.Close() }, nil
}

// sum counts the records of a load whose parts do not add up.
func (s *stage) sum(ctx context.Context, load summed, server string) (wrong, read int, note string, err error) {
	name := "summed-" + load.name
	vs, err := s.serveServers(ctx, name, []string{server}, everything(0))
	if err != nil {
		return 0, 0, "", err
	}
	seen, err := s.lab.Load(ctx, append(load.flags, "--url", vs.url("/index.html"), "--count", strconv.Itoa(load.count),
		"--drain", "--duration", "5m")...)
	if err != nil {
		return 0, 0, "", err
	}
	all := seen.Requests + seen.ErrorTotal // errors are answers with a status of errors
	var stored int64
	if err := until(ctx, 200*time.Millisecond, func() error {
		page, err := s.recordsOf(ctx, name, "")
		if weighed := int64(page.Weight + page.Unrecorded); err == nil && weighed != all {
			err = fmt.Errorf("records stand for %d of %d requests", weighed, all)
		}
		stored = int64(page.Count) // fewer than requests, if these come faster than records can be kept
		return err
	}); err != nil {
		return 0, 0, "", err
	}
	err = s.eachRecord(ctx, name, append([]string{"total_time_us"}, parts...), func(record client.Object) {
		read++
		if !addsUp(record) {
			wrong++
			if note == "" {
				note = fmt.Sprintf("such as %v; ", record)
			}
		}
	})
	if err == nil && int64(read) != stored {
		err = fmt.Errorf("%d records of %d were read", read, stored)
	}
	return wrong, read, fmt.Sprintf("%s: %d of %d records do not add up; %s", load.name, wrong, read, note), err
}

// addsUp tells whether the parts of a record make up its total. A part that took no time may not be there.
func addsUp(record client.Object) bool {
	sum := 0.0
	for _, part := range parts {
		value, _ := record[part].(float64)
		sum += value
	}
	total, has := record["total_time_us"].(float64)
	return has && sum == total
}
