package rest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/web"
)

func pagesOf(t *testing.T) *client {
	t.Helper()
	h := newHouse(t)
	site, err := web.Open()
	h.must(err)
	h.api.pages = site
	return h.login()
}

func TestPagesComeWithAPolicyThatForbidsWhatIsNotTheirs(t *testing.T) {
	c := pagesOf(t)
	for _, target := range []string{"/", "/services", "/services/virtualservice-1", "/no/such/page"} {
		answer := c.do("GET", target, nil)
		header := answer.Header()
		if answer.Code != http.StatusOK || header.Get("Content-Type") != "text/html; charset=utf-8" ||
			header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d, %v", target, answer.Code, header)
		}
		policy := header.Get("Content-Security-Policy")
		for _, rule := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';",
			"frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"} {
			if !strings.Contains(policy, rule) {
				t.Errorf("%s: the policy %q does not have %s", target, policy, rule)
			}
		}
		if strings.Contains(policy, "unsafe") || header.Get("X-Frame-Options") != "DENY" ||
			header.Get("Cross-Origin-Opener-Policy") != "same-origin" {
			t.Errorf("%s: %v", target, header)
		}
	}
}

func TestEveryAnswerHasTheHeadersOfABrowserThatTrustsNothing(t *testing.T) {
	c := pagesOf(t)
	for _, target := range []string{"/", "/api/pool", "/api/none", "/healthz"} {
		header := c.do("GET", target, nil).Header()
		if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") != "same-origin" ||
			header.Get("Cross-Origin-Resource-Policy") != "same-origin" ||
			!strings.HasPrefix(header.Get("Strict-Transport-Security"), "max-age=") {
			t.Errorf("%s: %v", target, header)
		}
	}
}

func TestPagesAnswerNothingThatBelongsToTheAPIOrIsAFile(t *testing.T) {
	c := pagesOf(t)
	for _, target := range []string{"/api", "/api/", "/api/abcd", "/api/pool/x/y", "/assets/gone.js", "/robots.txt",
		"/index.php", "/services/x.map"} {
		c.refused(http.StatusNotFound, "nothing at", "GET", target, nil)
	}
	c.refused(http.StatusMethodNotAllowed, "not allowed", "GET", "/login", nil)
	c.refused(http.StatusMethodNotAllowed, "not allowed", "POST", "/services", nil)
}

func TestPagesAreCompressedIfTheClientTakesIt(t *testing.T) {
	c := pagesOf(t)
	if !c.h.api.pages.IsBuilt() {
		t.Skip("the pages are not built: run `make build`")
	}
	plain := c.do("GET", "/", nil).Body.String()
	c.header.Set("Accept-Encoding", "br;q=0, gzip")
	answer := c.do("GET", "/", nil)
	if coding := answer.Header().Get("Content-Encoding"); coding != "gzip" {
		t.Fatalf("the coding is %q", coding)
	}
	reader, err := gzip.NewReader(answer.Body)
	c.h.must(err)
	var unpacked bytes.Buffer
	_, err = io.Copy(&unpacked, reader)
	c.h.must(err)
	if unpacked.String() != plain {
		t.Errorf("gzip has %d bytes, plain %d", unpacked.Len(), len(plain))
	}
	script := plain[strings.Index(plain, "/assets/"):]
	script = script[:strings.IndexByte(script, '"')]
	if cache := c.do("GET", script, nil).Header().Get("Cache-Control"); !strings.Contains(cache, "immutable") {
		t.Errorf("%s: %q", script, cache)
	}
}

func TestAPageThatReadsByItselfDoesNotKeepTheSessionAlive(t *testing.T) {
	c := pagesOf(t)
	c.header.Set(backgroundHeader, "true")
	for range 3 {
		c.h.clock.at = c.h.clock.at.Add(admit.IdleTimeout/3 + time.Second/2)
		if answer := c.do("GET", "/api/pool", nil); answer.Code != http.StatusOK {
			if answer.Code != statusSessionExpired {
				t.Errorf("the answer is %d", answer.Code)
			}
			return
		}
	}
	t.Error("the session is open although nobody used it for longer than it may be idle")
}
