package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/metrics/retention"
	"github.com/weir-lb/weir/lab"
)

const (
	soakRow   = "soak"
	soakMost  = 24 * time.Hour // what the bar is for
	soakQuick = time.Minute
	soakRate  = 100 // requests per second
	// soakAlive is how many of the services that come and go are there at once.
	soakAlive = 5
	// soakAddresses are used one after the other.
	soakAddresses = 200
	// soakSeries is how long a service has load until each of its series has a sample.
	soakSeries = retention.HistogramEvery + collection
)

// amounts are what may grow: by name, in MiB or as numbers.
type amounts map[string]float64

// bounded are amounts that come and go with the files of the history, with what bounds them. They do not count as
// growth.
var bounded = map[string]string{
	"controller files of the history": "three blocks of a tier become one, up to its longest",
	"controller mapped MiB":           "pages of files, which the kernel takes back when it needs memory",
	"records mapped MiB":              "pages of files, which the kernel takes back when it needs memory",
}

// measureSoak puts load on a Weir, makes, renames and deletes services all the time, has somebody watch and ask, and
// looks whether anything grows.
func measureSoak(ctx context.Context, r *run) (found findings.Finding, err error) {
	span := r.Soak
	if span == 0 && r.Quick {
		span = soakQuick
	}
	if span == 0 {
		return found, errors.New("it takes as long as it is told: give --soak 24h, or --soak 15m for a look")
	}
	if r.Profiles != "" {
		r.flags = []string{"--profile"}
		defer func() { r.flags = nil }()
	}
	err = r.onStage(ctx, func(s *stage) error {
		server, err := s.lab.Nginx(ctx, "soaked", 0, map[string]string{"index.html": "the page"})
		if err != nil {
			return err
		}
		vs, err := s.serveServers(ctx, "soaked", []string{server.ID()}, everything(10))
		if err != nil {
			return err
		}
		loadFor := func(span time.Duration) []string {
			return []string{"--url", vs.url("/index.html"), "--connections", "16", "--requests-per-connection", "50",
				"--rate", strconv.Itoa(soakRate), "--duration", fmt.Sprintf("%.0fs", span.Seconds())}
		}
		if !r.Quick {
			if _, err := s.lab.Load(ctx, loadFor(soakSeries)...); err != nil {
				return err
			}
			if err := s.fillHistory(ctx); err != nil {
				return err
			}
		}
		load, err := s.lab.BeginLoad(ctx, loadFor(span+middle)...)
		if err != nil {
			return err
		}
		if err := until(ctx, time.Second, func() error { _, err := s.series(ctx); return err }); err != nil {
			return errors.Join(err, endOf(load))
		}
		limited, cancel := context.WithTimeout(ctx, span)
		defer cancel()
		soaking, within := errgroup.WithContext(limited)
		var changes, questions int
		var looks []amounts
		soaking.Go(func() (err error) { changes, err = s.comeAndGo(within, server.ID()); return err })
		soaking.Go(func() (err error) { questions, err = s.watchAndAsk(within, vs); return err })
		soaking.Go(func() (err error) { looks, err = s.look(within, span); return err })
		if err := soaking.Wait(); err != nil {
			return errors.Join(err, endOf(load))
		}
		seen, err := load.End()
		if err != nil {
			return err
		}
		found = judgeSoak(looks, span)
		found.Note = fmt.Sprintf(
			"%v with %d requests a second (%d failed), a service made, renamed and deleted %d times, "+
				"the overview open, and %d questions for metrics and logs. %s", span, soakRate,
			seen.ErrorTotal, changes,
			questions, found.Note)
		if seen.ErrorTotal > 0 && found.Fault == "" {
			found.Fault = fmt.Sprintf("%d requests failed", seen.ErrorTotal)
		}
		return nil
	})
	return found, err
}

// fillHistory has the controller start again with as long a history as it keeps: otherwise the history would grow for a
// year.
func (s *stage) fillHistory(ctx context.Context) error {
	keep := retention.Tiers[len(retention.Tiers)-1].Keep
	_, _, err := s.startWithHistory(ctx, s.controller, keep, time.Now().Add(-collection))
	return err
}

func endOf(load *lab.RunningLoad) error {
	_, err := load.End()
	return err
}

// judgeSoak compares the medians of the second quarter of the looks, when all is warm, and of the last.
func judgeSoak(looks []amounts, span time.Duration) (found findings.Finding) {
	if len(looks) < 8 {
		return findings.Finding{Fault: fmt.Sprintf("%d looks are too few to tell growth", len(looks))}
	}
	quarter := len(looks) / 4
	median := func(of []amounts, name string) float64 {
		var all []float64
		for _, look := range of {
			all = append(all, look[name])
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	var names, notes []string
	for name := range looks[0] {
		names = append(names, name)
	}
	slices.Sort(names)
	hours := span.Hours() * 5 / 8 // from the middle of one quarter to that of the other
	for _, name := range names {
		before, after := median(looks[quarter:2*quarter], name), median(looks[len(looks)-quarter:], name)
		growth := 0.0
		if before > 0 {
			growth = 100 * (after - before) / before
		}
		note := fmt.Sprintf("%s %.0f, then %.0f (%+.1f an hour)", name, before, after, (after-before)/hours)
		if why, is := bounded[name]; is {
			note += ", does not count: " + why
		} else {
			found.Value = max(found.Value, growth)
		}
		notes = append(notes, note)
	}
	found.Note = strings.Join(notes, "; ")
	if span < soakMost {
		found.Fault = fmt.Sprintf("%v, and the bar is for %v", span, soakMost)
	}
	return found
}

// comeAndGo makes a service, gives it another name, and deletes the oldest one, again and again until ctx ends.
func (s *stage) comeAndGo(ctx context.Context, server string) (times int, err error) {
	var alive []service
	for ; ctx.Err() == nil; times++ {
		made, err := s.serveServers(ctx, fmt.Sprintf("passing-%d", times), []string{server}, nil)
		if err == nil {
			_, err = ask(ctx, made.url("/index.html"))
		}
		if err == nil {
			err = s.controller.Session.Patch(ctx, "virtualservice", made.uuid,
				client.Object{"name": fmt.Sprintf("renamed-%d", times)})
		}
		if alive = append(alive, made); err == nil && len(alive) > soakAlive {
			err = s.remove(ctx, alive[0])
			alive = alive[1:]
		}
		if err != nil && ctx.Err() == nil {
			return times, fmt.Errorf("service %d: %w", times, err)
		}
		if s.made >= soakAddresses {
			s.made = 1 // the address after that of the service with the load is free again
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return times, nil
}

func (s *stage) remove(ctx context.Context, gone service) error {
	for _, part := range []struct{ kind, uuid string }{{"virtualservice", gone.uuid}, {"vsvip", gone.vsvip},
		{"pool", gone.pool}} {
		if err := s.controller.Session.Delete(ctx, part.kind, part.uuid); err != nil {
			return fmt.Errorf("%s: %w", part.kind, err)
		}
	}
	return nil
}

// watchAndAsk has the overview open, and asks for metrics and logs each second until ctx ends.
func (s *stage) watchAndAsk(ctx context.Context, vs service) (asked int, err error) {
	watching, ctx := errgroup.WithContext(ctx)
	watching.Go(func() error {
		err := s.controller.Session.Live(ctx, []string{"overview", "engines", "vs:" + vs.uuid}, "",
			func(client.LiveEvent) error { return nil })
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("the live stream ends: %w", err)
	})
	watching.Go(func() error {
		for ; ctx.Err() == nil; asked++ {
			for _, path := range []string{"analytics/logs?type=1&duration=900&step=15",
				"analytics/metrics/virtualservice/" + vs.uuid + "?metric_id=l7_client.avg_resp_2xx&limit=60&step=5"} {
				if status := s.status(ctx, path); status != http.StatusOK && ctx.Err() == nil {
					return fmt.Errorf("%s answers %d", path, status)
				}
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
		return nil
	})
	return asked, watching.Wait()
}

// look notes what must not grow, until ctx ends.
func (s *stage) look(ctx context.Context, span time.Duration) (looks []amounts, err error) {
	tick := time.NewTicker(min(30*time.Second, span/60))
	defer tick.Stop()
	begun, profiles := time.Now(), newProfiler(s.Profiles, s.controller)
	for quarter := 1; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return looks, nil
		}
		seen, err := s.amounts(ctx)
		if ctx.Err() != nil {
			return looks, nil
		}
		if err != nil {
			return looks, err
		}
		looks = append(looks, seen)
		if quarter < 4 && time.Since(begun) >= time.Duration(quarter)*span/4 { // what is there more in the next one?
			if err := profiles.take(ctx, "heap?gc=1", fmt.Sprintf("soak-%d.heap", quarter)); err != nil {
				return looks, err
			}
			quarter++
		}
	}
}

func (s *stage) amounts(ctx context.Context) (amounts, error) {
	records, err := s.recordsPID()
	if err != nil {
		return nil, err
	}
	dataplane, err := s.engine.DataplanePID(ctx)
	if err != nil {
		return nil, err
	}
	found := amounts{}
	for name, pid := range map[string]int{"controller": s.controller.PID(), "records": records, "agent": s.engine.PID(),
		"data plane": dataplane} {
		own, mapped, err := meter.Resident(pid)
		if err != nil {
			return nil, err
		}
		found[name+" MiB"], found[name+" mapped MiB"] = float64(own)/(1<<20), float64(mapped)/(1<<20)
		history, others, err := descriptors(pid, s.controller.HistoryDir())
		if err != nil {
			return nil, err
		}
		found[name+" descriptors"] = float64(others)
		if name == "controller" {
			found[name+" files of the history"] = float64(history)
		}
	}
	found["series"], err = s.series(ctx)
	return found, err
}

// descriptors counts those that a process has open: of files below a directory, and others.
func descriptors(pid int, dir string) (below, others int, err error) {
	all := fmt.Sprintf("/proc/%d/fd", pid)
	open, err := os.ReadDir(all)
	if err != nil {
		return 0, 0, err
	}
	for _, one := range open {
		file, err := os.Readlink(filepath.Join(all, one.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // closed meanwhile
		case err != nil:
			return 0, 0, err
		case strings.HasPrefix(file, dir+"/"):
			below++
		default:
			others++
		}
	}
	return below, others, nil
}

// series is how many series have a value now.
func (s *stage) series(ctx context.Context) (float64, error) {
	return single(ctx, s.controller.Session, `count({__name__!=""})`)
}

// single asks the history for the one value of a query in PromQL.
func single(ctx context.Context, session *client.Session, query string) (float64, error) {
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]any
			}
		}
	}
	err := session.Get(ctx, "weir/promql/api/v1/query?query="+url.QueryEscape(query), &answer)
	if err != nil || len(answer.Data.Result) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%s has %d values", query, len(answer.Data.Result)))
	}
	return strconv.ParseFloat(fmt.Sprint(answer.Data.Result[0].Value[1]), 64)
}
