// Package shares divides the rates of keys that engines count apart (each client, path, header field or cookie) over
// the engines of a virtual service. Engines report what is asked of their hot keys: those that use more than a part of
// their rate there. The broker answers all engines of the virtual service with their shares, by what was asked of each
// of late. The way of a report: data plane → agent → link → Heard; of an answer: Run → link → agent → data plane.
//
// Everything is in memory and bounded. Without an answer, engines fall back (docs/limits.md).
package shares

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

const (
	// Whole is what shares and uses are parts of.
	Whole = 1 << 16
	// Interval is the time between two answers, while there are hot keys.
	Interval = 100 * time.Millisecond
	// idleShares is what the engines of which nothing is asked may let pass together, as a part of the rate. The others
	// have the whole rate, so that this is how much of the rate passes in excess while no engine is silent.
	idleShares = 0.05
	// partsMax bounds the memory, and the time of an answer: so many parts of keys on engines are known at once.
	// Engines fall back for a key that finds no room.
	partsMax = 1 << 15
	// reportedMax is how many keys an engine may report at once.
	reportedMax = 2048
	enginesMax  = 256
	// patience is how long an engine may be silent of a key. After it, nothing counts as asked of the engine.
	patience = time.Second
	// reservedFor is how long the other engines leave a silent one what it lets pass without answers. After it, it
	// counts as one that has failed, or has no clients who ask for the key.
	reservedFor = 10 * time.Second
	// repeatAfter is when an answer is sent again that is as the last one. Engines fall back after a second.
	repeatAfter = 300 * time.Millisecond
	// usedMax is how much an engine can have used of what may come at once. It is more than all after its share has
	// shrunk.
	usedMax = 16
	// shiftLeast is the least difference in use that is evened out.
	shiftLeast = 0.02
)

// Broker hears all engines. It is safe for concurrent use.
type Broker struct {
	// serving returns the engines of a virtual service.
	serving func(service string) []string
	// reached tells whether an engine can report and can be answered.
	reached func(engine string) bool
	// send gives an answer to an engine. false: it is not connected, or has not taken the last one.
	send func(engine string, shares *dataplanev1.KeyShares) bool
	now  func() time.Time
	wake chan struct{} // capacity 1: the first key is there

	mu     sync.Mutex
	limits map[limitID]*limit
	// largest is the limit that had the most parts at the last answers; nil: there was none.
	largest *limit
	parts   int    // of all limits
	number  uint64 // of the last answers; begins with the time, to rise when another controller begins
}

type limitID struct {
	service string
	limit   uint64
}

type limit struct {
	engines  float64       // that serve
	interval time.Duration // between two events at the whole rate
	keys     map[uint64]*key
	parts    int // of its keys on engines
}

// key is a hot key.
type key struct {
	engines map[string]*part
	asked   time.Time // when an engine was last asked for it
}

// part is what the broker knows of a key on an engine.
type part struct {
	asked   float64 // of late: older events count less
	used    float64 // of what may come at once
	share   float64 // that the engine was sent
	held    float64 // the share when it reported last
	heard   time.Time
	sent    time.Time
	reserve float64 // what a silent engine lets pass, as a part of the rate; 0: it is not silent, or has been for long
	reports bool    // the engine has reported the key
	shifted uint64  // the number of the last answer that changed what is used
	fresh   bool    // used is what the engine has reported after that answer
}

// New returns a broker that answers once Run runs.
func New(serving func(string) []string, reached func(string) bool, now func() time.Time) *Broker {
	return &Broker{serving: serving, reached: reached, now: now,
		send: func(string, *dataplanev1.KeyShares) bool { return false },
		wake: make(chan struct{}, 1), limits: map[limitID]*limit{}, number: uint64(now().UnixMicro())}
}

// Connect says how answers get to engines. It is called before Run.
func (b *Broker) Connect(send func(string, *dataplanev1.KeyShares) bool) { b.send = send }

// Heard takes a report of an engine.
func (b *Broker) Heard(engine string, demands *dataplanev1.KeyDemands) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := reportedMax
	for _, from := range demands.GetLimits() {
		if from.GetEngines() < 2 || from.GetEngines() > enginesMax ||
			!slices.Contains(b.serving(from.GetVirtualServiceUuid()), engine) {
			continue
		}
		for _, demand := range from.GetKeys() {
			if left--; left < 0 {
				return
			}
			b.hear(engine, from, demand, demands.GetHeard())
		}
	}
}

func (b *Broker) hear(engine string, from *dataplanev1.LimitDemand, demand *dataplanev1.KeyDemand, heard uint64) {
	of, hot := b.key(from, demand)
	if hot == nil {
		return
	}
	of.engines = float64(from.GetEngines())
	of.interval = time.Duration(min(from.GetIntervalNs(), uint64(24*time.Hour)))
	now := b.now()
	p := hot.engines[engine]
	if p == nil {
		if len(hot.engines) >= enginesMax {
			return
		}
		p = &part{share: of.first()}
		hot.engines[engine] = p
	}
	p.heard, p.held, p.reports, p.reserve = now, p.share, true, 0
	p.asked += float64(demand.GetAsked())
	if demand.GetAsked() > 0 {
		hot.asked = now
	}
	if heard >= p.shifted || now.Sub(p.sent) > patience {
		p.used, p.fresh = min(usedMax, float64(demand.GetUsed())/Whole), true
	}
}

// key returns a hot key. nil: a new one finds no room, or is not asked for any more.
func (b *Broker) key(from *dataplanev1.LimitDemand, demand *dataplanev1.KeyDemand) (*limit, *key) {
	id := limitID{from.GetVirtualServiceUuid(), from.GetLimit()}
	of := b.limits[id]
	if of != nil && of.keys[demand.GetTag()] != nil {
		return of, of.keys[demand.GetTag()]
	}
	if of == nil {
		of = &limit{keys: map[uint64]*key{}}
	}
	parts := int(from.GetEngines())
	if demand.GetAsked() == 0 || !b.makeRoom(of, parts) {
		return nil, nil
	}
	of.parts += parts
	b.parts += parts
	hot := &key{engines: map[string]*part{}}
	b.limits[id], of.keys[demand.GetTag()] = of, hot
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return of, hot
}

// makeRoom makes room for a key of a limit. If there is none, keys of a larger limit go: a flood of keys of some limits
// leaves room for those of the others. It returns false if no larger limit is found.
func (b *Broker) makeRoom(of *limit, parts int) bool {
	for b.parts+parts > partsMax {
		larger := b.larger(of.parts + parts)
		if larger == nil {
			return false
		}
		b.parts -= larger.dropOne()
	}
	return true
}

// larger returns a limit with more than so many parts: the one that had the most at the last answers, or the largest of
// some. nil: none of these has more.
func (b *Broker) larger(parts int) (larger *limit) {
	if b.largest != nil && b.largest.parts > parts {
		return b.largest
	}
	const looked = 16
	seen := 0
	for _, of := range b.limits { // in random order
		if of.parts > parts && (larger == nil || of.parts > larger.parts) {
			larger = of
		}
		if seen++; seen == looked {
			break
		}
	}
	return larger
}

// dropOne drops a key, and returns how many parts it had. Of some keys, it is the one that is asked for least.
func (l *limit) dropOne() (parts int) {
	const looked = 8
	least, asked, seen := uint64(0), math.Inf(1), 0
	for tag, hot := range l.keys { // in random order
		if all := hot.allAsked(); all < asked {
			least, asked = tag, all
		}
		if seen++; seen == looked {
			break
		}
	}
	parts = l.parts / len(l.keys)
	delete(l.keys, least)
	l.parts -= parts
	return parts
}

func (k *key) allAsked() (asked float64) {
	for _, part := range k.engines {
		asked += part.asked
	}
	return asked
}

// first is the share of an engine before it has an answer.
func (l *limit) first() float64 { return 1 / l.engines }

// memory is how fast what was asked is forgotten: slower if events come rarely.
func (l *limit) memory() time.Duration {
	return min(max(8*l.interval, 300*time.Millisecond), time.Minute)
}

// Run answers until ctx ends.
func (b *Broker) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.wake:
			b.answerWhileHot(ctx)
		}
	}
}

func (b *Broker) answerWhileHot(ctx context.Context) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for b.Answer() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Answer sends what engines have to know. It is called each Interval, and returns whether there are hot keys. It holds
// no lock while it sends: who brings a report may hold what sending waits for.
func (b *Broker) Answer() bool {
	answers, hasKeys := b.decide()
	for engine, answer := range answers {
		if !b.send(engine, answer.message()) {
			delete(answers, engine)
		}
	}
	b.note(answers)
	return hasKeys
}

// decide returns what has to be sent, by engine.
func (b *Broker) decide() (answers map[string]*answer, hasKeys bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.number++
	b.parts, b.largest = 0, nil
	answers = map[string]*answer{}
	var wants []want
	for id, of := range b.limits {
		serving := b.serving(id.service)
		of.forget(serving, now)
		reached := make([]bool, len(serving))
		for i, engine := range serving {
			reached[i] = b.reached(engine)
		}
		if len(of.keys) == 0 {
			delete(b.limits, id)
			continue
		}
		b.parts += of.parts
		if b.largest == nil || of.parts > b.largest.parts {
			b.largest = of
		}
		for tag, hot := range of.keys {
			wants = of.divide(wants[:0], hot, serving, reached, now)
			for _, want := range wants {
				if answers[want.engine] == nil {
					answers[want.engine] = &answer{number: b.number, at: now, limits: map[limitID][]said{}}
				}
				answers[want.engine].limits[id] = append(answers[want.engine].limits[id], said{tag, want})
			}
		}
	}
	return answers, len(b.limits) > 0
}

// forget removes keys that are not asked for any more, and engines that do not serve any more.
func (l *limit) forget(serving []string, now time.Time) {
	for tag, hot := range l.keys {
		if len(serving) == 0 || len(serving) > enginesMax || now.Sub(hot.asked) > max(2*time.Second, 3*l.memory()) {
			delete(l.keys, tag)
		} else if len(hot.engines) > len(serving) {
			maps.DeleteFunc(hot.engines, func(engine string, _ *part) bool { return !slices.Contains(serving, engine) })
		}
	}
	l.parts = len(l.keys) * len(serving)
}

// note keeps what engines have been sent.
func (b *Broker) note(answers map[string]*answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, answer := range answers {
		for _, all := range answer.limits {
			for _, s := range all {
				if s.shift != 0 {
					s.part.shifted, s.part.fresh = answer.number, false
				}
				s.part.used, s.part.share, s.part.sent = s.used, s.share, answer.at
			}
		}
	}
}

// want is what an engine should have of a key.
type want struct {
	engine      string
	part        *part
	isReached   bool
	isSilent    bool
	share, used float64
	shift       float64 // of used
}

// divide decides what engines should have of a key, and appends those that have to be told.
func (l *limit) divide(wants []want, hot *key, serving []string, reached []bool, now time.Time) []want {
	asked, left, isKnown := 0., 0., true
	decay := math.Exp(-Interval.Seconds() / l.memory().Seconds())
	for i, engine := range serving {
		p := hot.engines[engine]
		if !reached[i] && (p == nil || !p.mayPass(now)) {
			continue
		}
		if p == nil { // it will report the key once it is told of it
			p = &part{share: l.first(), heard: now}
			hot.engines[engine] = p
		}
		isSilent := !reached[i] || now.Sub(p.heard) > patience
		wants = append(wants, want{engine: engine, part: p, isReached: reached[i], isSilent: isSilent,
			share: p.share, used: p.used})
		if isSilent {
			p.asked = 0
			p.keepReserve(l.first(), now)
			continue
		}
		p.asked *= decay
		asked += p.asked
		left += p.share * (1 - p.used)
		isKnown = isKnown && p.fresh
	}
	if isKnown && asked > 0 {
		apportion(wants, asked)
	}
	shares := 0.
	for _, w := range wants {
		if !w.isSilent {
			shares += w.share
		}
	}
	// What may still come at once stays as much as it is, and each engine has as much of it as of the rate.
	used := min(usedMax, max(0, 1-left/shares))
	for i := range wants {
		w := &wants[i]
		if isKnown && !w.isSilent && math.Abs(used-w.used) > shiftLeast {
			w.shift, w.used = used-w.used, used
		}
	}
	return slices.DeleteFunc(wants, func(w want) bool {
		return !w.isReached || w.isAsBefore() && now.Sub(w.part.sent) < repeatAfter
	})
}

// apportion sets the shares of engines by what is asked of each.
func apportion(wants []want, asked float64) {
	shares, room, dividing := 0., 1+idleShares, 0.
	for i := range wants {
		w := &wants[i]
		if w.part.reserve > 0 {
			w.share = w.part.reserve
			room -= w.share
			continue
		}
		dividing++
		// It shrinks step by step: what the engine has let pass since its report is much of a small share.
		w.share = max(w.part.asked/asked, idleShares/float64(len(wants)), w.part.share/2)
		shares += w.share
	}
	// They have equal parts at least, as all engines have without answers.
	if excess := shares / max(room, dividing/float64(len(wants))); excess > 1 {
		for i := range wants {
			if wants[i].part.reserve == 0 {
				wants[i].share /= excess
			}
		}
	}
}

// mayPass tells whether a silent engine may have clients who ask for the key.
func (p *part) mayPass(now time.Time) bool { return p.reports && now.Sub(p.heard) < reservedFor }

// keepReserve sets what a silent engine lets pass: that of Hot::fall_back in dataplane/rate.
func (p *part) keepReserve(equal float64, now time.Time) {
	switch {
	case !p.mayPass(now):
		p.reserve = 0
	case p.reserve == 0:
		p.reserve = max(p.held/2, p.share/2, equal)
	}
}

func (w want) isAsBefore() bool {
	return w.shift == 0 && math.Abs(w.share-w.part.share) <= shiftLeast*w.part.share
}

// answer is what one engine is told.
type answer struct {
	number uint64
	at     time.Time
	limits map[limitID][]said
}

type said struct {
	tag uint64
	want
}

func (a *answer) message() *dataplanev1.KeyShares {
	message := &dataplanev1.KeyShares{Number: a.number}
	for id, all := range a.limits {
		of := &dataplanev1.LimitShares{VirtualServiceUuid: id.service, Limit: id.limit}
		for _, s := range all {
			of.Keys = append(of.Keys, &dataplanev1.KeyShare{Tag: s.tag,
				Share: uint32(math.Round(s.share * Whole)), Shift: int32(math.Round(s.shift * Whole))})
		}
		message.Limits = append(message.Limits, of)
	}
	return message
}
