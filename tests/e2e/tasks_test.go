package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weir-lb/weir/client"
)

// asksForTasks prints what the server says about its tasks.
const asksForTasks = `#!/bin/bash
exec 3<>/dev/tcp/$1/$2 || exit
printf 'GET /tasks HTTP/1.0\r\n\r\n' >&3
cat <&3
`

// worker is a server that says how many tasks it has, and counts the other requests.
type worker struct {
	id    string
	says  atomic.Value // string
	asked atomic.Int64
}

func newWorker(t *testing.T, says string) *worker {
	t.Helper()
	w := &worker{}
	w.says.Store(says)
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/tasks" {
			fmt.Fprint(to, w.says.Load())
			return
		}
		w.asked.Add(1)
	}))
	t.Cleanup(server.Close)
	w.id = strings.TrimPrefix(server.URL, "http://")
	return w
}

const requestsShared = 20

// askEach asks the virtual service, and returns how many requests each server gets. Each request has a connection of
// its own, so that both workers of the engine get some.
func askEach(of, other *worker) (got, more int64, err error) {
	before, beside := of.asked.Load(), other.asked.Load()
	for range requestsShared {
		if status, err := getOnce(plainURL("/")); err != nil || status != http.StatusOK {
			return 0, 0, fmt.Errorf("status %d, %v", status, err)
		}
	}
	return of.asked.Load() - before, other.asked.Load() - beside, nil
}

func TestServerWithFewestTasksIsNext(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may isolate scripts")
	}
	first, second := newWorker(t, "900000"), newWorker(t, "0")
	s := setUp(t, first.id, second.id)
	s.createMonitor("tasks", "HEALTH_MONITOR_EXTERNAL", client.Object{
		"receive_timeout": 2, "send_interval": 2, "failed_checks": 10,
		"external_monitor": map[string]any{"command_code": asksForTasks}})
	s.changeApplied("web", "pool", "web", func(o client.Object) {
		o["lb_algorithm"], o["fewest_tasks_feedback_delay"] = "LB_ALGORITHM_FEWEST_TASKS", 1
		o["health_monitor_refs"] = []any{client.Ref("healthmonitor", "System-TCP"),
			client.Ref("healthmonitor", "tasks")}
	})
	all := func(of, other *worker) error {
		got, more, err := askEach(of, other)
		if err == nil && (got != requestsShared || more != 0) {
			err = fmt.Errorf("%d and %d of %d requests", got, more, requestsShared)
		}
		return err
	}
	s.eventually("the second server gets all", func() error { return all(second, first) })
	first.says.Store("fine\n17")
	second.says.Store("900000")
	s.eventually("the first server gets all", func() error { return all(first, second) })

	first.says.Store("many")
	s.eventually("the user is told why the tasks are not known", func() error {
		said := fmt.Sprint(s.runtime("pool", "web")["servers"])
		want := `the last line of the script's output is "many", and not a whole number from 0 to 1000000`
		if !strings.Contains(said, want) || strings.Contains(said, "OPER_DOWN") {
			return fmt.Errorf("it says %s", said)
		}
		return nil
	})
	s.eventually("both get requests: the first counts as the second does", func() error {
		got, more, err := askEach(first, second)
		if err == nil && (got == 0 || more == 0) {
			err = fmt.Errorf("%d and %d of %d requests", got, more, requestsShared)
		}
		return err
	})
	first.says.Store("3")
	s.eventually("the first server gets all again", func() error { return all(first, second) })
}
