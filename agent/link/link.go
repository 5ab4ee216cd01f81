// Package link is the agent's end of the line to its controller. It joins once with a token, then keeps one Session
// open over mutual TLS. Session (session.go) decides, without a socket; Link does the I/O. Nothing here makes the
// engine wait: while the controller is away or frozen, reports are dropped, and the next Hello reports everything
// again.
package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/weir-lb/weir/agent/state"
	"github.com/weir-lb/weir/api/engine/enrollment"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/backoff"
)

const (
	welcomeTimeout = 10 * time.Second
	// heartbeatMin keeps a controller's mistake from becoming a flood.
	heartbeatMin = 100 * time.Millisecond
	// renewalCheck is how often the clock is read for renewal, so that a clock that jumps does no lasting harm.
	renewalCheck = time.Hour
	renewalRetry = time.Minute
)

// Engine is whom the link speaks for. None of its methods may block.
type Engine interface {
	Joined(*state.Identity)       // with this controller, for the first time
	Renewed(*state.Identity)      // another certificate of the same engine
	Hello() *enginev1.Hello       // a stream begins
	Receive(*enginev1.PlanDelta)  // a change of Plan
	Ask(*dataplanev1.Question)    // what would happen to a request; an Explanation is sent
	Share(*dataplanev1.KeyShares) // of the rates of hot keys
	Heartbeat() *enginev1.Status  // the controller wants to hear that we live
}

// Config says where the controller is and who we are to it.
type Config struct {
	Address  string
	Name     string            // of the engine, proposed when it joins
	Token    *enrollment.Token // nil: none was given
	Identity *state.Identity   // nil: this engine has to join
	Engine   Engine
	Records  Records // nil: there are none
	Log      *slog.Logger
}

// Link is the line to one controller.
type Link struct {
	Config
	now      func() time.Time
	rejected error         // why the controller did not take this identity; nil: it did, or was not asked
	leaving  chan struct{} // closed by HangUp
	mu       sync.Mutex
	outbox   *outbox // of the stream that stands; nil: none
}

// New makes a link that is idle until Run.
func New(config Config) *Link {
	return &Link{Config: config, now: time.Now, leaving: make(chan struct{})}
}

// HangUp ends Run in order: everything sent is delivered, and the controller learns that this is the end. It is called
// once. To end the context of Run does the same faster.
func (l *Link) HangUp() {
	close(l.leaving)
}

func (l *Link) isLeaving() bool {
	select {
	case <-l.leaving:
		return true
	default:
		return false
	}
}

// Send gives a report to the open stream. Without a stream it drops the report, because Hello reports everything. It
// never blocks.
func (l *Link) Send(report *enginev1.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.outbox != nil {
		l.outbox.put(report)
	}
}

// Run keeps a session open until ctx ends. It returns earlier only with a RefusedError: the engine has no identity and
// cannot get one.
func (l *Link) Run(ctx context.Context) error {
	pause := backoff.Backoff{First: 100 * time.Millisecond, Most: 5 * time.Second}
	var said string
	for {
		welcomed, err := l.converse(ctx)
		if ctx.Err() != nil || l.isLeaving() {
			return nil
		}
		if refused := (*RefusedError)(nil); l.Identity == nil && errors.As(err, &refused) {
			return err
		}
		if errors.Is(err, errDisowned) || errors.Is(err, errUnaccepted) {
			l.rejected = err
		}
		if welcomed {
			pause.Reset()
			said = ""
		}
		if line := l.advise(err); line != said {
			said = line
			l.Log.Warn("no session with the controller; the engine goes on with the Plan it has", "controller",
				l.Address, "reason", said)
		}
		select {
		case <-time.After(pause.Next()):
		case <-l.leaving:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// converse joins if it must and holds one session until it breaks, which is always an error.
func (l *Link) converse(ctx context.Context) (welcomed bool, err error) {
	if err := l.identify(ctx); err != nil {
		return false, err
	}
	connection, err := dial(ctx, l.Address, mutualTLS(l.Identity, l.now))
	if err != nil {
		return false, err
	}
	defer connection.Close()
	ctx, hangUp := context.WithCancelCause(ctx)
	defer hangUp(nil)
	patience := time.AfterFunc(welcomeTimeout, func() { hangUp(errors.New("the controller does not answer")) })
	defer patience.Stop()
	stream, err := enginev1.NewFleetClient(connection).Session(ctx)
	if err != nil {
		return false, plain(err)
	}
	talk := conversation{
		link: l, stream: stream, outbox: newOutbox(), heartbeat: make(chan time.Duration, 1), patience: patience,
	}
	var work errgroup.Group
	end := func(task func(context.Context) error) {
		work.Go(func() error {
			err := task(ctx)
			hangUp(err)
			return err
		})
	}
	end(talk.receive)
	end(talk.send)
	end(func(ctx context.Context) error { return l.keepRenewed(ctx, connection) })
	if l.Records != nil {
		end(l.keepTelling)
	}
	work.Wait()
	return talk.greeted, context.Cause(ctx)
}

// advise adds what to do about a refused certificate. Most often a clock is wrong, and the certificate is valid again
// once the clock is right.
func (l *Link) advise(err error) string {
	if !errors.Is(err, errUnaccepted) {
		return err.Error()
	}
	return fmt.Sprintf(
		"%v; it is good %s: set the controller's clock right, or give the engine a new join token with --token",
		err, validity(l.Identity.Certificate))
}

// identify makes sure that there is an identity, and joins if there is none. Only the controller decides whether the
// identity is still valid, because our own clock may be wrong.
func (l *Link) identify(ctx context.Context) error {
	why := l.reasonToJoin()
	if why == "" {
		return nil
	}
	if l.Token == nil {
		return &RefusedError{l.Address, why + "; give it a new join token with --token"}
	}
	identity, err := join(ctx, l.Address, *l.Token, l.Name, l.now)
	if refused := (*RefusedError)(nil); errors.As(err, &refused) && l.rejected != nil {
		l.Token = nil // as old as the identity perhaps, which is all there is now
	}
	if err != nil {
		return err
	}
	l.become(identity)
	l.Token, l.rejected = nil, nil // a token is good for one time
	l.Engine.Joined(identity)
	l.Log.Info("joined", "controller", l.Address, "engine", identity.EngineUUID, "because", why)
	return nil
}

// reasonToJoin is empty if there is an identity, and no token or no need to replace it.
func (l *Link) reasonToJoin() string {
	switch {
	case l.Identity == nil:
		return "this engine has not joined yet"
	case l.Token == nil:
		return ""
	case !l.Identity.HasAuthority(l.Token.Fingerprint):
		return "the token is of another controller"
	case l.rejected != nil:
		return l.rejected.Error()
	default:
		return ""
	}
}

// keepRenewed replaces the certificate in time, for as long as the session lasts.
func (l *Link) keepRenewed(ctx context.Context, connection grpc.ClientConnInterface) error {
	for {
		wait := min(time.Until(renewal(l.Identity.Certificate)), renewalCheck)
		if wait <= 0 {
			wait = renewalRetry
			if identity, err := renew(ctx, connection, l.Identity); err == nil {
				l.become(identity)
				l.Engine.Renewed(identity)
				wait = renewalCheck // and not at once, should our clock say that this one is due as well
			} else if ctx.Err() == nil {
				l.Log.Warn("cannot renew the engine's certificate; trying again", "expires",
					l.Identity.Certificate.NotAfter, "reason", err)
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// conversation is one stream: what comes, what goes.
type conversation struct {
	link      *Link
	stream    grpc.BidiStreamingClient[enginev1.Report, enginev1.Directive]
	outbox    *outbox
	heartbeat chan time.Duration   // capacity 1: the interval that Welcome asks for
	told      atomic.Pointer[told] // nil: the controller takes whole Samples only
	patience  *time.Timer          // ends the stream when no Welcome comes
	greeted   bool
}

func (c *conversation) receive(context.Context) error {
	for {
		directive, err := c.stream.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the controller ended the session")
		}
		if err != nil {
			return plain(err)
		}
		switch body := directive.GetBody().(type) {
		case *enginev1.Directive_Welcome:
			if err := c.welcome(body.Welcome); err != nil {
				return err
			}
		case *enginev1.Directive_Plan:
			c.link.Engine.Receive(body.Plan)
		case *enginev1.Directive_Question:
			c.link.Engine.Ask(body.Question)
		case *enginev1.Directive_KeyShares:
			c.link.Engine.Share(body.KeyShares)
		}
	}
}

func (c *conversation) welcome(welcome *enginev1.Welcome) error {
	if c.greeted {
		return errors.New("the controller said Welcome twice")
	}
	c.greeted = true
	c.patience.Stop()
	if welcome.GetTakesChanges() {
		c.told.Store(newTold())
	}
	c.heartbeat <- max(time.Duration(welcome.GetHeartbeatIntervalMs())*time.Millisecond, heartbeatMin)
	c.link.Log.Info("session with the controller", "controller", c.link.Address)
	return nil
}

// send sends Hello and then everything in the outbox, and a heartbeat if nothing was sent for long.
func (c *conversation) send(ctx context.Context) error {
	c.link.open(c.outbox)
	defer c.link.open(nil)
	if err := c.stream.Send(&enginev1.Report{Body: &enginev1.Report_Hello{Hello: c.link.Engine.Hello()}}); err != nil {
		return broken(ctx)
	}
	beat := time.NewTicker(time.Hour)
	defer beat.Stop()
	for {
		select {
		case interval := <-c.heartbeat:
			beat.Reset(interval)
		case <-beat.C:
			c.outbox.put(&enginev1.Report{Body: &enginev1.Report_Status{Status: c.link.Engine.Heartbeat()}})
		case <-c.outbox.ready:
			if err := c.flush(ctx); err != nil {
				return err
			}
		case <-c.link.leaving:
			return c.leave(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *conversation) flush(ctx context.Context) error {
	reports, ok := c.outbox.take()
	if !ok {
		return fmt.Errorf("the controller asked for more than %d answers without reading them", answersMax)
	}
	for _, report := range reports {
		if told := c.told.Load(); told != nil && report.GetSample() != nil {
			report = &enginev1.Report{Body: &enginev1.Report_Sample{Sample: told.changes(report.GetSample())}}
		}
		if err := c.stream.Send(report); err != nil {
			return broken(ctx)
		}
	}
	return nil
}

// leave sends the last reports, and waits until the controller has received them: then the controller ends the stream,
// too.
func (c *conversation) leave(ctx context.Context) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	if err := c.stream.CloseSend(); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// broken waits for the receiver to say why: the error of Send is only an io.EOF.
func broken(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (l *Link) become(identity *state.Identity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Identity = identity
}

func (l *Link) open(outbox *outbox) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outbox = outbox
}
