package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// outwardFile has a stream of JSON lines to an address, and numbers go to a URL.
func (s *stage) outwardFile(stream, numbers string) string {
	s.Helper()
	file := filepath.Join(s.dir, "outward.toml")
	text := fmt.Sprintf("[remote_write]\nurl = %q\n[[stream]]\nname = \"siem\"\nurl = \"json+tcp://%s\"\n",
		numbers, stream)
	s.must(os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestRowsAndNumbersReachTheReceiversOfTheFile(t *testing.T) {
	s := bareStage(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	defer listener.Close()
	lines := make(chan string, 1000)
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		for from := bufio.NewScanner(connection); from.Scan(); {
			lines <- from.Text()
		}
	}()
	written := make(chan string, 100)
	numbers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", "1")
		select {
		case written <- r.URL.Path + " " + r.Header.Get("Content-Type"):
		default:
		}
	}))
	defer numbers.Close()
	file := s.outwardFile(listener.Addr().String(), numbers.URL+"/api/v1/push")
	s.must(s.startController("--outward", file, "--allow-local-receivers"))
	s.create("pool", client.Object{"name": "told-outside"})
	deadline := time.After(eventTimeout)
	for told := ""; !strings.Contains(told, `"type":"audit"`) || !strings.Contains(told, "told-outside"); {
		select {
		case told = <-lines:
		case <-deadline:
			t.Fatal("the stream has no audit entry of the pool")
		}
	}
	select {
	case request := <-written:
		if !strings.HasPrefix(request, "/api/v1/push application/x-protobuf") {
			t.Errorf("got %s", request)
		}
	case <-time.After(eventTimeout):
		t.Errorf("no numbers came within %v", eventTimeout)
	}
}

func TestControllerSendsNothingToItsOwnMachineUnlessItIsAllowed(t *testing.T) {
	s := bareStage(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	defer listener.Close()
	reached := make(chan struct{}, 1)
	go func() {
		if _, err := listener.Accept(); err == nil {
			reached <- struct{}{}
		}
	}()
	address := listener.Addr().String()
	s.must(s.startController("--outward", s.outwardFile(address, "http://"+address)))
	s.eventually("an event says why nothing is sent", func() error {
		var page struct{ Results []client.Object }
		if err := s.controller.Session.Get(s.ctx, "analytics/logs?type=2&page_size=100", &page); err != nil {
			return err
		}
		for _, event := range page.Results {
			if event["event_id"] == "STREAM_DOWN" &&
				strings.Contains(fmt.Sprint(event["event_description"]), "is an address of this machine") {
				return nil
			}
		}
		return fmt.Errorf("there are %d events", len(page.Results))
	})
	select {
	case <-reached:
		t.Error("the controller has connected to its own machine")
	default:
	}
}
