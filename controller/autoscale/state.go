package autoscale

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/store"
)

// Kind is the kind of the records with the state of a pool, whose uuid they have. The API does not show this kind.
const Kind = "poolautoscale"

// PoolKind is the kind of the objects that are scaled.
const PoolKind = "pool"

// State is what is known of the scaling of a pool. It is stored, so that the next leader repeats an order and makes no
// second one.
type State struct {
	UUID string `json:"uuid"` // of the pool
	Out  *Order `json:"out"`  // the last one for more servers; nil: there was none
	In   *Order `json:"in"`   // the last one for fewer servers
}

// Order is a decision to scale a pool, and how far it is.
type Order struct {
	ID    string `json:"id"`
	Phase Phase  `json:"phase"`
	Why   string `json:"why"`
	Count int    `json:"count"` // how many servers are to come or to leave
	// Servers are ids: of the servers that leave, or of those that the pool had before others are to come.
	Servers []string  `json:"servers"`
	Keys    []string  `json:"keys"`    // of Servers: they stay when the port of the pool changes
	Enabled []string  `json:"enabled"` // of Servers: somebody has enabled them, after the webhook took the order
	Begun   time.Time `json:"begun"`
	Since   time.Time `json:"since"`  // when the phase began
	Tries   int       `json:"tries"`  // of asking the webhook
	Open    bool      `json:"open"`   // the webhook has taken a request, or may have
	Result  string    `json:"result"` // what the webhook said, why it failed, or why the pool got its servers back
}

// Phase is how far an order is.
type Phase string

const (
	Draining  Phase = "DRAINING"   // its servers are disabled, and end what they have
	Asking    Phase = "ASKING"     // the webhook is asked
	Waiting   Phase = "WAITING"    // the webhook has taken the order, and the pool does not show it yet
	Done      Phase = "DONE"       // the pool has the servers, or has them no more
	Failed    Phase = "FAILED"     // the webhook did not take the order, or the pool does not show it in time
	CalledOff Phase = "CALLED_OFF" // nobody follows it any more
)

// isUnderWay tells whether the pool waits for the order; nil: there is none.
func (o *Order) isUnderWay() bool {
	return o != nil && (o.Phase == Draining || o.Phase == Asking || o.Phase == Waiting)
}

// id is empty if there is no order.
func (o *Order) id() string {
	if o == nil {
		return ""
	}
	return o.ID
}

// isAsked tells whether a webhook is asked for the order, and the order has this id.
func (o *Order) isAsked(id string) bool { return o.id() == id && o != nil && o.Phase == Asking }

// renamed returns the order with the ids that its servers have now.
func (o *Order) renamed(servers []server) *Order {
	if o == nil || len(o.Keys) != len(o.Servers) {
		return o
	}
	next := *o
	next.Servers = slices.Clone(o.Servers)
	for i, key := range o.Keys {
		if at := slices.IndexFunc(servers, func(s server) bool { return s.key == key }); at >= 0 {
			next.Servers[i] = servers[at].id
		}
	}
	return &next
}

// until returns the order without times that are still to come: the clock was wrong when they were stored.
func (o *Order) until(now time.Time) *Order {
	if o == nil || !o.Begun.After(now) && !o.Since.After(now) {
		return o
	}
	next := *o
	if next.Begun.After(now) {
		next.Begun = now
	}
	if next.Since.After(now) {
		next.Since = now
	}
	return &next
}

// canBeCalledOff tells whether the servers of an order for fewer can be enabled again: no webhook removes them.
func (o *Order) canBeCalledOff(seen sight) bool {
	return o != nil && (o.Phase == Draining || o.isFree(seen) || o.Phase == Failed && !o.Open)
}

// isFree tells whether the webhook is asked for the order, and has not taken it, and did not take it when it was asked
// earlier.
func (o *Order) isFree(seen sight) bool { return o.Phase == Asking && seen.isFree && !o.Open }

// dropped says what becomes of the servers of an order for fewer that nobody follows any more.
func (o *Order) dropped(why string) string {
	if o.Phase == Draining || o.Phase == Failed && !o.Open {
		return fmt.Sprintf("called off: %s. Still disabled: %s", why, list(o.Servers))
	}
	return fmt.Sprintf("%s, and the webhook may have taken the order to remove %s. Nobody follows it", why,
		list(o.Servers))
}

// enter returns the order in another phase.
func (o *Order) enter(phase Phase, result string, now time.Time) *Order {
	next := *o
	next.Phase, next.Since, next.Result = phase, now, result
	return &next
}

// rest is how long after an order there is no other one.
func (o *Order) rest(cooldownS uint32) time.Time {
	if o == nil {
		return time.Time{}
	}
	return o.Begun.Add(time.Duration(cooldownS) * time.Second)
}

func (s State) equal(other State) bool { return s.Out.equal(other.Out) && s.In.equal(other.In) }

func (o *Order) equal(other *Order) bool {
	return o == other || o != nil && other != nil && o.ID == other.ID && o.Phase == other.Phase &&
		o.Result == other.Result && o.Since.Equal(other.Since) && o.Begun.Equal(other.Begun) && o.Open == other.Open &&
		slices.Equal(o.Servers, other.Servers) &&
		slices.Equal(o.Keys, other.Keys) && slices.Equal(o.Enabled, other.Enabled)
}

// stateOf is what is stored of a pool. A record of another version counts as none.
func stateOf(view *store.View, pool string) (state State, stored bool) {
	record, stored := view.Get(Kind, pool)
	if read, err := store.Read[State](record); err == nil && read != nil {
		state = *read
	}
	state.UUID = pool
	return state, stored
}
