package link

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/agent/state"
	"github.com/weir-lb/weir/api/engine/enrollment"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	controller "github.com/weir-lb/weir/controller/link"
	"github.com/weir-lb/weir/controller/membership"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/pki/pkitest"
	server "github.com/weir-lb/weir/tests/accept"
)

// patience is far more than anything here takes.
const patience = 2 * time.Minute

// diary is what both sides are told, in the order that it happens.
type diary struct {
	*testing.T
	lines chan string
}

func (d diary) write(format string, arguments ...any) { d.lines <- fmt.Sprintf(format, arguments...) }

func (d diary) expect(want ...string) {
	d.Helper()
	for _, want := range want {
		select {
		case got := <-d.lines:
			if !strings.HasPrefix(got, want) {
				d.Fatalf("want %q, got %q", want, got)
			}
		case <-time.After(patience):
			d.Fatalf("never heard %q", want)
		}
	}
}

// fleet is the controller's side of the diary.
type fleet struct {
	diary
	full error // why it takes nobody; nil: it does
}

func (f fleet) Join(_ context.Context, name string) (membership.Joined, error) {
	return membership.Joined{Engine: "se-" + name}, f.full
}
func (f fleet) Exists(uuid string) bool { return uuid != "se-deleted" }
func (f fleet) Check(uuid, _ string) error {
	if !f.Exists(uuid) {
		return membership.ErrDeleted
	}
	return nil
}
func (f fleet) Connected(uuid string, hello *enginev1.Hello) uint64 {
	f.write("%s connected with %d", uuid, hello.GetRevision())
	return 0
}
func (f fleet) Reported(_ string, report *enginev1.Report) {
	for _, verdict := range report.GetVerdicts().GetVerdicts() {
		f.write("verdict %s %v", verdict.GetServerId(), verdict.GetUp())
	}
	if answer := report.GetExplanation(); answer != nil {
		f.write("explanation %d of %s", answer.GetId(), answer.GetServerId())
	}
}
func (f fleet) Applied(_ string, plan *enginev1.Plan, _ []*dataplanev1.Finding) {
	f.write("applied %d", plan.GetRevision())
}
func (f fleet) Refused(_ string, plan *enginev1.Plan, errors []*dataplanev1.Finding) {
	f.write("refused %d: %s", plan.GetRevision(), errors[0].GetMessage())
}
func (f fleet) Missed(string, int) {}
func (f fleet) Disconnected(_ string, reason string) {
	if strings.HasPrefix(reason, "agent closed") {
		f.write("%s", reason)
	}
}

// engine is the agent's side: a Session whose data plane takes every Plan but those with a resource named "bad".
type engine struct {
	diary
	link    *Link
	mu      sync.Mutex
	session Session
}

func (e *engine) Joined(identity *state.Identity) { e.write("joined as %s", identity.EngineUUID) }
func (e *engine) Renewed(identity *state.Identity) {
	e.write("renewed, fresh: %v", time.Until(identity.Certificate.NotAfter) > pki.EngineCertificateLifetime-time.Hour)
}
func (e *engine) Heartbeat() *enginev1.Status { return &enginev1.Status{} }
func (e *engine) Hello() *enginev1.Hello {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.session.Opened()
	return &enginev1.Hello{Revision: e.session.Revision()}
}
func (e *engine) Share(*dataplanev1.KeyShares) {}

func (e *engine) Ask(question *dataplanev1.Question) {
	e.write("asked %d", question.GetId())
	e.link.Send(&enginev1.Report{Body: &enginev1.Report_Explanation{Explanation: &dataplanev1.Explanation{
		Id: question.GetId(), ServerId: "10.0.0.1:80"}}})
}
func (e *engine) Receive(delta *enginev1.PlanDelta) {
	e.mu.Lock()
	defer e.mu.Unlock()
	next, answer := e.session.Receive(delta)
	switch {
	case next == nil:
	case strings.Contains(show(next.Wire()), "bad"):
		answer = e.session.Refused(next, []plan.Finding{{Message: "bad pool"}})
	default:
		e.write("serves %s", show(next.Wire()))
		answer = e.session.Applied(next, nil)
	}
	e.link.Send(answer)
}

// rig is the two ends of a line: the controller's own, and the agent's.
type rig struct {
	diary
	authority *pki.Authority
	tokens    *pki.Tokens
	address   string
	full      error
	server    *controller.Server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	sealer, err := pki.OpenSealer(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	authority, err := pki.OpenAuthority(t.Context(), pkitest.NewVault(), sealer, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		diary: diary{t, make(chan string, 100)}, authority: authority, address: server.FreeAddress(t),
		tokens: pki.NewTokens(pkitest.NewVault(), authority, time.Now),
	}
	return r
}

// serve runs a controller until the function that it returns is called; the next one takes the same address.
func (r *rig) serve() (stop func()) {
	r.Helper()
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		r.Fatal(err)
	}
	engines := fleet{r.diary, r.full}
	r.server = controller.NewServer(r.authority, r.tokens, engines, engines, nil, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.server.Serve(ctx, listener) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			r.Error(err)
		}
	})
}

// dial runs an agent's link until the test ends.
func (r *rig) dial(token *enrollment.Token, identity *state.Identity) (*Link, chan error) {
	e := &engine{diary: r.diary}
	e.link = New(Config{
		Address: r.address, Name: "one", Token: token, Identity: identity, Engine: e,
		Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	ended := make(chan struct{})
	go func() { defer close(ended); ran <- e.link.Run(ctx) }()
	r.Cleanup(func() { cancel(); <-ended })
	return e.link, ran
}

func (r *rig) token() *enrollment.Token {
	r.Helper()
	text, err := r.tokens.Issue(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	token, err := enrollment.ParseToken(text)
	if err != nil {
		r.Fatal(err)
	}
	return &token
}

// identity is one that was issued so long ago.
func (r *rig) identity(age time.Duration) *state.Identity { return r.identityOf("se-one", age) }

func (r *rig) identityOf(uuid string, age time.Duration) *state.Identity {
	r.Helper()
	key, csr, err := request(uuid)
	if err != nil {
		r.Fatal(err)
	}
	der, err := r.authority.IssueEngine(csr, uuid, "", time.Now().Add(-age))
	if err != nil {
		r.Fatal(err)
	}
	identity, err := accept(uuid, key, der, [][]byte{r.authority.CertificateDER()})
	if err != nil {
		r.Fatal(err)
	}
	return identity
}

func (r *rig) publish(plan *enginev1.Plan) {
	r.server.Publish(map[string]*enginev1.Plan{"se-one": plan}, 0)
}

func TestJoinsAndFollowsItsController(t *testing.T) {
	r := newRig(t)
	stop := r.serve()
	defer stop()
	link, _ := r.dial(r.token(), nil)
	r.expect("joined as se-one", "se-one connected with 0")
	r.publish(&enginev1.Plan{Revision: 1, Resources: []*enginev1.Resource{pool("a", "one"), pool("b", "two")}})
	r.expect("serves 1: a=one b=two", "applied 1")
	r.publish(&enginev1.Plan{Revision: 2, Resources: []*enginev1.Resource{pool("b", "bad")}})
	r.expect("refused 2: bad pool")
	r.publish(&enginev1.Plan{Revision: 3, Resources: []*enginev1.Resource{pool("b", "due")}})
	r.expect("serves 3: b=due", "applied 3")
	link.Send(verdictOf("s", true))
	r.expect("verdict s true")
}

func TestComesBackToAControllerThatWasAwayWithThePlanItHas(t *testing.T) {
	r := newRig(t)
	stop := r.serve()
	link, _ := r.dial(nil, r.identity(0))
	r.expect("se-one connected with 0")
	r.publish(&enginev1.Plan{Revision: 4, Resources: []*enginev1.Resource{pool("a", "one")}})
	r.expect("serves 4", "applied 4")
	stop()
	for range 10_000 {
		link.Send(verdictOf("nobody hears it", true))
	}
	defer r.serve()()
	r.expect("se-one connected with 4")
	r.publish(&enginev1.Plan{Revision: 5, Resources: []*enginev1.Resource{pool("a", "two")}})
	r.expect("serves 5: a=two", "applied 5")
}

func TestQuestionsReachTheEngineAndItsAnswersTheController(t *testing.T) {
	r := newRig(t)
	defer r.serve()()
	r.dial(nil, r.identity(0))
	r.expect("se-one connected with 0")
	if r.server.Ask("se-two", &dataplanev1.Question{Id: 8}) {
		t.Error("an engine that is not there is asked")
	}
	if !r.server.Ask("se-one", &dataplanev1.Question{Id: 9}) {
		t.Error("the engine is not asked")
	}
	r.expect("asked 9", "explanation 9 of 10.0.0.1:80")
}

func TestHangsUpWhenEverythingIsSaid(t *testing.T) {
	r := newRig(t)
	defer r.serve()()
	link, ran := r.dial(nil, r.identity(0))
	r.expect("se-one connected with 0")
	link.Send(verdictOf("last words", false))
	link.HangUp()
	r.expect("verdict last words false", "agent closed the session")
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

func TestRenewsItsCertificateWhenTwoThirdsOfItsLifeAreOver(t *testing.T) {
	r := newRig(t)
	defer r.serve()()
	r.dial(nil, r.identity(pki.EngineCertificateLifetime*3/4))
	got := []string{<-r.lines, <-r.lines} // in either order
	if slices.Sort(got); !slices.Equal(got, []string{"renewed, fresh: true", "se-one connected with 0"}) {
		t.Errorf("got %q", got)
	}
}

func TestSaysInOneLineWhyItMayNotJoin(t *testing.T) {
	r, other := newRig(t), newRig(t)
	defer r.serve()()
	used := r.token()
	r.dial(used, nil)
	r.expect("joined as se-one", "se-one connected")
	for name, c := range map[string]struct {
		token *enrollment.Token
		want  string
	}{
		"no token":                      {nil, "give it a new join token with --token"},
		"a token that was used":         {used, "join token refused"},
		"a token of another controller": {other.token(), "it is not the controller that made this token"},
	} {
		t.Run(name, func(t *testing.T) {
			_, ran := r.dial(c.token, nil)
			select {
			case err := <-ran:
				var refused *RefusedError
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) ||
					strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v", err)
				}
			case <-time.After(patience):
				t.Error("still tries")
			}
		})
	}
}

func TestSaysWhyTheControllerCouldNotTakeItThoughItsTokenIsGood(t *testing.T) {
	r := newRig(t)
	r.full = errors.New("no space left on disk")
	defer r.serve()()
	_, ran := r.dial(r.token(), nil)
	select {
	case err := <-ran:
		if err == nil || !strings.Contains(err.Error(),
			"no space left on disk; the token is used up: solve the problem, then join with a new token") {
			t.Errorf("got %v", err)
		}
	case <-time.After(patience):
		t.Error("still tries")
	}
}

func TestJoinsAgainWhenItsCertificateHasExpired(t *testing.T) {
	r := newRig(t)
	defer r.serve()()
	r.dial(r.token(), r.identity(2*pki.EngineCertificateLifetime))
	r.expect("joined as se-one", "se-one connected")
}

func TestJoinsAgainWithANewTokenWhenItWasDeleted(t *testing.T) {
	r := newRig(t)
	defer r.serve()()
	r.dial(r.token(), r.identityOf("se-deleted", 0))
	r.expect("joined as se-one", "se-one connected")
}

// expired is an identity that is good, and has expired by the clock of the engine.
func (r *rig) expired() *state.Identity {
	r.Helper()
	identity := r.identity(0)
	identity.Certificate.NotAfter = time.Now().Add(-time.Hour)
	return identity
}

func TestEngineWhoseClockIsWrongGoesOnWithTheIdentityThatItHas(t *testing.T) {
	r := newRig(t)
	defer r.serve()()
	used := r.token()
	r.dial(used, nil)
	r.expect("joined as se-one", "se-one connected")
	for name, token := range map[string]*enrollment.Token{"no token": nil, "a token that was used": used} {
		t.Run(name, func(t *testing.T) {
			r.dial(token, r.expired())
			got := []string{<-r.lines, <-r.lines} // in either order
			if slices.Sort(got); !slices.Equal(got, []string{"renewed, fresh: true", "se-one connected with 0"}) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestRenewsOnceThoughItsClockSaysThatTheNewCertificateIsDueToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		old := r.identity(0)
		time.Sleep(2 * pki.EngineCertificateLifetime)
		issuer := &issuer{r: r, begun: old.Certificate.NotBefore}
		l := New(Config{Identity: old, Engine: &engine{diary: r.diary}, Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithTimeout(t.Context(), renewalCheck-time.Second)
		defer cancel()
		l.keepRenewed(ctx, issuer)
		if issuer.issued != 1 {
			t.Errorf("renewed %d times within %v", issuer.issued, renewalCheck)
		}
	})
}

// issuer is a controller whose clock stands still.
type issuer struct {
	grpc.ClientConnInterface
	r      *rig
	begun  time.Time
	issued int
}

func (i *issuer) Invoke(_ context.Context, _ string, args, reply any, _ ...grpc.CallOption) error {
	i.issued++
	der, err := i.r.authority.IssueEngine(args.(*enginev1.RenewRequest).GetCsrDer(), "se-one", "", i.begun)
	answer := reply.(*enginev1.RenewResponse)
	answer.CertificateDer, answer.CaDer = der, [][]byte{i.r.authority.CertificateDER()}
	return err
}

// said passes on what a link logs.
type said struct {
	slog.Handler
	lines chan string
}

func (s said) Handle(_ context.Context, record slog.Record) error {
	record.Attrs(func(attribute slog.Attr) bool {
		if attribute.Key == "reason" {
			s.lines <- attribute.Value.String()
		}
		return true
	})
	return nil
}

func TestExpiredEngineSaysSoInOneLineAndKeepsTrying(t *testing.T) {
	r := newRig(t)
	stop := r.serve()
	log := said{slog.NewTextHandler(io.Discard, nil), make(chan string, 100)}
	l := New(Config{
		Address: r.address, Identity: r.identity(2 * pki.EngineCertificateLifetime), Engine: &engine{diary: r.diary},
		Log: slog.New(log),
	})
	ended := make(chan error, 1)
	go func() { ended <- l.Run(context.WithoutCancel(t.Context())) }()
	if line := <-log.lines; !strings.Contains(line, "expired certificate; it is good from 20") ||
		!strings.Contains(line, "--token") {
		t.Errorf("said %q", line)
	}
	stop()
	for line := range log.lines {
		if strings.Contains(line, "expired") {
			t.Errorf("said again %q", line)
		}
		if strings.HasPrefix(line, "cannot reach the controller") {
			break
		}
	}
	l.HangUp()
	if err := <-ended; err != nil {
		t.Errorf("gave up: %v", err)
	}
}

func TestTrustsNoControllerOfAnotherFleet(t *testing.T) {
	r, other := newRig(t), newRig(t)
	defer r.serve()()
	if _, err := dial(t.Context(), r.address, mutualTLS(other.identity(0), time.Now)); err == nil {
		t.Error("it spoke to a stranger")
	}
}

func TestTrustsNoEngineThatPosesAsTheController(t *testing.T) {
	r := newRig(t)
	authority, err := x509.ParseCertificate(r.authority.CertificateDER())
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(r.identity(0).Certificate, authority, time.Now()); err == nil {
		t.Error("an engine's certificate passes for the controller's")
	}
}

func TestTakesNoCertificateForAnotherKey(t *testing.T) {
	r := newRig(t)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := accept("se-one", other, r.identity(0).Certificate.Raw,
		[][]byte{r.authority.CertificateDER()}); err == nil {
		t.Error("it takes a certificate that it cannot use")
	}
}
