package controller

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/weir-lb/weir/api/engine/enrollment"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/controller/store"
)

const patience = 2 * time.Minute

// house is a running controller, and a session of its administrator.
type house struct {
	*testing.T
	dir         string
	engines     string // address, as announced
	admin       string // what the controller announces about its password
	fingerprint string // of the certificate, as announced
	api         *client.Session
	stop        func() error
}

// start boots a controller on free ports and logs in.
func start(t *testing.T, dir string) *house {
	t.Helper()
	return startWith(t, dir, nil)
}

// startWith starts a controller with a cloud that starts engines.
func startWith(t *testing.T, dir string, engines cloud.Cloud) *house {
	t.Helper()
	return startAs(t, dir, func(config *Config) { config.Engines = engines })
}

// startAs starts a controller with another configuration than the usual one.
func startAs(t *testing.T, dir string, change func(*Config)) *house {
	t.Helper()
	house, url := boot(t, dir, change)
	house.login(url)
	return house
}

func boot(t *testing.T, dir string, change func(*Config)) (started *house, url string) {
	t.Helper()
	config := Config{
		DataDir: dir, Listen: "127.0.0.1:0", EngineListen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&config)
	}
	ctx, cancel := context.WithCancel(context.Background())
	reader, out := io.Pipe()
	config.Out = out
	ended := make(chan error, 1)
	go func() {
		err := Run(ctx, config)
		out.CloseWithError(err)
		ended <- err
	}()
	house := &house{T: t, dir: dir}
	house.stop = func() error {
		cancel()
		err := <-ended
		ended <- err
		return err
	}
	t.Cleanup(func() { house.stop() })
	lines := bufio.NewScanner(reader)
	pages := house.announced(lines, "Web pages")
	url = house.announced(lines, "REST API")
	if pages != url+"/" {
		t.Errorf("the pages are at %s, the API at %s", pages, url)
	}
	house.fingerprint = strings.TrimPrefix(house.announced(lines, "Certificate"), "SHA-256 fingerprint ")
	house.engines = house.announced(lines, "Engines join")
	house.admin = house.announced(lines, "User admin")
	return house, url
}

func (h *house) announced(lines *bufio.Scanner, what string) string {
	h.Helper()
	if !lines.Scan() {
		h.Fatalf("did not start: %v", lines.Err())
	}
	value, ok := strings.CutPrefix(lines.Text(), what)
	if !ok {
		h.Fatalf("want a line about %s, got %q", what, lines.Text())
	}
	return strings.TrimSpace(value)
}

func (h *house) login(url string) {
	h.Helper()
	password, err := os.ReadFile(filepath.Join(h.dir, adminPasswordName))
	h.must(err)
	h.api, err = client.Login(h.Context(), client.Credentials{
		URL: url, Username: "admin", Password: strings.TrimSpace(string(password)), Fingerprint: h.fingerprint,
	})
	h.must(err)
}

func (h *house) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *house) create(kind string, object client.Object) client.Object {
	h.Helper()
	made, err := h.api.Create(h.Context(), kind, object)
	h.must(err)
	return made
}

// createService creates a virtual service with a TLS port, a pool, and a monitor.
func (h *house) createService(name string, port int) client.Object {
	h.Helper()
	h.create("pool", client.Object{
		"name": name, "servers": []any{client.Object{"ip": client.Object{"addr": "10.0.0.1", "type": "V4"}}},
		"health_monitor_refs": []any{"/api/healthmonitor?name=System-HTTP"},
	})
	h.create("vsvip", client.Object{
		"name": name, "vip": []any{client.Object{"vip_id": "1",
			"ip_address": client.Object{"addr": "127.0.0.1", "type": "V4"}}},
	})
	return h.create("virtualservice", client.Object{
		"name": name, "vsvip_ref": "/api/vsvip?name=" + name, "pool_ref": "/api/pool?name=" + name,
		"services":                     []any{client.Object{"port": port, "enable_ssl": true}},
		"ssl_key_and_certificate_refs": []any{"/api/sslkeyandcertificate?name=System-Default-Cert-EC"},
	})
}

// runtimeUntil reads the runtime of an object until it contains every wanted text.
func (h *house) runtimeUntil(kind string, object client.Object, wants ...string) string {
	h.Helper()
	deadline, poll := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer poll.Stop()
	for {
		var runtime client.Object
		h.must(h.api.Get(h.Context(), fmt.Sprintf("%s/%v/runtime", kind, object["uuid"]), &runtime))
		text, missing := fmt.Sprint(runtime), ""
		for _, want := range wants {
			if !strings.Contains(text, want) {
				missing = want
			}
		}
		if missing == "" {
			return text
		}
		select {
		case <-deadline:
			h.Fatalf("%q is missing in %s", missing, text)
		case <-poll.C:
		}
	}
}

// engine is an agent that the test plays.
type engine struct {
	*house
	uuid   string
	stream grpc.BidiStreamingClient[enginev1.Report, enginev1.Directive]
}

// join does what an agent does at its first start: it trusts the fingerprint in the token and nothing else.
func (h *house) join(name string) (uuid string, identity tls.Certificate, authority *x509.CertPool) {
	h.Helper()
	var made struct {
		AuthToken string `json:"auth_token"`
	}
	h.must(h.api.Post(h.Context(), "securetoken-generate", client.Object{}, &made))
	return h.joinBy(made.AuthToken, name)
}

func (h *house) joinBy(given, name string) (uuid string, identity tls.Certificate, authority *x509.CertPool) {
	h.Helper()
	token, err := enrollment.ParseToken(given)
	h.must(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	h.must(err)
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	h.must(err)
	connection := h.dial(&tls.Config{
		InsecureSkipVerify: true, // until the chain is compared with the token
		VerifyConnection: func(state tls.ConnectionState) error {
			last := state.PeerCertificates[len(state.PeerCertificates)-1]
			if sha256.Sum256(last.Raw) != token.Fingerprint {
				return errors.New("not the controller of the token")
			}
			return nil
		},
	})
	reply, err := enginev1.NewEnrollmentClient(connection).Join(h.Context(), &enginev1.JoinRequest{
		Token: given, CsrDer: csr, Name: name,
	})
	h.must(err)
	authority = x509.NewCertPool()
	ca, err := x509.ParseCertificate(reply.GetCaDer()[0])
	h.must(err)
	authority.AddCert(ca)
	return reply.GetEngineUuid(), tls.Certificate{Certificate: [][]byte{reply.GetCertificateDer()}, PrivateKey: key},
		authority
}

func (h *house) dial(config *tls.Config) *grpc.ClientConn {
	h.Helper()
	connection, err := grpc.NewClient(h.engines, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	h.must(err)
	h.Cleanup(func() { connection.Close() })
	return connection
}

// connect opens a session of an engine whose data plane runs.
func (h *house) connect(uuid string, identity tls.Certificate, authority *x509.CertPool) *engine {
	h.Helper()
	connection := h.dial(&tls.Config{RootCAs: authority, ServerName: enrollment.ControllerName,
		Certificates: []tls.Certificate{identity}})
	stream, err := enginev1.NewFleetClient(connection).Session(h.Context())
	h.must(err)
	engine := &engine{h, uuid, stream}
	engine.say(&enginev1.Report{Body: &enginev1.Report_Hello{Hello: &enginev1.Hello{
		Version: "test", Resources: &enginev1.Resources{Cores: 2, Hostname: "host"},
		Status: &enginev1.Status{Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_RUNNING, DataplanePid: 42},
	}}})
	directive, err := stream.Recv()
	h.must(err)
	if directive.GetWelcome() == nil {
		h.Fatalf("want a welcome, got %v", directive)
	}
	return engine
}

func (e *engine) say(report *enginev1.Report) {
	e.Helper()
	e.must(e.stream.Send(report))
}

func (e *engine) plan() *enginev1.PlanDelta {
	e.Helper()
	directive, err := e.stream.Recv()
	e.must(err)
	return directive.GetPlan()
}

func (e *engine) ack(delta *enginev1.PlanDelta, warnings ...*dataplanev1.Finding) {
	e.Helper()
	e.say(&enginev1.Report{Body: &enginev1.Report_Ack{Ack: &enginev1.Ack{
		Revision: delta.GetRevision(), Nonce: delta.GetNonce(), Warnings: warnings,
	}}})
}

// planWith acknowledges Plans until one has a given resource.
func (e *engine) planWith(uuid any) (*enginev1.PlanDelta, *enginev1.Resource) {
	e.Helper()
	for {
		delta := e.plan()
		for _, resource := range delta.GetChanged() {
			if resource.GetUuid() == uuid {
				return delta, resource
			}
		}
		e.ack(delta)
	}
}

func (e *engine) judge(pool any, up bool, reason string) {
	e.Helper()
	e.say(&enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: &enginev1.ServerVerdicts{
		Verdicts: []*enginev1.ServerVerdict{{PoolUuid: fmt.Sprint(pool), ServerId: "10.0.0.1:80", Up: up,
			Reason: reason, SinceUnixMs: 1}},
	}}})
}

func TestChangeReachesEngineAndItsAnswersReachTheAPI(t *testing.T) {
	house := start(t, t.TempDir())
	engine := house.connect(house.join("edge-1"))
	vs := house.createService("web", 8443)
	delta, resource := engine.planWith(vs["uuid"])
	if got := resource.GetVirtualService(); got.GetName() != "web" || !got.GetListeners()[0].GetTls() ||
		got.GetTls() == nil {
		t.Errorf("got %v", got)
	}
	house.runtimeUntil("virtualservice", vs, "applied on 0 of 1 engines", "edge-1 is applying the configuration")

	pool, err := house.api.ByName(t.Context(), "pool", "web")
	house.must(err)
	engine.ack(delta, &dataplanev1.Finding{Kind: "virtualservice", Uuid: fmt.Sprint(vs["uuid"]), Field: "f",
		Message: "not offered"})
	engine.judge(pool["uuid"], false, "HTTP 500 from GET /, want 2xx")
	house.runtimeUntil("virtualservice", vs, "applied on 1 of 1 engines", "OPER_DOWN",
		"HTTP 500 from GET /", "not offered")
	engine.judge(pool["uuid"], true, "")
	house.runtimeUntil("virtualservice", vs, "OPER_UP", "percent_ses_up:100")
	house.runtimeUntil("pool", pool, "num_servers_up:1", "OPER_UP")
	house.runtimeUntil("serviceengine", client.Object{"uuid": engine.uuid}, "se_connected:true",
		"pid:42", "state:running")
}

func TestEngineThatComesIsToldWhomToSpeakToBeforeWhatToServe(t *testing.T) {
	house := start(t, t.TempDir())
	vrf, err := house.api.ByName(t.Context(), "vrfcontext", "global")
	house.must(err)
	vrf["bgp_profile"] = client.Object{"local_as": 65000, "ibgp": true, "peers": []any{client.Object{
		"remote_as": 65000, "peer_ip": client.Object{"addr": "192.0.2.1"},
		"subnet": client.Object{"ip_addr": client.Object{"addr": "192.0.2.0"}, "mask": 24},
	}}}
	_, err = house.api.Replace(t.Context(), "vrfcontext", vrf)
	house.must(err)
	vs := house.createService("web", 8443)
	engine := house.connect(house.join("edge-1"))
	first := engine.plan()
	if len(first.GetChanged()) != 1 || first.GetChanged()[0].GetBgpRouter() == nil {
		t.Errorf("the first Plan is %v", first)
	}
	engine.ack(first)
	engine.planWith(vs["uuid"])
}

func TestRefusedPlanShowsObjectFieldAndEngineAndIsTriedAgainWithTheNextChange(t *testing.T) {
	house := start(t, t.TempDir())
	engine := house.connect(house.join("edge-1"))
	served := house.createService("served", 8443)
	delta, _ := engine.planWith(served["uuid"])
	engine.ack(delta)
	house.runtimeUntil("virtualservice", served, "applied on 1 of 1 engines")

	refused := house.createService("refused", 8444)
	delta, _ = engine.planWith(refused["uuid"])
	engine.say(&enginev1.Report{Body: &enginev1.Report_Nack{Nack: &enginev1.Nack{
		Revision: delta.GetRevision(), Nonce: delta.GetNonce(), Cause: enginev1.NackCause_NACK_CAUSE_REFUSED,
		Errors: []*dataplanev1.Finding{{
			Kind: "virtualservice", Uuid: fmt.Sprint(refused["uuid"]), Name: "refused", Field: "services[0].port",
			Message: "127.0.0.1:8444 is in use",
		}},
	}}})
	house.runtimeUntil("virtualservice", refused, "applied on 0 of 1 engines", "services[0].port",
		"127.0.0.1:8444 is in use", "edge-1")
	text := house.runtimeUntil("virtualservice", served, "applied on 1 of 1 engines")
	if strings.Contains(text, "in use") {
		t.Errorf("the other virtual service is blamed: %s", text)
	}

	refused["description"] = "changes nothing on engines"
	delete(refused, "_last_modified")
	_, err := house.api.Replace(t.Context(), "virtualservice", refused)
	house.must(err)
	again, _ := engine.planWith(refused["uuid"])
	if again.GetBaseRevision() != delta.GetBaseRevision() || again.GetRevision() <= delta.GetRevision() {
		t.Errorf("first %v, again %v", delta, again)
	}
	engine.ack(again)
	house.runtimeUntil("virtualservice", refused, "applied on 1 of 1 engines")
}

func TestVirtualServiceThatCannotBeServedIsLeftOutAndSaysWhy(t *testing.T) {
	house := start(t, t.TempDir())
	engine := house.connect(house.join("edge-1"))
	house.createService("web", 8443)
	house.create("networkprofile", client.Object{"name": "messages",
		"profile": client.Object{"type": "PROTOCOL_TYPE_SCTP_PROXY"}})
	odd := house.create("virtualservice", client.Object{
		"name": "odd", "vsvip_ref": "/api/vsvip?name=web", "services": []any{client.Object{"port": 99}},
		"network_profile_ref": "/api/networkprofile?name=messages",
	})
	house.runtimeUntil("virtualservice", odd, "OPER_DOWN", "network_profile_ref", "PROTOCOL_TYPE_SCTP_PROXY")
	third := house.createService("third", 8445)
	delta, _ := engine.planWith(third["uuid"])
	engine.ack(delta)
	house.runtimeUntil("virtualservice", third, "applied on 1 of 1 engines")
}

func TestEngineHearsNothingOfChangesThatAreNotItsOwn(t *testing.T) {
	house := start(t, t.TempDir())
	engine := house.connect(house.join("edge-1"))
	first := house.createService("first", 8443)
	delta, _ := engine.planWith(first["uuid"])
	engine.ack(delta)
	house.create("tenant", client.Object{"name": "other"})
	house.create("pool", client.Object{"name": "unused"})
	second := house.createService("second", 8444)
	next := engine.plan()
	if next.GetBaseRevision() != delta.GetRevision() {
		t.Errorf("a Plan between %d and %d was sent", delta.GetRevision(), next.GetRevision())
	}
	for _, resource := range next.GetChanged() {
		if resource.GetUuid() == first["uuid"] {
			t.Errorf("the first virtual service was sent again: %v", resource)
		}
	}
	if !strings.Contains(fmt.Sprint(next), fmt.Sprint(second["uuid"])) {
		t.Errorf("the second virtual service is missing in %v", next)
	}
}

func TestRestartKeepsObjectsPasswordAndIdentities(t *testing.T) {
	dir := t.TempDir()
	before := start(t, dir)
	uuid, identity, authority := before.join("edge-1")
	engine := before.connect(uuid, identity, authority)
	vs := before.createService("web", 8443)
	engine.planWith(vs["uuid"])
	before.must(before.stop())

	after := start(t, dir)
	engine = after.connect(uuid, identity, authority)
	delta, _ := engine.planWith(vs["uuid"])
	if delta.GetBaseRevision() != 0 {
		t.Errorf("want a whole Plan, got one on %d", delta.GetBaseRevision())
	}
	engine.ack(delta)
	after.runtimeUntil("virtualservice", vs, "applied on 1 of 1 engines")
}

func TestPasswordIsInItsFileAndNotInTheOutput(t *testing.T) {
	house, _ := boot(t, t.TempDir(), nil)
	file := filepath.Join(house.dir, adminPasswordName)
	password, err := os.ReadFile(file)
	house.must(err)
	if strings.Contains(house.admin, strings.TrimSpace(string(password))) || !strings.Contains(house.admin, file) {
		t.Errorf("announced is %q", house.admin)
	}
}

func TestStartsWithoutThePasswordFileOnceThereIsAnAdministrator(t *testing.T) {
	dir := t.TempDir()
	first, _ := boot(t, dir, nil)
	first.must(first.stop())
	first.must(os.Remove(filepath.Join(dir, adminPasswordName)))
	boot(t, dir, nil)
	if _, err := os.Stat(filepath.Join(dir, adminPasswordName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a password that opens nothing was written: %v", err)
	}
}

func TestDeletedEngineLosesItsSession(t *testing.T) {
	house := start(t, t.TempDir())
	engine := house.connect(house.join("edge-1"))
	house.must(house.api.Delete(t.Context(), "serviceengine", engine.uuid))
	for {
		if _, err := engine.stream.Recv(); err != nil {
			if !strings.Contains(err.Error(), "engine is deleted") {
				t.Errorf("got %v", err)
			}
			return
		}
	}
}

func TestSecondStartTouchesNothing(t *testing.T) {
	dir := t.TempDir()
	boot(t, dir, nil)
	key := filepath.Join(dir, secretsKeyName)
	if err := os.Rename(key, key+".away"); err != nil { // as if the first node had not created it yet
		t.Fatal(err)
	}
	err := Run(t.Context(), Config{
		DataDir: dir, Listen: "127.0.0.1:0", EngineListen: "127.0.0.1:0", Out: io.Discard,
		Log: slog.New(slog.DiscardHandler),
	})
	if !errors.Is(err, store.ErrInUse) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(key); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it made a key beside that of the first")
	}
}

func TestLostKeyIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	first, _ := boot(t, dir, nil)
	first.must(first.stop())
	key := filepath.Join(dir, secretsKeyName)
	first.must(os.Remove(key))
	err := Run(t.Context(), Config{
		DataDir: dir, Listen: "127.0.0.1:0", EngineListen: "127.0.0.1:0", Out: io.Discard,
		Log: slog.New(slog.DiscardHandler),
	})
	if err == nil || !strings.Contains(err.Error(), key+" is missing") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(key); !errors.Is(err, fs.ErrNotExist) {
		t.Error("another key lies where the lost one has to be restored")
	}
}

func TestSaysInOneLineWhyItCannotStart(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, secretsKeyName), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"REST port in use": {Config{Listen: busy.Addr().String(), EngineListen: "127.0.0.1:0", DataDir: t.TempDir()},
			"--listen"},
		"engine port in use": {Config{Listen: "127.0.0.1:0", EngineListen: busy.Addr().String(), DataDir: t.TempDir()},
			"--engine-listen"},
		"no directory": {Config{Listen: "127.0.0.1:0", EngineListen: "127.0.0.1:0",
			DataDir: filepath.Join(file, "x")}, "--data-dir"},
		"damaged key": {Config{Listen: "127.0.0.1:0", EngineListen: "127.0.0.1:0", DataDir: damaged},
			"secrets key file"},
		"no password file": {Config{
			Listen: "127.0.0.1:0", EngineListen: "127.0.0.1:0", DataDir: t.TempDir(), AdminPasswordFile: "/nowhere/x",
		}, "/nowhere/x"},
	} {
		c.config.Out, c.config.Log = io.Discard, slog.New(slog.DiscardHandler)
		err := Run(t.Context(), c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
