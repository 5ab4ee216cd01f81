package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// serving is the API on a real port.
type serving struct {
	*house
	address string
	stop    context.CancelFunc
	ended   chan error
}

func (h *house) serve() *serving {
	h.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	h.must(err)
	ctx, stop := context.WithCancel(context.Background())
	s := &serving{house: h, address: listener.Addr().String(), stop: stop, ended: make(chan error, 1)}
	go func() { s.ended <- h.api.Serve(ctx, listener) }()
	h.t.Cleanup(stop)
	return s
}

// shown returns the certificate that a client gets.
func (s *serving) shown() *x509.Certificate {
	s.t.Helper()
	certificate, err := s.shownTo(&tls.Config{})
	s.must(err)
	return certificate
}

// shownTo returns the certificate that this client gets. The client does not verify it.
func (s *serving) shownTo(client *tls.Config) (*x509.Certificate, error) {
	client.InsecureSkipVerify = true
	connection, err := tls.Dial("tcp", s.address, client)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0], nil
}

// onlyRSA is the configuration of a client that accepts only RSA keys.
func onlyRSA() *tls.Config {
	return &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}}
}

func TestPortalShowsTheCertificateOfTheSystemConfiguration(t *testing.T) {
	s := newHouse(t).serve()
	if name := s.shown().Subject.CommonName; !strings.HasPrefix(name, "System Default Portal") {
		t.Errorf("at first %s", name)
	}
	c := s.login()
	own := c.want(http.StatusCreated, "POST", "/api/sslkeyandcertificate",
		schema.Object{"name": "own", "key_params": schema.Object{
			"algorithm": "SSL_KEY_ALGORITHM_EC"}, "certificate": schema.Object{"self_signed": true,
			"subject": schema.Object{"common_name": "weir.example"}}})
	c.want(http.StatusOK, "PATCH", "/api/systemconfiguration", schema.Object{"replace": schema.Object{
		"portal_configuration": schema.Object{"sslkeyandcertificate_refs": []any{own["uuid"]}}}})
	if name := s.shown().Subject.CommonName; name != "weir.example" {
		t.Errorf("after the change %s", name)
	}
	c.refused(http.StatusPreconditionFailed, "SystemConfiguration", "DELETE", path(own), nil)
}

func TestPortalShowsTheFirstConfiguredCertificateThatTheClientTakes(t *testing.T) {
	s := newHouse(t).serve()
	c := s.login()
	own := map[string]any{}
	for _, algorithm := range []string{"RSA", "EC"} {
		own[algorithm] = c.want(http.StatusCreated, "POST", "/api/sslkeyandcertificate",
			schema.Object{"name": algorithm, "key_params": schema.Object{
				"algorithm": "SSL_KEY_ALGORITHM_" + algorithm}, "certificate": schema.Object{"self_signed": true,
				"subject": schema.Object{"common_name": "weir.example"}}})["uuid"]
	}
	anything, named := &tls.Config{}, &tls.Config{ServerName: "weir.example.net"}
	for _, wants := range []struct {
		configured []any
		client     *tls.Config
		shown      x509.PublicKeyAlgorithm
	}{
		{[]any{own["EC"], own["RSA"]}, anything, x509.ECDSA},
		{[]any{own["EC"], own["RSA"]}, named, x509.ECDSA},
		{[]any{own["EC"], own["RSA"]}, onlyRSA(), x509.RSA},
		{[]any{own["RSA"], own["EC"]}, anything, x509.RSA},
		{[]any{own["RSA"], own["EC"]}, named, x509.RSA},
	} {
		c.want(http.StatusOK, "PATCH", "/api/systemconfiguration", schema.Object{"replace": schema.Object{
			"portal_configuration": schema.Object{"sslkeyandcertificate_refs": wants.configured}}})
		shown, err := s.shownTo(wants.client)
		if err != nil {
			t.Errorf("with %v: %v", wants.configured, err)
		} else if shown.PublicKeyAlgorithm != wants.shown {
			t.Errorf("with %v, shown is one of %v, not of %v", wants.configured, shown.PublicKeyAlgorithm, wants.shown)
		}
	}
}

// The first start of a controller writes both certificates of the portal in one commit.
func TestPortalTellsCertificatesOfOneCommitFromEachOther(t *testing.T) {
	s := newHouse(t).serve()
	if all := admit.PortalCertificates(s.store.View()); all[0] == all[1] || all[0].Revision != all[1].Revision {
		t.Fatalf("%s and %s are not of one commit", all[0].Name, all[1].Name)
	}
	if shown := s.shown(); shown.PublicKeyAlgorithm != x509.ECDSA {
		t.Errorf("a client that takes anything is shown %v", shown.PublicKeyAlgorithm)
	}
	if shown, err := s.shownTo(onlyRSA()); err != nil || shown.PublicKeyAlgorithm != x509.RSA {
		t.Errorf("a client that takes only RSA keys is shown %v, %v", shown, err)
	}
}

func (s *serving) authority(c *client, name string) schema.Object {
	s.t.Helper()
	record := admit.PortalCertificates(s.store.View())[0]
	return c.want(http.StatusCreated, "POST", "/api/sslkeyandcertificate",
		schema.Object{"name": name, "type": "SSL_CERTIFICATE_TYPE_CA",
			"certificate": schema.Object{"certificate": record.Object["certificate"].(schema.Object)["certificate"]}})
}

func TestPortalTakesNoCertificateWithoutItsKey(t *testing.T) {
	s := newHouse(t).serve()
	c := s.login()
	authority := s.authority(c, "authority")
	c.refused(http.StatusBadRequest, "portal_configuration.sslkeyandcertificate_refs[0]", "PATCH",
		"/api/systemconfiguration",
		schema.Object{"replace": schema.Object{"portal_configuration": schema.Object{
			"sslkeyandcertificate_refs": []any{authority["uuid"]}}}})
	for _, shown := range admit.PortalCertificates(s.store.View()) {
		keyless := schema.Object{"name": shown.Name, "type": "SSL_CERTIFICATE_TYPE_CA",
			"certificate": authority["certificate"]}
		c.refused(http.StatusBadRequest, "key", "PUT", "/api/sslkeyandcertificate/"+shown.UUID, keyless)
	}
	s.shown()
}

// The certificate was stored by a version that did not check it.
func TestPortalFallsBackToTheBuiltInCertificates(t *testing.T) {
	s := newHouse(t).serve()
	authority := s.authority(s.login(), "authority")
	s.must(s.store.Update(t.Context(), func(tx *store.Tx) error {
		stored, _ := tx.View().Get("systemconfiguration", "default")
		next := *stored
		next.Object = schema.Clone(stored.Object)
		portal := next.Object["portal_configuration"].(schema.Object)
		portal["sslkeyandcertificate_refs"] = []any{"/api/sslkeyandcertificate/" + authority["uuid"].(string)}
		tx.Put(&next)
		return nil
	}))
	shown := s.shown()
	if !strings.HasPrefix(shown.Subject.CommonName, "System Default Portal") {
		t.Errorf("shown is %s", shown.Subject.CommonName)
	}
	if fingerprint, err := s.api.Fingerprint(); err != nil ||
		fingerprint != fmt.Sprintf("%x", sha256.Sum256(shown.Raw)) {
		t.Errorf("fingerprint %s, %v", fingerprint, err)
	}
}

// authorised returns a request with the login of a client.
func (s *serving) authorised(c *client, method, path, body string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequest(method, "https://"+s.address+path, strings.NewReader(body))
	s.must(err)
	r.Header.Set("X-CSRFToken", c.csrf)
	for _, cookie := range c.cookies {
		r.AddCookie(cookie)
	}
	return r
}

func TestRequestAtWorkIsAnsweredBeforeTheServerEnds(t *testing.T) {
	h := newHouse(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	h.api.tokens = slowTokens{entered, leave}
	s := h.serve()
	request := s.authorised(h.login(), "POST", "/api/securetoken-generate", "{}")
	answered := make(chan int, 1)
	go func() {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		answer, err := transport.RoundTrip(request)
		if err != nil {
			answered <- 0
			return
		}
		answer.Body.Close()
		answered <- answer.StatusCode
	}()
	<-entered
	s.stop()
	refusedConnection(s)
	close(leave)
	if status := <-answered; status != http.StatusOK {
		t.Errorf("the request at work got %d", status)
	}
	if err := <-s.ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// refusedConnection returns when the listener is closed.
func refusedConnection(s *serving) {
	for {
		connection, err := net.Dial("tcp", s.address)
		if err != nil {
			return
		}
		connection.Close()
	}
}

type slowTokens struct{ entered, leave chan struct{} }

func (s slowTokens) Issue(context.Context) (string, error) {
	close(s.entered)
	<-s.leave
	return "weir1.a.b", nil
}

func TestPlainHTTPIsAnsweredWithAHint(t *testing.T) {
	s := newHouse(t).serve()
	answer, err := http.Get("http://" + s.address + "/healthz")
	s.must(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	s.must(err)
	if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "HTTPS") {
		t.Errorf("got %d %s", answer.StatusCode, body)
	}
}

func TestDefectInAHandlerIsA500AndNothingElse(t *testing.T) {
	h := newHouse(t)
	h.api.tokens = nil
	c := h.login()
	c.refused(http.StatusInternalServerError, "its log says why", "POST", "/api/securetoken-generate", nil)
	c.want(http.StatusOK, "GET", "/api/pool", nil)
}

func TestAnswerThatJSONCannotHoldIsA500InTheLog(t *testing.T) {
	h := newHouse(t)
	var log bytes.Buffer
	h.api.log = slog.New(slog.NewTextHandler(&log, nil))
	c := h.login()
	pool := c.pool("web")
	h.runtime.servers = []schema.Object{{"load": math.Inf(1)}}
	c.refused(http.StatusInternalServerError, "its log says why", "GET", path(pool)+"/runtime/server", nil)
	if !strings.Contains(log.String(), "request failed") || !strings.Contains(log.String(), "+Inf") {
		t.Errorf("logged is %s", log.String())
	}
	h.runtime.servers = []schema.Object{{"load": 1}}
	c.want(http.StatusOK, "GET", path(pool)+"/runtime/server", nil)
}

func TestListsOfEntriesAreTheJSONOfTheStandardLibrary(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, results := range []any{
		[]admit.Entry(nil), []admit.Entry{}, []events.Entry(nil), []events.Entry{},
		[]admit.Entry{{Time: at, User: "a<b>", Object: "é"}, {Time: at, Refused: "no"}},
		[]events.Entry{{Time: at, ID: "VS_UP", Related: []string{"se-1"}}, {Time: at, Message: "\"up\""}},
	} {
		answer := schema.Object{"count": 2, "results": results}
		want, err := json.Marshal(answer)
		if got := schema.AppendJSON(nil, answer); err != nil || string(got) != string(want) {
			t.Errorf("got %s, want %s, %v", got, want, err)
		}
	}
}

func TestEachCauseHasItsStatus(t *testing.T) {
	for cause, status := range map[error]int{
		store.ErrDiskFull:        http.StatusInsufficientStorage,
		store.ErrClosed:          http.StatusServiceUnavailable,
		store.ErrBusy:            http.StatusServiceUnavailable,
		store.ErrTooLarge:        http.StatusRequestEntityTooLarge,
		context.DeadlineExceeded: http.StatusServiceUnavailable,
		admit.ErrBusy:            http.StatusServiceUnavailable,
		pki.ErrSealed:            http.StatusInternalServerError,
	} {
		if got := statusOf(errors.Join(errors.New("while writing"), cause)); got != status {
			t.Errorf("%v is %d, want %d", cause, got, status)
		}
	}
}

func TestWriteForWhichTheDatabaseHasNoTimeIsA503ThatSaysWhenToTryAgain(t *testing.T) {
	h := newHouse(t)
	var log bytes.Buffer
	h.api.log = slog.New(slog.NewTextHandler(&log, nil))
	answer := httptest.NewRecorder()
	c := &call{api: h.api, w: answer, r: httptest.NewRequest("POST", "/api/pool", nil)}
	late := errors.New("etcdserver: request timed out")
	c.refuse(fmt.Errorf("%w: %w", fmt.Errorf("%w: %w", store.ErrBusy, late), store.ErrUncertain))
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") != "5" {
		t.Errorf("%d, %v", answer.Code, answer.Header())
	}
	for _, want := range []string{"too busy", "request timed out", "may or may not be stored"} {
		if !strings.Contains(answer.Body.String(), want) || !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing in %s, or in the log %s", want, answer.Body, log.String())
		}
	}
}
