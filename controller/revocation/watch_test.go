package revocation

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

// stage has a Watch over one certificate or one PKI profile, without a store.
type stage struct {
	*Watch
	now   time.Time
	saved *store.Record
	log   *events.Log
	model *model.Model
}

func newStage(m *model.Model) *stage {
	s := &stage{now: noon, model: m}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	now := func() time.Time { return s.now }
	s.log = events.New(quiet, now)
	s.Watch = New(Config{
		Dialer: &net.Dialer{}, Events: s.log, Log: quiet, Now: now,
		Save: func(_ context.Context, _, _ string, edit func(*store.Record) (*store.Record, error)) (err error) {
			s.saved, err = edit(s.saved)
			return err
		},
	})
	return s
}

// try runs a try of a job to its end.
func (s *stage) try(ctx context.Context, job *job) {
	s.tries.begin(ctx, job, s.now)
	s.finish(ctx, <-s.tries.ended)
}

func (s *stage) events() (ids []string) {
	s.log.Flush()
	for entry := range slices.Values(s.log.Entries()) {
		ids = append(ids, entry.ID)
	}
	slices.Reverse(ids)
	return ids
}

// stapling is a virtual service with a certificate whose responder is at a URL.
func stapling(t *testing.T, ca authority, url string) *model.Model {
	leaf, _ := ca.issue(t, 7, func(c *x509.Certificate) { c.OCSPServer = []string{url} })
	certificate := &model.Certificate{KeyPair: kinds.KeyPair{ChainDER: [][]byte{leaf.Raw, ca.certificate.Raw}}}
	certificate.UUID, certificate.Name, certificate.EnableOCSPStapling = "c", "shop", true
	return &model.Model{VirtualServices: []*model.VirtualService{{Certificates: []*model.Certificate{certificate}}}}
}

func TestFailuresAreToldOnceAndRetriedUntilAnAnswerComes(t *testing.T) {
	ca := newAuthority(t, "CA")
	var answers atomic.Bool
	var status atomic.Int64
	responder := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked, err := ocsp.ParseRequest(body)
		if err != nil || r.Header.Get("Content-Type") != "application/ocsp-request" {
			t.Errorf("%v, %v", err, r.Header)
		}
		if !answers.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answer, err := ocsp.CreateResponse(ca.certificate, ca.certificate, ocsp.Response{Status: int(status.Load()),
			SerialNumber: asked.SerialNumber, ThisUpdate: noon, NextUpdate: noon.Add(24 * time.Hour),
			RevokedAt: noon}, ca.key)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(answer)
	}))
	defer responder.Close()
	s := newStage(stapling(t, ca, responder.URL))
	job := s.asking(questionOf(nil, s.model.VirtualServices[0].Certificates[0]), nil)
	for range 3 {
		s.try(t.Context(), job)
	}
	if got := s.events(); !slices.Equal(got, []string{"SSL_OCSP_FAILED"}) || s.saved != nil {
		t.Fatalf("events %v, saved %v", got, s.saved)
	}
	if wait := job.due.Sub(noon); wait < 20*time.Second || wait > 40*time.Second {
		t.Errorf("after three failures it waits %v", wait)
	}
	answers.Store(true)
	s.try(t.Context(), job)
	known := read[Answer](s.saved)
	if known == nil || known.Status != kinds.OCSPGood || !job.due.Equal(noon.Add(12*time.Hour)) {
		t.Fatalf("%+v, due %v", known, job.due)
	}
	status.Store(ocsp.Revoked)
	job = s.asking(questionOf(nil, s.model.VirtualServices[0].Certificates[0]), known)
	s.try(t.Context(), job)
	want := []string{"SSL_OCSP_FAILED", "SSL_OCSP_WORKS", "SSL_OCSP_NOT_GOOD"}
	if got := s.events(); !slices.Equal(got, want) || read[Answer](s.saved).Status != kinds.OCSPRevoked {
		t.Errorf("events %v, saved %v", got, s.saved)
	}
}

// TestServerThatKeepsUsWaitingDelaysNoOther adds a certificate while a responder keeps the controller waiting. The
// responder of the certificate is asked before the other one answers, and before the controller gives that one up.
func TestServerThatKeepsUsWaitingDelaysNoOther(t *testing.T) {
	objects, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
		Sealer: func() (store.Sealer, error) { return pki.OpenSealer(filepath.Join(t.TempDir(), "key")) }})
	if err != nil {
		t.Fatal(err)
	}
	defer objects.Close()
	ca := newAuthority(t, "CA")
	slowAsked, quickAsked, slowEnded := make(chan bool, 1), make(chan bool, 1), make(chan bool, 1)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // only then the server sees that the client has gone
		slowAsked <- true
		select {
		case <-quickAsked:
			slowEnded <- true
		case <-r.Context().Done():
			slowEnded <- false
		}
	}))
	defer slow.Close()
	quick := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { quickAsked <- true }))
	defer quick.Close()
	s := newStage(stapling(t, ca, slow.URL))
	var now atomic.Pointer[model.Model]
	now.Store(s.model)
	s.config.Objects, s.config.Now = objects, time.Now
	s.config.Model = func(*store.View) (*model.Model, error) { return now.Load(), nil }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	<-slowAsked
	both := stapling(t, ca, quick.URL)
	both.VirtualServices[0].Certificates[0].UUID = "d"
	both.VirtualServices = append(both.VirtualServices, s.model.VirtualServices...)
	now.Store(both)
	if err := objects.Update(t.Context(), func(tx *store.Tx) error {
		tx.Put(&store.Record{Kind: "pool", UUID: "p", Name: "p", Object: schema.Object{}})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !<-slowEnded {
		t.Error("the controller gave up the slow responder before it asked the other one")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCertificateWithoutIssuerOrResponderIsToldWithTheReason(t *testing.T) {
	ca := newAuthority(t, "CA")
	m := stapling(t, ca, "http://responder.test/")
	certificate := m.VirtualServices[0].Certificates[0]
	certificate.ChainDER = certificate.ChainDER[:1]
	if q := questionOf(nil, certificate); !strings.Contains(q.problem, "issuer") {
		t.Errorf("%q", q.problem)
	}
	leaf, _ := ca.issue(t, 8, func(c *x509.Certificate) { c.OCSPServer = nil })
	certificate.ChainDER = [][]byte{leaf.Raw, ca.certificate.Raw}
	if q := questionOf(nil, certificate); !strings.Contains(q.problem, "responder") {
		t.Errorf("%q", q.problem)
	}
}

func TestListsAreThoseOfAllPortsOfAVirtualServiceAndOfItsParentAndPools(t *testing.T) {
	profile := func(uuid string) *kinds.PKIProfile {
		p := &kinds.PKIProfile{CRLCheck: true, CRLs: []kinds.CRL{{ServerURL: "http://crl.test/" + uuid}}}
		p.UUID = uuid
		return p
	}
	found := listed(&model.Model{
		VirtualServices: []*model.VirtualService{
			{ClientPKI: profile("own"), Variants: []*model.Variant{{ClientPKI: profile("port")}, {}}},
			{ParentPKI: profile("parent")}, {},
		},
		Pools: []*model.Pool{{PKIProfile: profile("pool")}},
	})
	var uuids []string
	for _, one := range found {
		uuids = append(uuids, one.UUID)
	}
	if want := []string{"own", "parent", "pool", "port"}; !slices.Equal(uuids, want) {
		t.Errorf("got the lists of %v; want %v", uuids, want)
	}
}

func TestListIsAskedForByItsTagAndAnOldOneIsRefused(t *testing.T) {
	ca := newAuthority(t, "CA")
	var number atomic.Int64
	number.Store(5)
	var unchanged atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tag := "of 5"; number.Load() == 5 {
			w.Header().Set("ETag", tag)
			if r.Header.Get("If-None-Match") == tag {
				unchanged.Add(1)
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		_, _ = w.Write(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: ca.list(t, number.Load(), nil)}))
	}))
	defer server.Close()
	s := newStage(nil)
	from := source{uuid: "p", url: server.URL, wanted: []string{server.URL}, interval: time.Hour,
		authorities: [][]byte{ca.certificate.Raw}}
	fetch := func() *List {
		s.try(t.Context(), s.listing(from, read[Lists](s.saved).of(server.URL)))
		return read[Lists](s.saved).of(server.URL)
	}
	if list := fetch(); list == nil || list.Number != "5" {
		t.Fatalf("%+v", list)
	}
	s.now = noon.Add(time.Hour)
	if list := fetch(); list.Number != "5" || unchanged.Load() != 1 {
		t.Errorf("%+v, unchanged %d times", list, unchanged.Load())
	}
	s.now = noon.Add(25 * time.Hour) // the list has ended, and its server has no other
	if list := fetch(); list.Number != "5" || !slices.Equal(s.events(), []string{"CRL_FETCH_FAILED"}) {
		t.Errorf("%+v, events %v", list, s.events())
	}
	s.now = noon.Add(time.Hour)
	number.Store(4)
	if list := fetch(); list.Number != "5" || !slices.Equal(s.events(),
		[]string{"CRL_FETCH_FAILED", "CRL_FETCH_FAILED"}) {
		t.Errorf("%+v, events %v", list, s.events())
	}
	number.Store(6)
	if list := fetch(); list.Number != "6" {
		t.Errorf("%+v", list)
	}
}

func TestRedirectsAreNotFollowedAndOnlyHTTPIsSpoken(t *testing.T) {
	redirecting := httptest.NewServer(http.RedirectHandler("http://elsewhere.test/", http.StatusFound))
	defer redirecting.Close()
	fetch := fetcher{&net.Dialer{}}
	_, _, _, err := fetch.get(t.Context(), redirecting.URL, "")
	if err == nil || !strings.Contains(err.Error(), "redirects are not followed") {
		t.Error(err)
	}
	_, _, _, err = fetch.get(t.Context(), "file:///etc/passwd", "")
	if err == nil || !strings.Contains(err.Error(), "no URL of HTTP") {
		t.Error(err)
	}
}

func TestNothingIsSentWhereTheControllerMayNot(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	forbidden := errors.New("the controller may not connect there")
	fetch := New(Config{Dialer: &net.Dialer{Control: func(string, string, syscall.RawConn) error {
		return forbidden
	}}}).fetch
	if _, err := fetch.ask(t.Context(), server.URL, nil, time.Minute); !errors.Is(err, forbidden) {
		t.Error(err)
	}
	if _, _, _, err := fetch.get(t.Context(), server.URL, ""); !errors.Is(err, forbidden) {
		t.Error(err)
	}
	if asked.Load() > 0 {
		t.Errorf("%d requests were sent", asked.Load())
	}
}
