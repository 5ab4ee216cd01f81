package e2e

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/weir-lb/weir/client"
)

// library is a server with pages of /bytes/<n>, and one that it sends in two parts, the second one when more is closed.
func library(t *testing.T, more <-chan struct{}) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("X-Asked", r.Header.Get("Accept-Encoding"))
		if r.URL.Path == "/parts" {
			_, _ = io.WriteString(w, pageOf(1000))
			w.(http.Flusher).Flush()
			<-more
			_, _ = io.WriteString(w, "the end")
			return
		}
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/bytes/"))
		w.Header().Set("Content-Length", strconv.Itoa(n))
		_, _ = io.WriteString(w, pageOf(n))
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func pageOf(n int) string {
	var page strings.Builder
	for i := 0; page.Len() < n; i++ {
		fmt.Fprintf(&page, "<p>line %d of a page</p>\n", i)
	}
	return page.String()[:n]
}

// answer is what curl prints with -i, without the status that -w adds.
func readAnswer(t *testing.T, text string) (head, body string) {
	t.Helper()
	text = text[:strings.LastIndexByte(text, ' ')]
	head, body, found := strings.Cut(text, "\r\n\r\n")
	if !found {
		t.Fatalf("no head in %q", text)
	}
	return strings.ToLower(head), body
}

func decoded(t *testing.T, coding, body string) string {
	t.Helper()
	var reader io.Reader = strings.NewReader(body)
	var err error
	switch coding {
	case "gzip":
		reader, err = gzip.NewReader(reader)
	case "zstd":
		reader, err = zstd.NewReader(reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatalf("%s: %v after %d bytes", coding, err, len(content))
	}
	return string(content)
}

// recordRequests has each request to the virtual service "web" leave a record.
func (s *stage) recordRequests() {
	s.Helper()
	s.change("virtualservice", "web", func(o client.Object) {
		o["analytics_policy"] = client.Object{
			"full_client_logs": client.Object{"enabled": true, "duration": 0, "throttle": 0}}
	})
}

// follow does what an example of docs/content.md says, whose profile stands in a file of this name.
func (s *stage) follow(at int, file string) {
	s.Helper()
	var objects map[string]json.RawMessage
	s.must(json.Unmarshal([]byte(blocks(s.T, "content.md", "json")[at]), &objects))
	s.must(os.WriteFile(filepath.Join(s.dir, file), objects["applicationprofile"], 0o600))
	run := s.commands()
	for line := range strings.Lines(blocks(s.T, "content.md", "")[at]) {
		words := strings.Fields(strings.ReplaceAll(line, "vs set shop", "vs set web"))
		for i, word := range words {
			if strings.HasSuffix(word, ".json") {
				words[i] = filepath.Join(s.dir, word)
			}
		}
		if out := run(words[1:]...); strings.Contains(strings.ToLower(out), "warning") {
			s.Errorf("%s says %s", line, out)
		}
	}
}

// The example of docs/content.md, as it stands there.
func TestDocumentedCompressionShortensResponsesForClientsThatTakeIt(t *testing.T) {
	more := make(chan struct{})
	s := policyStage(t, client.Object{}, func(s *stage) {
		s.change("pool", "web", func(o client.Object) { o["servers"] = serverList([]string{library(t, more)}) })
	})
	s.recordRequests()
	s.follow(0, "compressing.json")
	s.eventually("responses are compressed", func() error {
		head, _ := readAnswer(t, s.ask(false, "shop.test", "/bytes/5000", "-i", "-H", "Accept-Encoding: gzip"))
		if !strings.Contains(head, "content-encoding: gzip") {
			return fmt.Errorf("got %s", head)
		}
		return nil
	})
	for _, n := range []int{128, 5000, 3_000_000} {
		path := fmt.Sprint("/bytes/", n)
		for _, coding := range []string{"gzip", "zstd"} {
			s.everyWay(path, []string{"-i", "-H", "Accept-Encoding: " + coding}, func(way, text string) {
				head, body := readAnswer(t, text)
				contains(t, head, "content-encoding: "+coding, "vary: accept-encoding", `etag: w/"v1"`)
				if strings.Contains(head, "content-length") || strings.Contains(head, "x-asked: "+coding) {
					t.Errorf("%s: got %s", way, head)
				}
				if decoded(t, coding, body) != pageOf(n) || n > 1000 && len(body) > n/3 {
					t.Errorf("%s: %s gives other content, or too much: %d bytes", way, coding, len(body))
				}
			})
		}
	}
	s.everyWay("/bytes/127", []string{"-i", "-H", "Accept-Encoding: gzip"}, func(way, text string) {
		if head, body := readAnswer(t, text); strings.Contains(head, "content-encoding") || body != pageOf(127) {
			t.Errorf("%s: a short one: %s", way, head)
		}
	})
	s.everyWay("/bytes/5000", []string{"-i"}, func(way, text string) {
		head, body := readAnswer(t, text)
		contains(t, head, "vary: accept-encoding", `etag: "v1"`, "content-length: 5000")
		if body != pageOf(5000) {
			t.Errorf("%s: other content", way)
		}
	})
	head, body := readAnswer(t, s.ask(false, "shop.test", "/bytes/5000", "-i", "--http1.0", "-H",
		"Accept-Encoding: gzip"))
	if strings.Contains(head, "transfer-encoding") || decoded(t, "gzip", body) != pageOf(5000) {
		t.Errorf("HTTP/1.0: got %s", head)
	}
	s.partsArriveOneByOne(more)
	s.eventually("records say so", func() error {
		page, err := s.records("type=1&filter=eq(compression,COMPRESSED)")
		if err == nil && page.Count == 0 {
			err = fmt.Errorf("none of the records says so")
		}
		return err
	})
}

// partsArriveOneByOne checks that what the server has sent arrives while it sends nothing.
func (s *stage) partsArriveOneByOne(more chan struct{}) {
	s.Helper()
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, plainURL("/parts"), http.NoBody)
	s.must(err)
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := http.DefaultTransport.RoundTrip(request)
	s.must(err)
	defer response.Body.Close()
	unzipped, err := gzip.NewReader(response.Body)
	s.must(err)
	first := make([]byte, 1000)
	if _, err := io.ReadFull(unzipped, first); err != nil || string(first) != pageOf(1000) {
		s.Errorf("the first part: %v", err)
	}
	close(more)
	if rest, err := io.ReadAll(unzipped); err != nil || string(rest) != "the end" {
		s.Errorf("the second part is %q: %v", rest, err)
	}
}

// The other example of that page.
func TestDocumentedCacheAnswersWithoutAServer(t *testing.T) {
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.Header().Set("Cache-Control", "max-age=600")
		w.Header().Set("ETag", `"v1"`)
		_, _ = io.WriteString(w, pageOf(40_000))
	}))
	t.Cleanup(server.Close)
	s := policyStage(t, client.Object{}, func(s *stage) {
		s.change("pool", "web", func(o client.Object) {
			o["servers"] = serverList([]string{server.Listener.Addr().String()})
		})
	})
	s.recordRequests()
	s.follow(1, "caching.json")
	s.eventually("responses are stored in each worker", func() error {
		for range 20 {
			if head, _ := readAnswer(t, s.ask(false, "shop.test", "/a", "-i")); !strings.Contains(
				head, "x-cache: hit") {
				return fmt.Errorf("got %s", head)
			}
		}
		return nil
	})
	for len(asked) > 0 {
		<-asked
	}
	head, body := readAnswer(t, s.ask(false, "shop.test", "/a", "-i"))
	contains(t, head, "x-cache: hit", "age: ", "content-length: ", `etag: "v1"`)
	if body != pageOf(40_000) || len(asked) > 0 {
		t.Errorf("got %d bytes, and the server was asked %d times", len(body), len(asked))
	}
	head, _ = readAnswer(t, s.ask(false, "shop.test", "/a", "-i", "-H", `If-None-Match: "v1"`))
	contains(t, head, "304 not modified")
	for range 3 {
		head, _ := readAnswer(t, s.ask(false, "shop.test", "/account/a", "-i"))
		if strings.Contains(head, "x-cache") {
			t.Errorf("what is not to be stored answers: %s", head)
		}
	}
	s.eventually("hits are counted", func() error {
		counters := s.counters("web")
		lookups, _ := counters["cache_lookups"].(float64)
		if hits, _ := counters["cache_hits"].(float64); hits == 0 || hits >= lookups {
			return fmt.Errorf("%v of %v lookups are hits", hits, lookups)
		}
		return nil
	})
	s.eventually("records say so", func() error {
		page, err := s.records("type=1&filter=eq(cache_hit,true)")
		if err == nil && page.Count == 0 {
			err = fmt.Errorf("none of the records says so")
		}
		return err
	})
	for len(asked) > 0 {
		<-asked
	}
	vs, err := s.controller.Session.ByName(s.ctx, "virtualservice", "web")
	s.must(err)
	s.must(s.controller.Session.Post(s.ctx, fmt.Sprintf("virtualservice/%v/purge", vs["uuid"]),
		client.Object{"uris": []any{"shop.test/a"}}, &client.Object{}))
	s.eventually("the purged response answers no more", func() error {
		s.ask(false, "shop.test", "/a", "-i")
		select {
		case path := <-asked:
			if path != "/a" {
				t.Errorf("the server was asked for %s", path)
			}
			return nil
		default:
			return fmt.Errorf("no server is asked")
		}
	})
}

// Rewriting as docs/content.md has it, of texts that stand in the pages of the library.
func TestTextsInResponsesAreReplaced(t *testing.T) {
	more := make(chan struct{})
	s := policyStage(t, client.Object{}, func(s *stage) {
		s.change("pool", "web", func(o client.Object) { o["servers"] = serverList([]string{library(t, more)}) })
	})
	s.change("virtualservice", "web", func(o client.Object) {
		o["content_rewrite"] = client.Object{"rsp_rewrite_rules": []any{client.Object{"enable": true, "pairs": []any{
			client.Object{
				"search_string": client.Object{"type": "SEARCH_REGEX", "val": `line ([0-9]+)`},
				"replacement_string": client.Object{
					"type": "COMBINATION_STRING", "val": "row number $1 for $http_x_who"}},
			client.Object{"search_string": client.Object{"val": " of a page"}},
		}}}}
	})
	numbered := regexp.MustCompile(`line ([0-9]+)`)
	want := func(n int) string {
		return strings.ReplaceAll(numbered.ReplaceAllString(pageOf(n), "row number ${1} for me"), " of a page", "")
	}
	s.eventually("responses are rewritten", func() error {
		answer := s.ask(false, "shop.test", "/bytes/5000", "-i", "-H", "X-Who: me")
		if _, body := readAnswer(t, answer); body != want(5000) {
			return fmt.Errorf("got %s", body)
		}
		return nil
	})
	for _, n := range []int{128, 5000, 3_000_000} {
		args := []string{"-i", "-H", "Accept-Encoding: gzip", "-H", "X-Who: me"}
		s.everyWay(fmt.Sprint("/bytes/", n), args, func(way, text string) {
			head, body := readAnswer(t, text)
			contains(t, head, `etag: w/"v1"`)
			if strings.Contains(head, "content-length") || strings.Contains(head, "x-asked: gzip") {
				t.Errorf("%s: got %s", way, head)
			}
			if body != want(n) {
				t.Errorf("%s: got other content: %d bytes of %d", way, len(body), len(want(n)))
			}
		})
	}
}
