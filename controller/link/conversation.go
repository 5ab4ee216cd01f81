package link

import (
	"fmt"
	"time"

	"google.golang.org/grpc"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// conversation connects one session with one stream.
type conversation struct {
	server  *Server
	engine  string
	desk    *desk
	visit   *visit
	session *session
	out     chan *enginev1.Directive
}

// run returns when the stream fails, the agent breaks the protocol or is silent, or the controller ends the visit. gRPC
// then ends the stream, which releases a receive or a send that hangs.
func (c *conversation) run(stream grpc.BidiStreamingServer[enginev1.Report, enginev1.Directive]) error {
	in := make(chan *enginev1.Report)
	c.out = make(chan *enginev1.Directive, directivesMax)
	defer close(c.out)
	failed := make(chan error, 2)
	go func() { failed <- receive(stream, in) }()
	go func() { failed <- transmit(stream, c.out, c.visit) }()
	ticker := time.NewTicker(HeartbeatInterval / 2)
	defer ticker.Stop()

	held, target := c.desk.plans()
	c.session = newSession(held, target, time.Now())
	for {
		var err error
		select {
		case report := <-in:
			err = c.hear(report)
		case <-c.visit.retargeted:
			_, target := c.desk.plans()
			err = c.pass(c.session.retarget(target))
		case now := <-ticker.C:
			err = c.tick(now)
		case <-c.visit.ended:
			err = c.visit.cause
		case err = <-failed:
		}
		if err != nil {
			return err
		}
	}
}

func (c *conversation) hear(report *enginev1.Report) error {
	step, err := c.session.report(report, time.Now())
	if err != nil {
		return err
	}
	hello := report.GetHello()
	current := c.desk.tell(c.visit, func() {
		if hello != nil {
			c.desk.greeted = c.server.engines.Connected(c.engine, hello)
		} else {
			c.server.engines.Reported(c.engine, report)
		}
	})
	if !current {
		return c.visit.cause
	}
	if hello != nil {
		c.server.log.Info("engine connected", "engine", c.engine, "host", hello.GetResources().GetHostname(),
			"version", hello.GetVersion(), "revision", hello.GetRevision())
	}
	return c.pass(step)
}

func (c *conversation) tick(now time.Time) error {
	step, err := c.session.tick(now)
	if err != nil {
		return err
	}
	return c.pass(step)
}

// pass carries out a step of the session: it reports the outcome and queues the directives.
func (c *conversation) pass(step step) error {
	if outcome := step.outcome; outcome != nil && outcome.applied {
		c.desk.tell(c.visit, func() {
			c.desk.held = outcome.plan
			c.server.engines.Applied(c.engine, outcome.plan, outcome.findings)
		})
	} else if outcome != nil {
		c.desk.tell(c.visit, func() { c.server.engines.Refused(c.engine, outcome.plan, outcome.findings) })
		c.logRefusal(outcome)
	}
	for _, directive := range step.directives {
		select {
		case c.out <- directive:
		default:
			return fmt.Errorf("%w: the agent answered a Plan before it was sent", ErrProtocol)
		}
	}
	return nil
}

// findingsLogged is the number of errors of one Plan that the log of the process names. The runtime of the engine has
// all.
const findingsLogged = 20

func (c *conversation) logRefusal(refused *outcome) {
	log := c.server.log.With("engine", c.engine, "revision", refused.plan.GetRevision())
	for _, finding := range refused.findings[:min(len(refused.findings), findingsLogged)] {
		log.Warn("engine refused a change", "object", finding.GetKind()+" "+finding.GetName(),
			"field", finding.GetField(), "message", finding.GetMessage())
	}
	if more := len(refused.findings) - findingsLogged; more > 0 {
		log.Warn("engine refused a change for more reasons", "reasons", more)
	}
}

func receive(stream grpc.BidiStreamingServer[enginev1.Report, enginev1.Directive], in chan<- *enginev1.Report) error {
	for {
		report, err := stream.Recv()
		if err != nil {
			return err
		}
		select {
		case in <- report:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// transmit sends the directives, and questions and shares after the first of them. It is the only part that waits for a
// slow engine.
func transmit(stream grpc.BidiStreamingServer[enginev1.Report, enginev1.Directive],
	out <-chan *enginev1.Directive, visit *visit) error {
	var questions <-chan *dataplanev1.Question
	var shares <-chan *dataplanev1.KeyShares
	for {
		var next *enginev1.Directive
		select {
		case directive, open := <-out:
			if !open {
				return nil
			}
			next, questions, shares = directive, visit.questions, visit.shares
		case question := <-questions:
			next = &enginev1.Directive{Body: &enginev1.Directive_Question{Question: question}}
		case share := <-shares:
			next = &enginev1.Directive{Body: &enginev1.Directive_KeyShares{KeyShares: share}}
		}
		if err := stream.Send(next); err != nil {
			return err
		}
	}
}
