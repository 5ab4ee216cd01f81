package autoscale

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

const (
	// patienceLeast is how long a pool at least has to show an order that the webhook has taken, and how long an order
	// that failed rests.
	patienceLeast = time.Minute
	// settleTime is how long engines usually need to hear of a disabled server, and to tell what it still has.
	settleTime = 15 * time.Second
	// tellTime is how long engines need to tell what a server still has, after they have heard that it is disabled.
	tellTime = 10 * time.Second
	// freshMost is how old an event or a record may be that scales a pool.
	freshMost = time.Minute
)

// sight is what the controller sees of a pool.
type sight struct {
	servers []server
	engines int // that serve with the pool
	fewest  int // the lowest number of them in the last minute
	needed  int // with fewer servers up, the pool is down
	// unheard are the names of engines that may not have heard of disabled servers. heard is since when there are none;
	// zero: there are some, or the controller has not told them yet.
	unheard []string
	heard   time.Time
	// limit is how many connections a server takes from one engine; 0: it has no limit.
	limit int
	// grace is how long a disabled server may finish what it has; below 0: as long as it takes.
	grace time.Duration
	// bound: until then, clients that are bound to a disabled server still get it.
	bound    bool
	out, in  []alarm            // alerts of the rules that the policy names
	outcomes map[string]outcome // what the webhook said, by id of the order
	// isHeld: no request for the removal is under way, and none begins before this has been decided. isFree: and the
	// webhook has not taken one.
	isHeld, isFree bool
	// peak is the highest number of connections of the last minute. isWatched: the leader has watched it for so long.
	peak      int
	isWatched bool
}

// server is a server of the pool.
type server struct {
	id      string
	key     string // of its address and its own port; the id changes with the port of the pool
	enabled bool
	up      bool
	open    int  // connections from engines
	fixed   bool // it has an address of its own in the pool, so it can be disabled
}

// alarm is an alert that fires.
type alarm struct {
	name, reason string
	at           time.Time // when it last happened
	lasts        bool      // it fires for as long as its cause lasts; otherwise it is about one moment
}

// outcome is how asking a webhook ended.
type outcome struct {
	taken  bool
	open   bool // it did not answer a try, which it may have taken
	tries  int
	answer string
}

// decision is what becomes of a pool.
type decision struct {
	State
	enable, disable []string // ids of servers
	told            []telling
	reason          string // why the pool scales, or why not
}

// telling is an event.
type telling struct{ id, message string }

func (d *decision) tell(id, format string, args ...any) {
	d.told = append(d.told, telling{id, fmt.Sprintf(format, args...)})
}

// decide follows the orders of a pool, and decides whether the pool scales.
func decide(state State, by *kinds.ServerAutoScalePolicy, seen sight, now time.Time) decision {
	d := decision{State: state}
	d.Out, d.In = state.Out.renamed(seen.servers).until(now), state.In.renamed(seen.servers).until(now)
	d.followOut(by, seen, now)
	wantsMore := scheduled(by, seen, d.wishOf(by, seen, now), now).more > 0
	d.followIn(by, seen, wantsMore, now)
	d.choose(by, seen, now)
	return d
}

// followOut goes on with an order for more servers.
func (d *decision) followOut(by *kinds.ServerAutoScalePolicy, seen sight, now time.Time) {
	order := d.Out
	if order == nil {
		return
	}
	if d.Out = order.heed(seen, now); d.Out.Phase != order.Phase {
		if d.Out.Phase == Waiting {
			d.tell("SERVER_AUTOSCALE_OUT", "the webhook takes the order for %s: %s", count(order.Count), d.Out.Result)
		} else {
			d.tell("SERVER_AUTOSCALE_OUT_FAILED", "the webhook does not take the order for %s in %d tries: %s",
				count(order.Count), d.Out.Tries, d.Out.Result)
		}
	}
	if d.Out.Phase != Waiting {
		return
	}
	come, patience := 0, patienceOf(by.OutCooldownS)
	for _, one := range seen.servers {
		if one.enabled && one.fixed && !slices.Contains(order.Servers, one.id) {
			come++
		}
	}
	switch {
	case come >= order.Count:
		d.Out = d.Out.enter(Done, "", now)
		d.tell("SERVER_AUTOSCALE_OUT_COMPLETE", "the pool has %s more", count(come))
	case now.Sub(d.Out.Since) >= patience:
		d.Out = d.Out.enter(Failed, fmt.Sprintf("%d came within %v", come, patience), now)
		d.tell("SERVER_AUTOSCALE_OUT_FAILED", "the webhook was asked for %s, and %s", count(order.Count), d.Out.Result)
	}
}

// followIn goes on with an order for fewer servers. One for a pool that wants more is not asked for: choose calls it
// off.
func (d *decision) followIn(by *kinds.ServerAutoScalePolicy, seen sight, wantsMore bool, now time.Time) {
	order := d.In
	if order == nil || order.Phase == Done || order.Phase == CalledOff {
		return
	}
	if d.In = order.heed(seen, now); d.In.Phase != order.Phase {
		if d.In.Phase == Waiting {
			d.tell("SERVER_AUTOSCALE_IN", "the webhook takes the order to remove %s: %s", list(order.Servers),
				d.In.Result)
		} else {
			d.tell("SERVER_AUTOSCALE_IN_FAILED", "the webhook does not take the order to remove %s in %d tries: %s. "+
				"It is asked again", list(order.Servers), d.In.Tries, d.In.Result)
		}
	}
	if d.In.Phase == Asking && !seen.isHeld || d.leftAlone(seen, now) {
		return
	}
	patience := patienceOf(by.InCooldownS)
	switch {
	case d.In.Phase == Draining && !wantsMore && seen.drained(d.In, now):
		d.In = d.In.enter(Asking, "", now)
	case d.In.Phase == Waiting && now.Sub(d.In.Since) >= patience:
		d.In = d.In.enter(Failed, fmt.Sprintf("the pool still has %s after %v", list(d.In.Servers), patience), now)
		d.tell("SERVER_AUTOSCALE_IN_FAILED", "%s. The webhook is asked again", d.In.Result)
	case d.In.Phase == Failed && !(wantsMore && !d.In.Open) && now.Sub(d.In.Since) >= patience:
		again := *d.In
		again.ID, again.Phase, again.Since, again.Tries = orderID(d.UUID, "in", now), Asking, now, 0
		d.In = &again
	}
}

// leftAlone drops the servers from an order that are gone, or that somebody has enabled again. Those that are enabled
// stay in an order that the webhook may be carrying out. It tells whether none is left.
func (d *decision) leftAlone(seen sight, now time.Time) bool {
	isTaken := d.In.Phase == Waiting || d.In.Phase == Asking && !d.In.isFree(seen)
	next := *d.In
	next.Servers, next.Keys, next.Enabled = nil, nil, nil
	var enabled []string
	for n, id := range d.In.Servers {
		i := slices.IndexFunc(seen.servers, func(s server) bool { return s.id == id })
		switch {
		case i < 0:
			continue
		case seen.servers[i].enabled && !isTaken:
			enabled = append(enabled, id)
			continue
		case seen.servers[i].enabled:
			next.Enabled = append(next.Enabled, id)
			if !slices.Contains(d.In.Enabled, id) {
				d.tell("SERVER_AUTOSCALE_IN_FAILED", "somebody has enabled %s again, and the webhook may have taken "+
					"the order to remove it", id)
			}
		}
		next.Servers = append(next.Servers, id)
		if n < len(d.In.Keys) {
			next.Keys = append(next.Keys, d.In.Keys[n])
		}
	}
	had := d.In
	next.Count -= len(enabled)
	d.In = &next
	switch {
	case len(next.Servers) > 0:
		// what is asked for is no longer the same
		if next.isFree(seen) && len(next.Servers) < len(had.Servers) {
			next.ID = orderID(d.UUID, "in", now)
		}
		return false
	case next.Count > 0:
		d.In = d.In.enter(Done, "", now)
		d.tell("SERVER_AUTOSCALE_IN_COMPLETE", "the pool has %s fewer", count(next.Count))
	case had.Open:
		d.In = d.In.enter(CalledOff, "", now)
		d.tell("SERVER_AUTOSCALE_IN_FAILED", "called off: somebody has enabled %s again. The webhook may have taken "+
			"the order to remove it", list(had.Servers))
	default:
		d.In = d.In.enter(CalledOff, "", now)
		d.tell("SERVER_AUTOSCALE_IN_FAILED", "called off: somebody has enabled %s again", list(had.Servers))
	}
	return true
}

// abandon ends the orders of a pool that has nobody who can be asked. Servers that no webhook removes are enabled
// again.
func abandon(state State, seen sight, now time.Time) decision {
	const nobody = "nobody can be asked for servers: the pool needs an autoscale_launch_config_ref with a weir_webhook_ref"
	d := decision{State: state, reason: nobody}
	if d.Out.isUnderWay() {
		d.Out = d.Out.enter(Failed, "nobody can be asked any more", now)
		d.tell("SERVER_AUTOSCALE_OUT_FAILED", "%s", nobody)
	}
	d.In = state.In.renamed(seen.servers)
	switch {
	case d.In.canBeCalledOff(seen):
		d.callOff(nobody, now)
	case d.In.isUnderWay(), d.In != nil && d.In.Phase == Failed:
		d.tell("SERVER_AUTOSCALE_IN_FAILED", "%s", d.In.dropped(nobody))
		d.In = d.In.enter(CalledOff, "", now)
	}
	return d
}

// callOff enables the servers of an order for fewer again.
func (d *decision) callOff(why string, now time.Time) {
	d.enable = d.In.Servers
	d.In = d.In.enter(CalledOff, why, now)
	d.tell("SERVER_AUTOSCALE_IN_FAILED", "called off, enables %s again: %s", list(d.enable), why)
}

// heed returns the order after what the webhook said.
func (o *Order) heed(seen sight, now time.Time) *Order {
	said, ended := seen.outcomes[o.ID]
	if o.Phase != Asking || !ended {
		return o
	}
	phase := Failed
	if said.taken {
		phase = Waiting
	}
	next := o.enter(phase, said.answer, now)
	next.Tries, next.Open = said.tries, o.Open || said.open || said.taken
	return next
}

// drained tells whether the servers of an order have finished what they had, or their time is over.
func (s sight) drained(order *Order, now time.Time) bool {
	waited := now.Sub(order.Since)
	switch {
	case s.grace >= 0 && waited >= s.grace+settleTime:
		return true
	case s.grace >= 0 && s.bound, waited < settleTime:
		return false
	case s.heard.IsZero(), now.Sub(s.heard) < tellTime: // nobody knows what they have
		return false
	}
	return !slices.ContainsFunc(s.servers, func(one server) bool {
		return slices.Contains(order.Servers, one.id) && one.open > 0
	})
}

// choose decides whether the pool scales now.
func (d *decision) choose(by *kinds.ServerAutoScalePolicy, seen sight, now time.Time) {
	wish := scheduled(by, seen, d.wishOf(by, seen, now), now)
	d.reason = wish.why
	switch {
	case wish.more > 0:
		d.grow(by, seen, wish, now)
	case wish.fewer > 0:
		d.shrink(by, seen, wish, now)
	}
	if d.In != nil && d.In.Phase == Draining && len(seen.unheard) > 0 && now.Sub(d.In.Since) >= settleTime {
		d.reason += fmt.Sprintf(". %s may still have clients on engines that have not heard of it: %s",
			list(d.In.Servers), list(seen.unheard))
	}
}

// wish is how many servers more or fewer a pool should have, in one step.
type wish struct {
	more, fewer int
	why         string
}

func (d *decision) grow(by *kinds.ServerAutoScalePolicy, seen sight, wish wish, now time.Time) {
	if d.In.canBeCalledOff(seen) {
		d.callOff(wish.why, now)
		return
	}
	room, ready := by.Most()-seen.size(), d.restOut(by)
	switch {
	case d.Out.isUnderWay():
		d.reason = fmt.Sprintf("%s. The webhook is asked for %s already", wish.why, count(d.Out.Count))
		return
	case now.Before(ready):
		d.reason = fmt.Sprintf("%s. scaleout_cooldown lasts until %s", wish.why, clock(ready))
		return
	case d.Out != nil && d.Out.Phase == Failed && now.Sub(d.Out.Since) < patienceLeast:
		d.reason = fmt.Sprintf("%s. The last order has failed, and the next one comes in a minute", wish.why)
		return
	case room <= 0:
		d.reason = fmt.Sprintf("%s. The pool has %s already, and max_size is %d", wish.why,
			count(seen.size()), by.Most())
		return
	}
	order := &Order{ID: orderID(d.UUID, "out", now), Phase: Asking, Why: wish.why, Begun: now, Since: now,
		Count: min(wish.more, room)}
	for _, one := range seen.servers {
		order.Servers, order.Keys = append(order.Servers, one.id), append(order.Keys, one.key)
	}
	d.Out = order
	why := wish.why
	if d.In != nil && d.In.Phase == Failed {
		why += fmt.Sprintf(". %s stays disabled, because the webhook may have taken the order to remove it",
			list(d.In.Servers))
	}
	d.tell("SERVER_AUTOSCALE_OUT_TRIGGERED", "the webhook is asked for %s more: %s", count(order.Count), why)
}

func (d *decision) shrink(by *kinds.ServerAutoScalePolicy, seen sight, wish wish, now time.Time) {
	least, set := max(1, int(by.MinSize)), ""
	if seen.needed > least {
		least, set = seen.needed, ", as min_servers_up of the pool says"
	}
	ready := d.In.rest(by.InCooldownS)
	if later := d.Out.rest(by.InCooldownS); later.After(ready) {
		ready = later
	}
	switch {
	case d.Out.isUnderWay():
		d.reason = fmt.Sprintf("%s. The pool still waits for %s", wish.why, count(d.Out.Count))
		return
	case d.In.isUnderWay(), d.In != nil && d.In.Phase == Failed:
		d.reason = fmt.Sprintf("%s. An order to remove %s is under way", wish.why, list(d.In.Servers))
		return
	case now.Before(ready):
		d.reason = fmt.Sprintf("%s. scalein_cooldown lasts until %s", wish.why, clock(ready))
		return
	case seen.up() <= least:
		d.reason = fmt.Sprintf("%s. %d of its servers are up, and at least %d stay%s", wish.why, seen.up(), least, set)
		return
	}
	leaving, keys := seen.idlest(min(wish.fewer, seen.up()-least))
	if len(leaving) == 0 {
		d.reason = wish.why + ". No server has an address of its own in the pool: those of names are not disabled"
		return
	}
	d.disable = leaving
	d.In = &Order{ID: orderID(d.UUID, "in", now), Phase: Draining, Why: wish.why, Begun: now, Since: now,
		Count: len(leaving), Servers: leaving, Keys: keys}
	d.tell("SERVER_AUTOSCALE_IN_TRIGGERED", "disables %s, to be removed: %s", list(leaving), wish.why)
}

// wishOf says what the policy asks for, before its limits.
func (d *decision) wishOf(by *kinds.ServerAutoScalePolicy, seen sight, now time.Time) wish {
	if by.Intelligent {
		return wishByLoad(by, seen)
	}
	if one, fires := firing(seen.out, d.restOut(by), now); fires {
		return wish{more: int(by.OutStep), why: fmt.Sprintf("alert %s fires: %s", one.name, one.reason)}
	}
	if one, fires := firing(seen.in, d.In.rest(by.InCooldownS), now); fires {
		return wish{fewer: int(by.InStep), why: fmt.Sprintf("alert %s fires: %s", one.name, one.reason)}
	}
	return wish{why: "no alert of its rules fires"}
}

// restOut is when the pool may get more servers. Servers that it got back count as an order for more.
func (d *decision) restOut(by *kinds.ServerAutoScalePolicy) time.Time {
	ready := d.Out.rest(by.OutCooldownS)
	if d.In != nil && d.In.Phase == CalledOff && d.In.Result != "" {
		if later := d.In.Since.Add(time.Duration(by.OutCooldownS) * time.Second); later.After(ready) {
			return later
		}
	}
	return ready
}

// firing finds an alert that scales a pool. One about a moment counts if that is not long ago, and after the cooldown.
func firing(all []alarm, ready, now time.Time) (alarm, bool) {
	i := slices.IndexFunc(all, func(one alarm) bool {
		return one.lasts || one.at.After(ready) && now.Sub(one.at) <= freshMost
	})
	if i < 0 {
		return alarm{}, false
	}
	return all[i], true
}

// load is what a pool has to do, and what its servers that are up can take.
type load struct{ open, capacity int }

// load returns false if there is nothing to compare: no limit of connections, or no server that is up.
func (s sight) load() (of load, known bool) {
	of = load{s.open(), s.up() * s.limit * s.engines}
	return of, of.capacity > 0
}

// open is the number of connections with all servers.
func (s sight) open() (open int) {
	for _, one := range s.servers {
		open += one.open
	}
	return open
}

// margin is what the servers can take beyond their load, in percent of the load.
func (l load) margin() int { return 100 * (l.capacity - l.open) / max(1, l.open) }

const notWatched = ". Servers leave when it has been watched for a minute"

// wishByLoad compares the load of a pool with the margins of the policy.
func wishByLoad(by *kinds.ServerAutoScalePolicy, seen sight) wish {
	of, known := seen.load()
	switch {
	case seen.limit == 0:
		return wish{why: "intelligent_autoscale needs max_concurrent_connections_per_server of the pool: without it, " +
			"nobody knows what its servers can take"}
	case !known:
		return wish{why: "no server is up, or no engine serves with the pool: its load is not known"}
	}
	out, in := int(by.OutMarginPercent), int(by.InMarginPercent)
	why := fmt.Sprintf("its servers have %d connections and take %d, which is %d %% more", of.open, of.capacity,
		of.margin())
	if of.margin() < out {
		return wish{more: min(int(by.OutStep), max(1, seen.enough(of.open, out)-seen.up())),
			why: fmt.Sprintf("%s, and intelligent_scaleout_margin is %d %%", why, out)}
	}
	// What stays keeps the larger margin: otherwise the pool would grow again soon.
	past := seen
	past.engines = seen.fewest
	most, _ := past.load()
	most.open = max(most.open, seen.peak)
	switch {
	case of.margin() <= in:
		return wish{why: why}
	case !seen.isWatched:
		return wish{why: why + notWatched}
	}
	spare := past.up() - max(1, past.enough(most.open, max(in, out)))
	if most.margin() <= in || spare <= 0 {
		return wish{why: why}
	}
	return wish{fewer: min(int(by.InStep), spare), why: fmt.Sprintf(
		"its servers had at most %d connections in the last minute and take %d, "+
			"which is %d %% more, and intelligent_scalein_margin is %d %%", most.open, most.capacity,
		most.margin(), in)}
}

// scheduled returns the wish while a schedule is in force: as many servers as it says, or more if there is another
// reason for them.
func scheduled(by *kinds.ServerAutoScalePolicy, seen sight, otherwise wish, now time.Time) wish {
	if len(by.Scheduled) == 0 || otherwise.more > 0 {
		return otherwise
	}
	schedule := &by.Scheduled[0]
	until, inForce := schedule.Until(now)
	if !inForce {
		return otherwise
	}
	why := fmt.Sprintf("by its schedule it has %s until %s", count(int(schedule.Capacity)), clock(until))
	step := func(ofPolicy uint32) int { return int(cmp.Or(schedule.Step, ofPolicy)) }
	lacking := int(schedule.Capacity) - seen.size()
	switch {
	case lacking > 0:
		return wish{more: min(lacking, step(by.OutStep)), why: why}
	case lacking == 0:
		return wish{why: why}
	}
	spare := -lacking
	if by.Intelligent && seen.limit > 0 { // its load must not ask for them again
		if !seen.isWatched {
			return wish{why: why + notWatched}
		}
		past := seen
		past.engines = seen.fewest
		spare = min(spare, past.up()-past.enough(max(past.open(), past.peak), int(by.OutMarginPercent)))
	}
	return wish{fewer: min(max(0, spare), step(by.InStep)), why: why}
}

// enough is the number of servers that can take so many connections and a margin.
func (s sight) enough(connections, percent int) int {
	each := s.limit * s.engines
	return (connections*(100+percent) + 100*each - 1) / (100 * each)
}

// size is the number of servers that are enabled.
func (s sight) size() (size int) {
	for _, one := range s.servers {
		if one.enabled {
			size++
		}
	}
	return size
}

// up is the number of servers that are enabled and up.
func (s sight) up() (up int) {
	for _, one := range s.servers {
		if one.enabled && one.up {
			up++
		}
	}
	return up
}

// idlest chooses servers to leave: of those that are up, the ones with the fewest connections, and of equal ones the
// last in the pool.
func (s sight) idlest(most int) (ids, keys []string) {
	var candidates []server
	for _, one := range slices.Backward(s.servers) {
		if one.enabled && one.up && one.fixed {
			candidates = append(candidates, one)
		}
	}
	slices.SortStableFunc(candidates, func(a, b server) int { return cmp.Compare(a.open, b.open) })
	for _, one := range candidates[:min(most, len(candidates))] {
		ids, keys = append(ids, one.id), append(keys, one.key)
	}
	return ids, keys
}

func patienceOf(cooldownS uint32) time.Duration {
	return max(patienceLeast, time.Duration(cooldownS)*time.Second)
}

func orderID(pool, direction string, now time.Time) string {
	return fmt.Sprintf("%s.%s.%d", pool, direction, now.UnixMilli())
}

func count(servers int) string {
	if servers == 1 {
		return "1 server"
	}
	return fmt.Sprintf("%d servers", servers)
}

// list names servers, a few of many.
func list(ids []string) string {
	const named = 5
	if len(ids) > named {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:named], ", "), len(ids)-named)
	}
	return strings.Join(ids, ", ")
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05") }
