package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/clients"
)

// killedTimes is how often the record store is killed, one time right after it is back.
const killedTimes = 3

// logsPath is what is away while the record store is.
const logsPath = "analytics/logs?type=2&page_size=1"

// measureKilled asks the API everything but logs while the record store dies, and has clients send requests.
func measureKilled(ctx context.Context, r *run) (found findings.Finding, err error) {
	err = r.onStage(ctx, func(s *stage) error {
		vs, end, err := s.serve(ctx, "kept", http.HandlerFunc(answer), nil)
		defer end()
		if err != nil {
			return err
		}
		paths := []string{"virtualservice", "pool", "serviceengine", "cluster/runtime", "virtualservice/" + vs.uuid,
			"virtualservice/" + vs.uuid + "/runtime", "pool/" + vs.pool + "/runtime",
			"virtualservice?join_subresources=runtime",
			"analytics/metrics/virtualservice/" + vs.uuid +
				"?metric_id=l7_client.avg_complete_responses&limit=1&step=15"}
		for _, path := range paths {
			if status := s.status(ctx, path); status != http.StatusOK {
				return fmt.Errorf("GET /api/%s: %d before anything is killed", path, status)
			}
		}
		load, err := s.lab.BeginLoad(ctx, append(clients.Rate(16, 0, 100), "--url", vs.url("/"), "--duration", "2m")...)
		if err != nil {
			return err
		}
		asked, wrong, without, away := 0, 0, 0, time.Duration(0)
		for range killedTimes {
			killed, err := s.killRecords()
			if err != nil {
				return err
			}
			err = until(ctx, 20*time.Millisecond, func() error {
				for _, path := range paths {
					asked++
					if s.status(ctx, path) != http.StatusOK {
						wrong++
					}
				}
				switch status := s.status(ctx, logsPath); status {
				case http.StatusOK:
					if _, err := s.recordsPID(); err != nil {
						return err
					}
					return nil
				case http.StatusServiceUnavailable:
					without++
					return errors.New("logs are away")
				default:
					wrong++
					return fmt.Errorf("logs answer %d", status)
				}
			})
			if err != nil {
				return err
			}
			away = max(away, time.Since(killed))
		}
		seen, err := load.End()
		if err != nil {
			return err
		}
		found = findings.Finding{Value: float64(int64(wrong) + seen.ErrorTotal), Note: fmt.Sprintf(
			"%d answers of the API, %d requests of clients, %d failed; logs answered 503 %d times, and were back by "+
				"themselves after at most %.1f s (%d kills). A full disk is in the tests of logs/store",
			asked, seen.Requests, seen.ErrorTotal, without, away.Seconds(), killedTimes)}
		return nil
	})
	return found, err
}

// status is what the API answers; 0: nothing.
func (s *stage) status(ctx context.Context, path string) int {
	err := s.controller.Session.Get(ctx, path, &struct{}{})
	var problem *client.Problem
	switch {
	case errors.As(err, &problem):
		return problem.Status
	case err != nil:
		return 0
	}
	return http.StatusOK
}

// recordsPID finds the record store among the processes of the controller.
func (s *stage) recordsPID() (int, error) { return childNamed(s.controller.PID(), "records") }

// childNamed finds the descendant of a process that is this command of weir.
func childNamed(parent int, command string) (int, error) {
	for _, pid := range meter.Group(parent) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if args := bytes.Split(line, []byte{0}); err == nil && len(args) > 1 && string(args[1]) == command {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("process %d has no child that is weir %s", parent, command)
}

func (s *stage) killRecords() (at time.Time, err error) {
	pid, err := s.recordsPID()
	if err != nil {
		return at, err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return at, fmt.Errorf("kill the record store: %w", err)
	}
	return time.Now(), nil
}
