package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// TestDemoKeepsItsLoadAndLeadsToTheServerThatItMadeSlow reads what the overview of the web pages reads.
func TestDemoKeepsItsLoadAndLeadsToTheServerThatItMadeSlow(t *testing.T) {
	command := exec.CommandContext(t.Context(), weir(t), "demo", "--loopback")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	defer func() {
		_ = command.Process.Signal(os.Interrupt)
		watchdog := time.AfterFunc(eventTimeout, func() {
			t.Errorf("the demo goes on %v after Ctrl-C", eventTimeout)
			_ = command.Process.Kill()
		})
		defer watchdog.Stop()
		if said, _ := io.ReadAll(lines); strings.Contains(string(said), "left behind") {
			t.Errorf("after Ctrl-C: %s", said)
		}
		_ = command.Wait()
	}()
	url, password := demoPage(t, lines)
	credentials := client.Credentials{URL: url, Username: "admin", Password: password}
	_, err = client.Login(t.Context(), credentials)
	var unknown *client.UnknownCertificate
	if !errors.As(err, &unknown) {
		t.Fatalf("the first login: %v", err)
	}
	credentials.Fingerprint = unknown.Fingerprint
	session, err := client.Login(t.Context(), credentials)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
	defer cancel()
	found, last := errors.New("found"), ""
	err = session.Live(ctx, []string{"overview"}, "", func(event client.LiveEvent) error {
		var told struct {
			Overview struct {
				VirtualServices []struct {
					Attention string
					Slow      []struct {
						ID     string
						Mean   float64 `json:"app_response_mean_ms"`
						Others float64 `json:"others_mean_ms"`
					} `json:"slow_servers"`
				} `json:"virtual_services"`
			}
		}
		if err := json.Unmarshal(event.Data, &told); err != nil {
			return err
		}
		services := told.Overview.VirtualServices
		if len(services) == 0 || len(services[0].Slow) == 0 {
			return nil
		}
		service := services[0]
		if slow := service.Slow[0]; len(service.Slow) != 1 || service.Attention != "slow" ||
			!strings.HasPrefix(slow.ID, "127.0.0.1:") || slow.Mean < 300 || slow.Others > 100 {
			last = fmt.Sprintf("%+v", service) // on a busy machine, all servers are slow for a moment
			return nil
		}
		return found
	})
	if !errors.Is(err, found) {
		t.Errorf("the overview names no slow server within %v: %v, last %s", eventTimeout, err, last)
	}
}

// demoPage reads what the demo prints until it ends with the address of the page.
func demoPage(t *testing.T, lines *bufio.Reader) (url, password string) {
	t.Helper()
	var all strings.Builder
	for {
		line, err := lines.ReadString('\n')
		all.WriteString(line)
		if err != nil {
			t.Fatalf("the demo ended without a page: %v\n%s", err, &all)
		}
		if after, isThere := strings.CutPrefix(strings.TrimSpace(line), "with the password"); isThere {
			password = strings.Fields(after)[0]
		}
		if at := strings.TrimSpace(line); strings.HasPrefix(at, "https://127.0.0.1:") {
			return strings.TrimSuffix(at, "/"), password
		}
	}
}
