package autoscale

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-lb/weir/controller/alert/notify"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// request is what a webhook is asked. Its JSON is the body; docs/autoscale.md describes it.
type request struct {
	ID      string    `json:"id"`     // of the order: a repetition has the same
	Action  string    `json:"action"` // SCALEOUT or SCALEIN
	Reason  string    `json:"reason"`
	Count   int       `json:"count"`             // how many servers are to be made, or removed
	Servers []machine `json:"servers,omitempty"` // that are to be removed; they are disabled
	Pool    named     `json:"pool"`
	Tenant  string    `json:"tenant"` // uuid, of the pool
	Policy  named     `json:"policy"`
	Launch  launch    `json:"launch_config"`
	Size    int       `json:"size"` // number of servers that are enabled
	Least   int       `json:"min_size"`
	Most    int       `json:"max_size"`
	At      time.Time `json:"at"` // when it was decided
}

type named struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
}

type launch struct {
	UUID    string `json:"uuid"`
	Name    string `json:"name"`
	ImageID string `json:"image_id,omitempty"`
}

// machine is a server that is to be removed.
type machine struct {
	ID           string `json:"id"`
	Address      string `json:"ip"`
	Port         uint32 `json:"port"`
	Hostname     string `json:"hostname"`
	ExternalUUID string `json:"external_uuid,omitempty"`
}

// requestOf is what an order asks for.
func requestOf(order *Order, pool *scaled, seen sight, action string) *request {
	r := &request{ID: order.ID, Action: action, Reason: order.Why, Count: order.Count,
		Pool: named{pool.UUID, pool.Name}, Tenant: pool.tenant, Policy: named{pool.policy.UUID, pool.policy.Name},
		Launch: launch{pool.launch.UUID, pool.launch.Name, pool.launch.ImageID},
		Size:   seen.size(), Least: int(pool.policy.MinSize), Most: pool.policy.Most(), At: order.Begun.UTC()}
	if action == scaleOut {
		return r
	}
	for i := range pool.Servers {
		if one := &pool.Servers[i]; slices.Contains(order.Servers, one.ID(pool.DefaultServerPort)) {
			r.Servers = append(r.Servers, machineOf(one, pool.DefaultServerPort))
		}
	}
	r.Count = len(r.Servers)
	return r
}

func machineOf(one *kinds.Server, defaultPort uint32) machine {
	return machine{one.ID(defaultPort), one.IP.Addr, one.PortOr(defaultPort), one.Hostname, one.ExternalUUID}
}

const (
	scaleOut = "SCALEOUT"
	scaleIn  = "SCALEIN"
)

// asking is an order that a webhook is asked for. The outcome is nil until that has ended.
type asking struct {
	cancel  context.CancelFunc
	line    line
	outcome atomic.Pointer[outcome]

	mu     sync.Mutex // held while a request is under way
	isOpen bool       // the webhook may have taken a try, also one of an earlier leader
}

// hold lets no request begin until release. isHeld: none is under way now. isFree: and the webhook has taken none. nil
// is an order that nobody asks for.
func (a *asking) hold() (isHeld, isFree bool, release func()) {
	if a == nil || !a.mu.TryLock() {
		return a == nil, false, func() {}
	}
	return true, !a.isOpen, a.mu.Unlock
}

// askFor has the webhook asked for the orders of a pool that it is to be asked for, once each. was is the state before.
func (w *Watch) askFor(ctx context.Context, pool *scaled, seen sight, was State, out, in *Order) {
	for _, each := range []struct {
		order, was *Order
		action     string
	}{{out, was.Out, scaleOut}, {in, was.In, scaleIn}} {
		order := each.order
		if order == nil || order.Phase != Asking || pool.webhook == "" {
			continue
		}
		if _, begun := w.asking[order.ID]; begun {
			continue
		}
		asks, cancel := context.WithCancel(ctx)
		one := &asking{cancel: cancel, line: w.lines.of(pool.webhook),
			isOpen: each.was.isAsked(order.ID)} // an earlier leader may have asked
		said := requestOf(order, pool, seen, each.action)
		w.asking[order.ID] = one
		w.busy.Go(func() { w.ask(asks, one, pool, said) })
	}
}

// ask asks until the webhook takes the order, five times at most, or until the order is dropped.
func (w *Watch) ask(ctx context.Context, one *asking, pool *scaled, said *request) {
	defer one.cancel()
	for try := 1; ; try++ {
		leave := one.line.enter(ctx)
		ended := w.try(ctx, one, pool, said, try)
		if leave(); ended {
			return
		}
		w.config.Pause(ctx, try)
	}
}

// try asks once. It tells whether asking has ended.
func (w *Watch) try(ctx context.Context, one *asking, pool *scaled, said *request, try int) (ended bool) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if ctx.Err() != nil {
		return true
	}
	result := w.config.Post(ctx, pool.webhook, said.ID, said)
	if ctx.Err() != nil {
		return true // the next leader asks
	}
	one.isOpen = one.isOpen || result.OK || result.Open
	if !result.OK && try < notify.TriesMost {
		return false
	}
	answer := result.Answer
	if pool.isForeign { // who reads the pool need not know what the webhook of another tenant answers
		w.config.Log.Info("a webhook of another tenant was asked to scale a pool", "pool", pool.UUID, "order", said.ID,
			"answer", answer)
		answer = "no answer"
		if result.Status != 0 {
			answer = strconv.Itoa(result.Status)
		}
	}
	one.outcome.Store(&outcome{taken: result.OK, open: one.isOpen, tries: try, answer: answer})
	return true
}

// outcomes are those of orders that webhooks were asked for.
func (w *Watch) outcomes(ids ...string) map[string]outcome {
	ended := map[string]outcome{}
	for _, id := range ids {
		if one := w.asking[id]; one != nil {
			if said := one.outcome.Load(); said != nil {
				ended[id] = *said
			}
		}
	}
	return ended
}
