// Package explain asks engines what would happen to a request now, and collects their answers. Nothing is sent to a
// server, and nothing changes. The way of a question: rest → find.go chooses the virtual service → link sends the
// question to its engines → their agents → their data planes, and back → page.go.
package explain

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
)

const (
	// Patience is how long an engine may take to answer.
	Patience = 3 * time.Second
	// atOnceMax is the number of questions that are asked at a time; another one is refused.
	atOnceMax = 8
)

// ErrBusy: too many questions are asked at once.
var ErrBusy = errors.New("too many requests are being explained: try again in a moment")

// Question is a request that nobody sends.
type Question struct {
	TLS            bool
	Host           string     // of the URL, without the port
	Authority      string     // the field Host
	Address        netip.Addr // that the client connects to; invalid: that of the virtual service
	Port           uint16
	Method, Target string
	Fields         [][2]string
	Client         netip.AddrPort
	VirtualService string // uuid; empty: the one that the address, port and host lead to
	Engine         string // uuid; empty: all that serve it
}

// Ask sends a question to an engine. false: the engine is not connected.
type Ask func(engineUUID string, question *dataplanev1.Question) bool

// Explainer asks, and knows which answers are awaited. It is safe for concurrent use.
type Explainer struct {
	fleet *fleet.Fleet
	after func(time.Duration) <-chan time.Time

	mu      sync.Mutex
	ask     Ask
	last    uint64 // id of the last question
	asking  int
	awaited map[uint64]awaited
}

// awaited is an answer that an engine owes.
type awaited struct {
	engine string
	answer chan *dataplanev1.Explanation // capacity 1
}

// New returns an explainer that can ask after Connect.
func New(known *fleet.Fleet) *Explainer {
	return &Explainer{fleet: known, after: time.After, awaited: map[uint64]awaited{},
		ask: func(string, *dataplanev1.Question) bool { return false }}
}

// Connect says how engines are asked.
func (e *Explainer) Connect(ask Ask) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ask = ask
}

// Heard takes an answer. It ignores those that nobody awaits, or awaits from another engine.
func (e *Explainer) Heard(engineUUID string, answer *dataplanev1.Explanation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	owed, known := e.awaited[answer.GetId()]
	if !known || owed.engine != engineUUID {
		return
	}
	delete(e.awaited, answer.GetId())
	owed.answer <- answer
}

// asked is an engine that a question is for.
type asked struct {
	uuid, name string
	newest     bool           // it has its newest Plan
	has        *enginev1.Plan // that a draft starts from
	error      string         // why it cannot be asked, or has not answered
	id         uint64
	answer     chan *dataplanev1.Explanation
	said       *dataplanev1.Explanation
}

// Explain asks the engines of a virtual service that Find has found. sees tells whether the user may read a virtual
// service. Errors: ErrBusy, that of ctx.
func (e *Explainer) Explain(ctx context.Context, q Question, found Found, draft *Draft,
	sees func(uuid string) bool) (schema.Object, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	engines := e.engines(found.VirtualService, q.Engine, draft)
	for _, engine := range engines {
		if engine.error == "" {
			e.send(engine, q, found, draft)
		}
	}
	defer e.forget(engines)
	if err := e.await(ctx, engines); err != nil {
		return nil, err
	}
	for _, engine := range engines {
		if said := engine.said; draft != nil && said != nil && said.GetError() == "" && !said.GetOfDraft() {
			engine.error = "it is of an earlier version, which knows no drafts"
		}
	}
	return e.page(q, found, engines, draft, sees), nil
}

func (e *Explainer) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asking >= atOnceMax {
		return ErrBusy
	}
	e.asking++
	return nil
}

func (e *Explainer) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asking--
}

// engines returns those that serve a virtual service, or the one that is asked for, by name.
func (e *Explainer) engines(serviceUUID, only string, draft *Draft) (engines []*asked) {
	e.fleet.Read(func(known *fleet.Known) {
		vs := draft.objects(known).VirtualService(serviceUUID)
		if vs == nil {
			return
		}
		serving := draft.serving(known, vs.SeatsOf())
		if only != "" && !slices.Contains(serving, only) {
			engines = append(engines, &asked{uuid: only, name: known.Name(only), error: "it does not serve " + vs.Name})
			return
		}
		for _, uuid := range serving {
			if only != "" && uuid != only {
				continue
			}
			engine := known.Engine(uuid)
			one := &asked{uuid: uuid, name: known.Name(uuid)}
			switch {
			case !engine.IsConnected():
				one.error = "it is not connected"
			case draft != nil && !engine.HasNewest():
				one.error = "it does not have its newest configuration yet, from which the draft starts: ask again"
			default:
				one.newest, one.has = engine.HasNewest(), engine.Held
			}
			engines = append(engines, one)
		}
	})
	slices.SortFunc(engines, func(a, b *asked) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.uuid, b.uuid))
	})
	return engines
}

func (e *Explainer) send(to *asked, q Question, found Found, draft *Draft) {
	var change *dataplanev1.PlanChange
	if draft != nil {
		change = draft.Change(to.uuid, to.has)
	}
	e.mu.Lock()
	e.last++
	to.id, to.answer = e.last, make(chan *dataplanev1.Explanation, 1)
	e.awaited[to.id] = awaited{to.uuid, to.answer}
	ask := e.ask
	e.mu.Unlock()
	question := &dataplanev1.Question{
		Id: to.id, Address: found.Address.String(), Port: uint32(q.Port), Tls: q.TLS, ServerName: serverName(q),
		ClientAddress: q.Client.Addr().String(), ClientPort: uint32(q.Client.Port()), Method: q.Method,
		Target: q.Target, Host: q.Authority, Draft: change,
	}
	for _, field := range q.Fields {
		question.Fields = append(question.Fields, &dataplanev1.Field{Name: field[0], Value: field[1]})
	}
	if !ask(to.uuid, question) {
		to.error = "it is not connected"
	}
}

// serverName is empty for an address, which no client names in TLS (RFC 6066 §3).
func serverName(q Question) string {
	if _, err := netip.ParseAddr(q.Host); err == nil || !q.TLS {
		return ""
	}
	return q.Host
}

// await waits for the answers, all together as long as one may take.
func (e *Explainer) await(ctx context.Context, engines []*asked) error {
	late := e.after(Patience)
	for _, engine := range engines {
		if engine.error != "" {
			continue
		}
		select {
		case engine.said = <-engine.answer:
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			// The others have had their time, too. Their answers may be here already.
			closed := make(chan time.Time)
			close(closed)
			late = closed
			select {
			case engine.said = <-engine.answer:
			default:
				engine.error = "it has not answered within " + Patience.String() + ": it may be of an earlier version"
			}
		}
	}
	return nil
}

func (e *Explainer) forget(engines []*asked) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, engine := range engines {
		delete(e.awaited, engine.id)
	}
}

// listens tells whether a virtual service listens on a port.
func listens(vs *model.VirtualService, port uint16) bool {
	return slices.ContainsFunc(vs.Ports(), func(s service) bool {
		return uint32(port) == s.Port || uint32(port) > s.Port && uint32(port) <= s.PortRangeEnd
	})
}

// takesConnections tells whether a virtual service listens on a port over TCP. The port may have a profile of its own.
func takesConnections(vs *model.VirtualService, port uint16) bool {
	return slices.ContainsFunc(vs.Parts(), func(part *model.VirtualService) bool {
		return part.UDP == nil && listens(part, port)
	})
}
