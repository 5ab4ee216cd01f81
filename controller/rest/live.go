package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
)

// Live opens feeds of what engines count now. Call Close of each.
type Live func(wanted LiveTopics) Feed

// LiveTopics are what a feed is about.
type LiveTopics struct {
	Tenant          string // uuid of the tenant whose overview it is; "": all tenants
	Overview        bool
	Engines         bool
	EngineLoads     bool     // with what they do for all tenants together
	VirtualServices []string // uuids
	Pools           []string // uuids
	AfterMs         int64    // id of the last event that the client has; 0: none
}

// Feed is one reader's way to events.
type Feed interface {
	// Next waits for the next event: its name, its id, and its JSON on one line. It begins at the last event, however
	// late it is called. Error: that of ctx.
	Next(ctx context.Context) (name, id string, data []byte, err error)
	Close()
}

const (
	// lookEvery is how often a stream looks whether its user may still read it, if nothing says so before.
	lookEvery = time.Second

	topicsMost = 200
)

var errStops = errors.New("The controller stops: connect again in a moment")

// streamLive answers "GET /api/weir/live?topics=…" with server-sent events, until the client goes or may read them no
// more.
func streamLive(c *call) error {
	wanted, err := c.liveTopics()
	if err != nil {
		return err
	}
	holder := c.who.SessionID
	if holder == "" {
		holder = c.who.UUID
	}
	leave, err := c.api.streams.enter(holder, c.who.UUID)
	if err != nil {
		return err
	}
	defer leave()
	if c.r.Method == http.MethodHead {
		return nil
	}
	c.view = nil // it would keep deleted objects in memory
	feed := c.api.live(wanted)
	defer feed.Close()
	ctx, end := context.WithCancelCause(c.r.Context())
	defer end(nil)
	go func() { end(c.barred(ctx)) }()
	s := &stream{call: c, feed: feed, out: http.NewResponseController(c.w)}
	c.broken(s.run(ctx))
	return nil // the status is sent
}

// liveTopics reads what the client asks for. Errors: *badQuery, *admit.NotFound.
func (c *call) liveTopics() (LiveTopics, error) {
	wanted := LiveTopics{Tenant: c.tenant.UUID}
	if c.tenant.All {
		wanted.Tenant = ""
	}
	topics := strings.FieldsFunc(c.query.Get("topics"), func(r rune) bool { return r == ',' })
	slices.Sort(topics)
	topics = slices.Compact(topics)
	if len(topics) == 0 || len(topics) > topicsMost {
		return wanted, &badQuery{"topics", fmt.Sprintf("give 1 to %d of overview, engines, vs:UUID and pool:UUID, "+
			"with commas between them", topicsMost)}
	}
	for _, topic := range topics {
		if err := c.addTopic(&wanted, topic); err != nil {
			return wanted, err
		}
	}
	last := c.r.Header.Get("Last-Event-ID")
	if last == "" {
		return wanted, nil
	}
	var err error
	if wanted.AfterMs, err = strconv.ParseInt(last, 10, 64); err != nil || wanted.AfterMs < 0 {
		return wanted, &badQuery{"Last-Event-ID", fmt.Sprintf("%q is the id of no event", last)}
	}
	return wanted, nil
}

func (c *call) addTopic(wanted *LiveTopics, topic string) error {
	name, uuid, _ := strings.Cut(topic, ":")
	list, kind := &wanted.VirtualServices, "virtualservice"
	switch {
	case topic == "overview":
		wanted.Overview = true
		return nil
	case topic == "engines":
		wanted.Engines, wanted.EngineLoads = true, c.tenant.All || c.tenant.UUID == admit.AdminTenant
		return nil
	case name == "vs" && uuid != "":
	case name == "pool" && uuid != "":
		list, kind = &wanted.Pools, "pool"
	default:
		return &badQuery{"topics", fmt.Sprintf("%q is no topic: give overview, engines, vs:UUID or pool:UUID", topic)}
	}
	*list = append(*list, uuid)
	return c.sees(kind, uuid)
}

// sees refuses an object that the tenant does not see; error: *admit.NotFound.
func (c *call) sees(kindName, uuid string) error {
	kind, _ := schema.Lookup(kindName)
	_, err := admit.Find(c.view, c.tenant, kind, uuid)
	return err
}

// barred waits until the user may read the stream no more, and says why; nil: ctx has ended.
func (c *call) barred(ctx context.Context) error {
	changes := c.api.store.Changes(ctx)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		ended := c.api.gate.Sessions.Ended()
		if err := c.lookAgain(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.api.streams.ending:
			return errStops
		case <-ended:
		case <-look.C:
		case _, open := <-changes:
			if !open {
				changes = nil
			}
		}
	}
}

// lookAgain checks the login and the tenant, which the beginning of the stream has checked.
func (c *call) lookAgain(ctx context.Context) error {
	who, err := c.api.gate.LookAgain(ctx, c.who)
	if err != nil {
		return err
	}
	if err := who.MayEnter(c.tenant); err != nil {
		return err
	}
	c.who = who
	return c.needIn(c.tenant)
}

// stream writes the events of one feed.
type stream struct {
	call *call
	feed Feed
	out  *http.ResponseController
}

// run writes events until ctx ends, and then the reason of that. The timeout for answers does not hold: each event has
// one of its own. Error: the client does not read.
func (s *stream) run(ctx context.Context) error {
	header := s.call.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // a proxy must not hold events back
	s.call.w.WriteHeader(http.StatusOK)
	for {
		waiting, cancel := context.WithTimeout(ctx, s.call.api.timeouts.ping)
		s.call.conn.Rest() // it waits, and its place may be needed
		name, id, data, err := s.feed.Next(waiting)
		s.call.conn.Work()
		cancel()
		switch {
		case ctx.Err() != nil:
			return s.end(context.Cause(ctx))
		case err != nil:
			err = s.write(": nothing new\n\n")
		default:
			err = s.write(fmt.Sprintf("event: %s\nid: %s\ndata: %s\n\n", name, id, data))
		}
		if err != nil {
			return err
		}
	}
}

// end writes why the stream ends, for a client that is still there.
func (s *stream) end(cause error) error {
	if cause == nil || errors.Is(cause, context.Canceled) {
		return nil
	}
	text := schema.AppendJSON(nil, schema.Object{"reason": cause.Error(), "status": int64(statusOf(cause))})
	return s.write(fmt.Sprintf("event: end\ndata: %s\n\n", text))
}

func (s *stream) write(text string) error {
	if err := s.out.SetWriteDeadline(time.Now().Add(s.call.api.timeouts.event)); err != nil {
		return err
	}
	if _, err := s.call.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.out.Flush()
}
