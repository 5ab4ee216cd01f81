package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

var recorded = flag.Int("records.requests", 100_000, "how many requests are counted by their records")

// recordAll makes the virtual service "web", and has each request leave a record, so many a second; 0: without a limit.
// flags are those of the controller.
func (s *stage) recordAll(server string, throttle int, more client.Object, flags ...string) {
	s.Helper()
	s.must(s.startController(flags...))
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "web", "servers": serverList([]string{server})})
	vip := s.create("vsvip", client.Object{"name": "web", "vip": []any{client.Object{"ip_address": client.Object{
		"addr": vip, "type": "V4"}}}})
	policy := client.Object{"significant_log_throttle": throttle, "udf_log_throttle": throttle,
		"full_client_logs": client.Object{"enabled": true, "duration": 0, "throttle": throttle}}
	for name, value := range more {
		policy[name] = value
	}
	s.create("virtualservice", client.Object{
		"name": "web", "vsvip_ref": vip["url"], "pool_ref": client.Ref("pool", "web"), "analytics_policy": policy,
		"services": []any{client.Object{"port": plainPort}, client.Object{"port": tlsPort, "enable_ssl": true}},
	})
	s.waitUp("web")
}

// answered is an answer of the list of records.
type answered struct {
	Count      uint64          `json:"count"`
	Weight     uint64          `json:"weight"`
	Unrecorded uint64          `json:"unrecorded"`
	Results    []client.Object `json:"results"`
}

func (s *stage) records(parameters string) (page answered, err error) {
	err = s.controller.Session.Get(s.ctx, "analytics/logs?virtualservice=web&"+parameters, &page)
	return page, err
}

// weighed is how many requests and connections the records stand for, with those that none stands for yet.
func (s *stage) weighed() (uint64, error) {
	requests, err := s.records("type=1&page_size=1")
	if err != nil {
		return 0, err
	}
	connections, err := s.records("type=0&page_size=1")
	return requests.Weight + connections.Weight + requests.Unrecorded, err
}

// recordedOnce waits until the records stand for each request, and checks that none is there twice.
func (s *stage) recordedOnce(requests uint64) {
	s.Helper()
	s.eventually("the records stand for all requests", func() error {
		weighed, err := s.weighed()
		if err == nil && weighed != requests {
			err = fmt.Errorf("they stand for %d of %d", weighed, requests)
		}
		return err
	})
	var twice answered
	s.must(s.controller.Session.Get(s.ctx,
		"analytics/logs?type=1&groupby=request_id&cols=sum(weight)&orderby=-count&page_size=1", &twice))
	if len(twice.Results) > 0 && twice.Results[0]["count"].(float64) != 1 {
		s.Errorf("a record is there more than once: %v", twice.Results[0])
	}
}

func TestEachRequestIsInARecordOnceThoughTheStoreAndTheControllerAreKilled(t *testing.T) {
	for _, throttle := range []int{10, 0} {
		t.Run(fmt.Sprint("throttle ", throttle), func(t *testing.T) {
			s := bareStage(t)
			s.recordAll(nginx(t, s.lab, 1)[0], throttle, nil)
			load, err := s.lab.BeginLoad(s.ctx, append([]string{"--url", plainURL("/"),
				"--connections", "16", "--drain",
				"--requests-per-connection", "100", "--count", strconv.Itoa(*recorded)}, untilTold...)...)
			s.must(err)
			for n := range 4 {
				s.eventually("requests are answered", func() error {
					if now := s.requests("web"); now < float64(*recorded)*float64(n+1)/6 {
						return fmt.Errorf("%v", now)
					}
					return nil
				})
				if n == 3 {
					s.must(s.controller.Kill())
					s.must(s.controller.Restart(s.ctx))
				} else if pid := s.store(); pid > 0 {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			s.eventually("the load is over", func() error {
				if now := s.requests("web"); now < float64(*recorded) {
					return fmt.Errorf("%v", now)
				}
				return nil
			})
			report, err := load.End()
			s.must(err)
			if report.ErrorTotal > 0 {
				t.Errorf("the load failed: %v", report.Errors)
			}
			s.recordedOnce(uint64(report.Requests))
		})
	}
}

// command is the command-line tool, logged in.
func (s *stage) command(args ...string) *exec.Cmd {
	s.Helper()
	return s.commandLine()(args...)
}

// commandLine logs the command-line tool in.
func (s *stage) commandLine() (run func(args ...string) *exec.Cmd) {
	s.Helper()
	home := filepath.Join(s.dir, "home")
	s.must(os.MkdirAll(home, 0o700))
	run = func(args ...string) *exec.Cmd {
		command := exec.CommandContext(s.ctx, weir(s.T), args...)
		command.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
		command.Stderr = s.Output()
		return command
	}
	s.must(run("login", s.controller.URL, "--trust-on-first-use", "--password-file", s.controller.PasswordFile()).Run())
	return run
}

func TestRecordsComeLaterIfTheControllerWasAway(t *testing.T) {
	s := bareStage(t)
	s.recordAll(nginx(t, s.lab, 1)[0], 0, nil)
	s.must(s.controller.Kill())
	const requests = 50
	for range requests {
		s.curl(plainURL("/away"))
	}
	s.eventually("records are on the disk of the engine", func() error {
		files, err := filepath.Glob(filepath.Join(s.dir, "*", "records", "*.batches"))
		if err == nil && len(files) == 0 {
			err = errors.New("there is no file")
		}
		return err
	})
	s.must(s.engine.Kill())
	s.must(s.controller.Restart(s.ctx))
	s.must(s.engine.Restart())
	s.recordedOnce(requests)
}

func TestRecordsAreFollowedInTheirOrder(t *testing.T) {
	s := bareStage(t)
	s.recordAll(nginx(t, s.lab, 1)[0], 0, nil)
	following := s.command("logs", "web", "--follow", "--output", "json")
	out, err := following.StdoutPipe()
	s.must(err)
	s.must(following.Start())
	lines := bufio.NewScanner(out)
	for n := range 5 {
		s.curl(plainURL(fmt.Sprint("/", n)))
		happened := time.Now()
		watchdog := time.AfterFunc(eventTimeout, func() { _ = following.Process.Kill() })
		var record client.Object
		if !lines.Scan() {
			t.Fatalf("no line came within %v: %v", eventTimeout, lines.Err())
		}
		watchdog.Stop()
		t.Logf("record %d came after %v", n, time.Since(happened)) // weir bench telemetry has the bar
		s.must(json.Unmarshal(lines.Bytes(), &record))
		if record["uri_path"] != fmt.Sprint("/", n) {
			t.Errorf("record %d is %v", n, record)
		}
	}
}
