package link

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/weir-lb/weir/api/engine/enrollment"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/membership"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/pki/pkitest"
)

const patience = 2 * time.Minute

// firstGreeting is the number of every greeting here.
const firstGreeting = 1

// register implements Members and Engines, and records the calls.
type register struct {
	mu      sync.Mutex
	gone    map[string]bool
	joins   map[string]string // the Join that counts, by uuid
	replace bool              // names that are taken may be taken over
	late    error             // of Join, after it has changed joins
	told    chan string
	overrun func() // called once, after Exists has looked and before it returns
}

func (r *register) Join(_ context.Context, name string) (membership.Joined, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.joins["se-"+name]; taken && !r.replace {
		return membership.Joined{}, fmt.Errorf("%w: %s", membership.ErrNameTaken, name)
	}
	r.joins["se-"+name] = fmt.Sprint("join-", len(r.told), r.replace)
	return membership.Joined{Engine: "se-" + name, Join: r.joins["se-"+name], Replaces: r.replace}, r.late
}

// letReplace lets names that are taken be taken over. Each Join returns late.
func (r *register) letReplace(late error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replace, r.late = true, late
}

func (r *register) Check(uuid, join string) error {
	r.mu.Lock()
	last := r.joins[uuid]
	r.mu.Unlock()
	switch {
	case !r.Exists(uuid):
		return membership.ErrDeleted
	case last != join:
		return membership.ErrReplaced
	default:
		return nil
	}
}

func (r *register) Exists(uuid string) bool {
	r.mu.Lock()
	exists, overrun := !r.gone[uuid], r.overrun
	r.overrun = nil
	r.mu.Unlock()
	if overrun != nil {
		overrun()
	}
	return exists
}

func (r *register) delete(uuid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone[uuid] = true
}

// Connected is called under the lock of the engine's desk, so a later Publish knows of the greeting.
func (r *register) Connected(uuid string, hello *enginev1.Hello) uint64 {
	r.told <- fmt.Sprintf("%s connected with %d", uuid, hello.GetRevision())
	return firstGreeting
}
func (r *register) Reported(uuid string, report *enginev1.Report) {
	if report.GetStatus() != nil {
		r.told <- uuid + " reported"
	}
}
func (r *register) Applied(uuid string, plan *enginev1.Plan, _ []*dataplanev1.Finding) {
	r.told <- fmt.Sprintf("%s applied %d", uuid, plan.GetRevision())
}
func (r *register) Refused(uuid string, plan *enginev1.Plan, errors []*dataplanev1.Finding) {
	r.told <- fmt.Sprintf("%s refused %d: %s", uuid, plan.GetRevision(), errors[0].GetMessage())
}
func (r *register) Missed(uuid string, heartbeats int) {
	r.told <- fmt.Sprintf("%s missed %d heartbeats", uuid, heartbeats)
}
func (r *register) Disconnected(uuid string, reason string) {
	r.told <- uuid + " disconnected: " + reason
}

// rig is a link with a real authority on a real socket.
type rig struct {
	*testing.T
	server    *Server
	register  *register
	authority *pki.Authority
	tokens    *pki.Tokens
	address   string
}

func newRig(t *testing.T) *rig { return newRigWith(t, slog.DiscardHandler) }

func newRigWith(t *testing.T, log slog.Handler) *rig {
	t.Helper()
	sealer, err := pki.OpenSealer(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	authority, err := pki.OpenAuthority(t.Context(), pkitest.NewVault(), sealer, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rig := &rig{
		T: t, authority: authority, address: listener.Addr().String(),
		tokens:   pki.NewTokens(pkitest.NewVault(), authority, time.Now),
		register: &register{gone: map[string]bool{}, joins: map[string]string{}, told: make(chan string, 100)},
	}
	told := events.New(slog.New(slog.DiscardHandler), time.Now)
	rig.server = NewServer(authority, rig.tokens, rig.register, rig.register, told, slog.New(log))
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- rig.server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return rig
}

func (r *rig) expect(want string) {
	r.Helper()
	select {
	case got := <-r.register.told:
		if !strings.HasPrefix(got, want) {
			r.Fatalf("want %q, got %q", want, got)
		}
	case <-time.After(patience):
		r.Fatalf("never heard %q", want)
	}
}

func (r *rig) dial(certificates ...tls.Certificate) *grpc.ClientConn {
	r.Helper()
	connection, err := grpc.NewClient(r.address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs: r.authority.Pool(), ServerName: enrollment.ControllerName, Certificates: certificates,
	})))
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { connection.Close() })
	return connection
}

func (r *rig) joinWith(token, name string) (tls.Certificate, error) {
	r.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		r.Fatal(err)
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		r.Fatal(err)
	}
	reply, err := enginev1.NewEnrollmentClient(r.dial()).Join(r.Context(),
		&enginev1.JoinRequest{Token: token, CsrDer: csr, Name: name})
	return tls.Certificate{Certificate: [][]byte{reply.GetCertificateDer()}, PrivateKey: key}, err
}

func (r *rig) join(name string) tls.Certificate {
	r.Helper()
	token, err := r.tokens.Issue(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	identity, err := r.joinWith(token, name)
	if err != nil {
		r.Fatal(err)
	}
	return identity
}

type agent struct {
	*rig
	stream grpc.BidiStreamingClient[enginev1.Report, enginev1.Directive]
}

// session dials and sends a Hello.
func (r *rig) session(identity tls.Certificate, revision uint64) *agent {
	r.Helper()
	stream, err := enginev1.NewFleetClient(r.dial(identity)).Session(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	agent := &agent{r, stream}
	agent.say(&enginev1.Report{Body: &enginev1.Report_Hello{Hello: &enginev1.Hello{Revision: revision}}})
	return agent
}

func (a *agent) say(report *enginev1.Report) {
	a.Helper()
	if err := a.stream.Send(report); err != nil {
		a.Fatal(err)
	}
}

func (a *agent) hear() *enginev1.Directive {
	a.Helper()
	directive, err := a.stream.Recv()
	if err != nil {
		a.Fatal(err)
	}
	return directive
}

func (a *agent) ack(delta *enginev1.PlanDelta) {
	a.Helper()
	a.say(&enginev1.Report{Body: &enginev1.Report_Ack{Ack: &enginev1.Ack{Revision: delta.GetRevision(),
		Nonce: delta.GetNonce()}}})
}

// refusal dials, says nothing, and returns how the session ends.
func (r *rig) refusal(identity tls.Certificate) *status.Status {
	r.Helper()
	stream, err := enginev1.NewFleetClient(r.dial(identity)).Session(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return (&agent{r, stream}).ended()
}

// ended waits for the end of the session, and returns its cause.
func (a *agent) ended() *status.Status {
	a.Helper()
	for {
		if _, err := a.stream.Recv(); err != nil {
			return status.Convert(err)
		}
	}
}

func TestEngineJoinsGetsPlanAndAnswers(t *testing.T) {
	rig := newRig(t)
	agent := rig.session(rig.join("a"), 0)
	rig.expect("se-a connected with 0")
	rig.server.Publish(map[string]*enginev1.Plan{"se-a": planOf([]string{"10", "x=1"})}, firstGreeting)
	if agent.hear().GetWelcome() == nil {
		t.Fatal("no welcome")
	}
	delta := agent.hear().GetPlan()
	if delta.GetRevision() != 10 || len(delta.GetChanged()) != 1 {
		t.Fatalf("got %v", delta)
	}
	agent.ack(delta)
	rig.expect("se-a applied 10")
}

func TestRefusesTokenThatWasUsed(t *testing.T) {
	rig := newRig(t)
	token, err := rig.tokens.Issue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rig.joinWith(token, "a"); err != nil {
		t.Fatal(err)
	}
	_, err = rig.joinWith(token, "b")
	if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "already used") {
		t.Errorf("got %v", err)
	}
}

// hugeKey returns an RSA key of 8,676 bits. Its primes are of Mersenne, because random ones take long to find.
func hugeKey() *rsa.PrivateKey {
	one := big.NewInt(1)
	p := new(big.Int).Sub(new(big.Int).Lsh(one, 4253), one)
	q := new(big.Int).Sub(new(big.Int).Lsh(one, 4423), one)
	phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
	return &rsa.PrivateKey{
		PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: 65537},
		D:         new(big.Int).ModInverse(big.NewInt(65537), phi), Primes: []*big.Int{p, q},
	}
}

func TestJoinWithABadRequestChangesNothing(t *testing.T) {
	rig := newRig(t)
	first := rig.join("a")
	rig.register.letReplace(nil)
	token, err := rig.tokens.Issue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	huge, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, hugeKey())
	if err != nil {
		t.Fatal(err)
	}
	for want, csr := range map[string][]byte{"asn1": []byte("no request"), "RSA key of 8676 bits": huge} {
		_, err = enginev1.NewEnrollmentClient(rig.dial()).Join(t.Context(),
			&enginev1.JoinRequest{Token: token, CsrDer: csr, Name: "a"})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	certificate, err := x509.ParseCertificate(first.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := rig.register.Check("se-a", certificate.Subject.SerialNumber); err != nil {
		t.Fatalf("the old certificate: %v", err)
	}
	rig.session(first, 0)
	rig.expect("se-a connected")
	if _, err := rig.joinWith(token, "b"); err != nil {
		t.Errorf("the token is used up: %v", err)
	}
}

func TestReplacementThatMayBeStoredIsTold(t *testing.T) {
	rig := newRig(t)
	rig.join("a")
	rig.register.letReplace(errors.New("the disk is slow"))
	token, err := rig.tokens.Issue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rig.joinWith(token, "a"); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("got %v", err)
	}
	told := rig.server.events.Entries()
	if len(told) != 1 || told[0].ID != "SE_REPLACED" || !strings.Contains(told[0].Message, "the disk is slow") {
		t.Errorf("told is %+v", told)
	}
}

func TestRefusesNameThatIsTakenOrNoHostName(t *testing.T) {
	rig := newRig(t)
	rig.join("a")
	for name, want := range map[string]codes.Code{"a": codes.AlreadyExists, "": codes.InvalidArgument,
		"a b": codes.InvalidArgument} {
		token, err := rig.tokens.Issue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rig.joinWith(token, name); status.Code(err) != want {
			t.Errorf("%q: want %v, got %v", name, want, err)
		}
	}
}

func TestRefusesSessionWithoutCertificate(t *testing.T) {
	rig := newRig(t)
	stream, err := enginev1.NewFleetClient(rig.dial()).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := (&agent{rig, stream}).ended(); got.Code() != codes.Unauthenticated {
		t.Errorf("got %v", got)
	}
}

func TestSecondSessionEndsTheFirst(t *testing.T) {
	rig := newRig(t)
	identity := rig.join("a")
	first := rig.session(identity, 0)
	rig.expect("se-a connected")
	second := rig.session(identity, 0)
	if got := first.ended(); got.Code() != codes.Aborted {
		t.Errorf("first ended with %v", got)
	}
	rig.expect("se-a connected")
	second.say(&enginev1.Report{Body: &enginev1.Report_Status{Status: &enginev1.Status{}}})
	rig.expect("se-a reported") // and not that the first session ended
}

func TestDeletedEngineIsCutOffAndStaysOut(t *testing.T) {
	rig := newRig(t)
	identity := rig.join("a")
	rig.server.Publish(map[string]*enginev1.Plan{"se-a": planOf([]string{"10"})}, firstGreeting)
	connected := rig.session(identity, 0)
	rig.expect("se-a connected")
	rig.register.delete("se-a")
	rig.server.Publish(map[string]*enginev1.Plan{}, firstGreeting)
	if got := connected.ended(); got.Code() != codes.PermissionDenied {
		t.Errorf("session ended with %v", got)
	}
	if got := rig.refusal(identity); got.Code() != codes.PermissionDenied {
		t.Errorf("new session ended with %v", got)
	}
}

func TestEngineThatIsDeletedWhileItsSessionBeginsIsRefused(t *testing.T) {
	rig := newRig(t)
	identity := rig.join("a")
	rig.register.overrun = func() {
		rig.register.delete("se-a")
		rig.server.Publish(map[string]*enginev1.Plan{}, firstGreeting)
	}
	if got := rig.refusal(identity); got.Code() != codes.PermissionDenied {
		t.Errorf("got %v", got)
	}
	rig.server.mu.Lock()
	defer rig.server.mu.Unlock()
	if len(rig.server.desks) > 0 {
		t.Errorf("a deleted engine has a desk: %v", rig.server.desks)
	}
}

// tales is a log that keeps its records.
type tales struct {
	slog.Handler
	mu  *sync.Mutex
	all *[]string
}

func (l tales) Enabled(context.Context, slog.Level) bool { return true }
func (l tales) WithAttrs([]slog.Attr) slog.Handler       { return l }

func (l tales) Handle(_ context.Context, record slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	*l.all = append(*l.all, record.Message)
	return nil
}

func TestLogNamesTheFirstReasonsOfARefusalAndCountsTheOthers(t *testing.T) {
	log := tales{mu: new(sync.Mutex), all: new([]string)}
	rig := newRigWith(t, log)
	agent := rig.session(rig.join("a"), 0)
	rig.expect("se-a connected")
	rig.server.Publish(map[string]*enginev1.Plan{"se-a": planOf([]string{"10", "x=1"})}, firstGreeting)
	agent.hear()
	delta := agent.hear().GetPlan()
	agent.say(&enginev1.Report{Body: &enginev1.Report_Nack{Nack: &enginev1.Nack{
		Revision: delta.GetRevision(), Nonce: delta.GetNonce(), Cause: enginev1.NackCause_NACK_CAUSE_REFUSED,
		Errors: slices.Repeat([]*dataplanev1.Finding{{Message: "port 80 is in use"}}, 1000),
	}}})
	rig.expect("se-a refused 10: port 80 is in use")
	agent.say(&enginev1.Report{Body: &enginev1.Report_Status{Status: &enginev1.Status{}}})
	rig.expect("se-a reported") // after the log lines about the refusal
	log.mu.Lock()
	defer log.mu.Unlock()
	counts := map[string]int{}
	for _, message := range *log.all {
		counts[message]++
	}
	if counts["engine refused a change"] != findingsLogged || counts["engine refused a change for more reasons"] != 1 {
		t.Errorf("the log has %v", counts)
	}
}

func TestAnAgentThatFellSilentIsToldApartFromOneThatIsGone(t *testing.T) {
	rig := newRig(t)
	rig.server.part("se-a", errOverdue)
	rig.expect("se-a missed 5 heartbeats")
	rig.expect("se-a disconnected: no heartbeat from the agent")
	rig.server.part("se-a", status.Error(codes.Canceled, "reset"))
	rig.expect("se-a disconnected: connection to the agent lost")
}

func TestConnectionOutlivesTheHeartbeatsThatMayBeMissed(t *testing.T) {
	if longest := heartbeatsMissed*HeartbeatInterval + HeartbeatInterval/2; keepaliveInterval+
		keepaliveTimeout <= longest {
		t.Errorf("it ends after %v, and the session after up to %v", keepaliveInterval+keepaliveTimeout, longest)
	}
}

func TestReconnectTellsAndContinues(t *testing.T) {
	rig := newRig(t)
	identity := rig.join("a")
	first := rig.session(identity, 0)
	rig.expect("se-a connected")
	rig.server.Publish(map[string]*enginev1.Plan{"se-a": planOf([]string{"10", "x=1", "y=1"})}, firstGreeting)
	first.hear()
	first.ack(first.hear().GetPlan())
	rig.expect("se-a applied 10")
	if err := first.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	rig.expect("se-a disconnected: agent closed the session")
	second := rig.session(identity, 10)
	rig.expect("se-a connected with 10")
	rig.server.Publish(map[string]*enginev1.Plan{"se-a": planOf([]string{"11", "x=2", "y=1"})}, firstGreeting)
	second.hear()
	if delta := second.hear().GetPlan(); delta.GetBaseRevision() != 10 || len(delta.GetChanged()) != 1 {
		t.Errorf("got %v", delta)
	}
}

func TestEngineThatConnectsGetsNoPlanThatWasDecidedWithoutIt(t *testing.T) {
	rig := newRig(t)
	identity := rig.join("a")
	stale, decided := planOf([]string{"10", "x=1"}), planOf([]string{"11", "x=2"})
	rig.server.Publish(map[string]*enginev1.Plan{"se-a": stale}, firstGreeting-1)
	agent := rig.session(identity, 0)
	rig.expect("se-a connected")
	rig.server.Publish(map[string]*enginev1.Plan{"se-a": stale}, firstGreeting-1)
	rig.server.Publish(map[string]*enginev1.Plan{"se-a": decided}, firstGreeting)
	agent.hear()
	if delta := agent.hear().GetPlan(); delta.GetRevision() != 11 {
		t.Errorf("got %v", delta)
	}
}

func TestEngineThatReadsNothingDelaysNobody(t *testing.T) {
	rig := newRig(t)
	stuck, quick := rig.join("stuck"), rig.join("quick")
	// This is more than the flow-control window of a stream, so that a send to an agent that does not read hangs.
	huge := "x=" + strings.Repeat("x", 8<<20)
	rig.session(stuck, 0)
	rig.expect("se-stuck connected")
	rig.server.Publish(map[string]*enginev1.Plan{"se-stuck": planOf([]string{"10", huge})}, firstGreeting)
	agent := rig.session(quick, 0)
	rig.expect("se-quick connected")
	agent.hear()
	for revision := range 20 {
		rig.server.Publish(map[string]*enginev1.Plan{
			"se-stuck": planOf([]string{fmt.Sprint(11 + revision), huge, fmt.Sprint("y=", revision)}),
			"se-quick": planOf([]string{fmt.Sprint(11 + revision), fmt.Sprint("y=", revision)}),
		}, firstGreeting)
		agent.ack(agent.hear().GetPlan())
		rig.expect(fmt.Sprintf("se-quick applied %d", 11+revision))
	}
}

func TestRenewsTheCertificateOfTheEngineThatAsks(t *testing.T) {
	rig := newRig(t)
	identity := rig.join("a")
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := enginev1.NewFleetClient(rig.dial(identity)).Renew(t.Context(), &enginev1.RenewRequest{CsrDer: csr})
	if err != nil {
		t.Fatal(err)
	}
	rig.session(tls.Certificate{Certificate: [][]byte{reply.GetCertificateDer()}, PrivateKey: key}, 0)
	rig.expect("se-a connected")
}

func TestHostWhoseNameAnotherOneTookIsRefusedAndToldWhy(t *testing.T) {
	rig := newRig(t)
	first := rig.join("a")
	rig.register.letReplace(nil)
	second := rig.join("a")
	if got := rig.refusal(first); got.Code() != codes.PermissionDenied ||
		!strings.Contains(got.Message(), "not from the last join under this name") {
		t.Errorf("got %v", got)
	}
	rig.session(second, 0)
	rig.expect("se-a connected")
	if told := rig.server.events.Entries(); len(told) != 1 || told[0].ID != "SE_REPLACED" || told[0].Name != "a" {
		t.Errorf("told is %+v", told)
	}
}
