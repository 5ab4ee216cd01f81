package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-lb/weir/client"
)

// logged are the events, or the audit entries, of a query: each as text, and how often.
func (s *stage) logged(path string) (entries map[string]int, err error) {
	var page struct {
		Results []client.Object `json:"results"`
		Source  string          `json:"source"`
	}
	if err := s.controller.Session.Get(s.ctx, path, &page); err != nil {
		return nil, err
	}
	if page.Source != "store" {
		return nil, fmt.Errorf("%s comes from %s", path, page.Source)
	}
	entries = map[string]int{}
	for _, entry := range page.Results {
		entries[fmt.Sprint(entry)]++
	}
	return entries, nil
}

// store is the process of the record store; 0: none runs.
func (s *stage) store() int {
	s.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	s.must(err)
	for _, file := range files {
		command, _ := os.ReadFile(file) // it may have ended
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if words := strings.Split(string(command), "\x00"); len(words) > 3 && words[1] == "records" &&
			strings.HasPrefix(words[3], s.dir) && pid > 0 {
			return pid
		}
	}
	return 0
}

const (
	eventsPath = "analytics/logs?type=2&page_size=1000"
	poolsPath  = "audit?filter=eq(kind,pool)"
)

func TestEventsAndAuditSurviveTheController(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "first", "servers": serverList([]string{"127.0.0.1:9"})})
	s.change("pool", "first", func(pool client.Object) { pool["name"] = "second" })

	events := s.untilLogged(eventsPath, "SE_UP")
	audit := s.untilLogged(poolsPath, "action:create", "action:change", "new:map[name:second]", "old:map[name:first]",
		"address:127.0.0.1", "user:admin")

	s.must(s.controller.Kill())
	s.must(s.controller.Restart(s.ctx))
	s.kept(events, eventsPath)
	s.kept(audit, poolsPath)

	// Without the record store, logs are away and nothing else.
	s.eventually("logs are away", func() error {
		if pid := s.store(); pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		_, err := s.logged(eventsPath)
		if !client.IsStatus(err, http.StatusServiceUnavailable) {
			return fmt.Errorf("got %w", err)
		}
		contains(t, err.Error(), "the record store is away")
		return nil
	})
	s.create("pool", client.Object{"name": "third"})
	s.must(s.controller.Session.Get(s.ctx, "serviceengine", nil))
	s.must(s.controller.Session.Get(s.ctx, eventsPath+"&source=memory", nil))
	s.eventually("logs are back", func() error {
		_, err := s.logged(eventsPath)
		return err
	})
	s.kept(events, eventsPath)
	s.kept(audit, poolsPath)
	s.untilLogged(poolsPath, "third")
	s.untilLogged(eventsPath+"&event_id=RECORD_STORE_DOWN", "RECORD_STORE_DOWN")
}

// untilLogged waits until a query lists all that is wanted.
func (s *stage) untilLogged(path string, wanted ...string) (entries map[string]int) {
	s.Helper()
	s.eventually(fmt.Sprintf("%s lists %q", path, wanted), func() (err error) {
		entries, err = s.logged(path)
		for _, want := range wanted {
			if err == nil && !strings.Contains(fmt.Sprint(entries), want) {
				err = fmt.Errorf("%q is not in %v", want, entries)
			}
		}
		return err
	})
	return entries
}

// kept checks that all these entries are still listed, once.
func (s *stage) kept(entries map[string]int, path string) {
	s.Helper()
	now := s.untilLogged(path)
	for entry := range entries {
		if now[entry] != 1 {
			s.Errorf("%s lists %d times: %s", path, now[entry], entry)
		}
	}
}
