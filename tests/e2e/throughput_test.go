package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// A download and an upload of 2 MB at 16 Mbit/s, over each version of HTTP, plain and with TLS.
func TestThroughputIsLimited(t *testing.T) {
	const megabytes = 2
	body := strings.Repeat("throughput", megabytes*100_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			got, err := io.ReadAll(r.Body)
			fmt.Fprint(w, string(got) == body, err)
			return
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	s := policyStage(t, client.Object{}, func(s *stage) {
		s.change("pool", "web", func(o client.Object) {
			o["servers"] = serverList([]string{server.Listener.Addr().String()})
		})
	})
	file := filepath.Join(s.dir, "body")
	s.must(os.WriteFile(file, []byte(body), 0o600))
	run := s.commands()
	set := func(mbps int) {
		before := appliedRevision(s.runtime("virtualservice", "web"))
		page := blocks(t, "limits.md", "")
		at := slices.IndexFunc(page, func(block string) bool { return strings.Contains(block, "max_throughput") })
		command := strings.NewReplacer(" shop ", " web ", "=200", fmt.Sprint("=", mbps)).Replace(page[at])
		if out := run(strings.Fields(command)[1:]...); strings.Contains(strings.ToLower(out), "warning") {
			t.Errorf("%s says %s", command, out)
		}
		s.eventually("the limit is applied", func() error {
			if got := appliedRevision(s.runtime("virtualservice", "web")); got <= before {
				return fmt.Errorf("revision %v", got)
			}
			return nil
		})
	}
	// Bytes take half a second for each megabyte, but for the burst.
	const least, most = 800 * time.Millisecond, 4 * time.Second
	move := func(secure bool, flags ...string) time.Duration {
		s.Helper()
		upload := slices.Contains(flags, "--data-binary")
		begun := time.Now()
		answer := s.ask(secure, "shop.test", "/", flags...)
		want := body + " 200"
		if upload {
			want = "true <nil> 200"
		}
		if answer != want {
			t.Errorf("%v: got %d bytes", flags, len(answer))
		}
		return time.Since(begun)
	}
	each := func(see func(what string, took time.Duration)) {
		for _, secure := range []bool{false, true} {
			for _, version := range []string{"--http1.1", "--http2"} {
				for _, upload := range [][]string{nil, {"--data-binary", "@" + file, "-H", "Expect:"}} {
					flags := append([]string{version}, upload...)
					see(fmt.Sprint(secure, flags), move(secure, flags...))
				}
			}
		}
	}
	set(16)
	each(func(what string, took time.Duration) {
		if took < least || took > most {
			t.Errorf("%s: 2 MB at 16 Mbit/s take %v", what, took)
		}
	})
	set(0)
	each(func(what string, took time.Duration) {
		if took > least {
			t.Errorf("%s: without a limit, 2 MB take %v", what, took)
		}
	})
}
