package metrics

import (
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/metrics/retention"
	"github.com/weir-lb/weir/controller/model"
)

const (
	// idleAfter is how long an object whose numbers do not move keeps its series.
	idleAfter = 1800 * time.Second
	// seriesMax bounds the series of all objects. A series takes about 10 KB of memory in all tiers together.
	seriesMax = 200_000
	// headMax bounds the series that a tier has in memory, also of objects that were renamed or deleted and are not yet
	// swept out.
	headMax = 2 * seriesMax
	// serversMax is the number of servers of a pool up to which each has series of its own. The servers of larger pools
	// share theirs.
	serversMax = 20
)

// collector reads what engines have counted, and keeps the series of each object with the last value.
type collector struct {
	config Config

	mu sync.Mutex
	// by uuid of the virtual service or engine, or by uuid of the pool and server
	groups  map[string]*group
	blank   map[string]fleet.Turn           // of virtual services, and of pools whose servers, have no series: see note
	written [len(retention.Tiers)]time.Time // when each tier got its last samples; at first, when the collector began
	ticks   int64
	headMax int
	refused int // series that are not kept because of seriesMax
	leaving leaving
}

func newCollector(config Config, now time.Time) *collector {
	c := &collector{config: config, groups: map[string]*group{}, blank: map[string]fleet.Turn{}, headMax: headMax,
		leaving: leaving{}}
	for i := range c.written {
		c.written[i] = now
	}
	return c
}

// read reads all objects. at is the time of the collection.
func (c *collector) read(at time.Time) {
	var m *model.Model
	c.config.Fleet.Read(func(known *fleet.Known) { m = known.Model() })
	seen := map[string]bool{}
	c.observe(seen, "", "controller", labelled{}, at, func(r *readings) {
		r.counter("weir_metrics_collections", c.ticks+1)
	})
	c.ticks++
	c.readController(m, seen, at)
	fleet.ReadEach(c.config.Fleet, m.VirtualServices, func(known *fleet.Known, vs *model.VirtualService) {
		c.readService(known, vs, seen, at)
	})
	fleet.ReadEach(c.config.Fleet, m.Pools, func(known *fleet.Known, pool *model.Pool) {
		c.readPool(known, pool, seen, at)
	})
	fleet.ReadEach(c.config.Fleet, m.Engines, func(known *fleet.Known, engine *model.Engine) {
		c.readEngine(known, engine, seen, at)
	})
	c.forget(m)
	for key, g := range c.groups {
		g.ended = !seen[key] // deleted, or nothing is known of it any more
		if g.ended && !g.kept {
			delete(c.groups, key) // it has no samples whose end is to be written, maybe because the disk is full
		}
	}
}

// note remembers an object that has no series: it need not be read before it counts something.
func (c *collector) note(uuid string, blank bool, turn fleet.Turn) {
	if blank {
		c.blank[uuid] = turn
	} else {
		delete(c.blank, uuid)
	}
}

func (c *collector) isBlank(uuid string, turn fleet.Turn) bool {
	at, blank := c.blank[uuid]
	return blank && at == turn
}

// forget forgets blank objects that are deleted.
func (c *collector) forget(m *model.Model) {
	if len(c.blank) <= len(m.VirtualServices)+len(m.Pools) {
		return
	}
	clear(c.blank) // the next collection reads all objects
}

// observe gives the readings of an object to its group, which begins with the first number that is not zero.
func (c *collector) observe(seen map[string]bool, key, kind string, of labelled, at time.Time, read func(*readings)) {
	g := c.groups[key]
	if g == nil {
		g = newGroup(kind)
	}
	r := readings{group: g}
	read(&r)
	if len(g.entries) == 0 {
		return
	}
	seen[key] = true
	c.groups[key] = g
	g.take(of, r.moved, at, c.leaving)
}

// write appends the values of all groups to the tiers whose time has come.
func (c *collector) write(into *tiers, at time.Time) error {
	samples := newSamples(into, at, c.written, c.due(at))
	refused, room, crowded := 0, seriesMax, into.inMemory() >= c.headMax
	for key, g := range c.groups {
		if g.ended {
			for _, e := range g.entries {
				c.leaving.add(e)
			}
			delete(c.groups, key)
			continue
		}
		if room -= len(g.entries); (room < 0 || crowded) && !g.kept {
			refused += len(g.entries)
			g.rebase()
			continue
		}
		samples.add(g)
		samples.next()
	}
	c.leaving.end(samples)
	c.refused = refused
	if err := samples.commit(); err != nil {
		return err
	}
	for i, due := range samples.due {
		if due {
			c.written[i] = at
		}
	}
	return samples.outdated(into)
}

// due says which tiers get a sample.
func (c *collector) due(at time.Time) (due [len(retention.Tiers)]bool) {
	for i, spec := range retention.Tiers {
		due[i] = !at.Truncate(spec.Step).Equal(c.written[i].Truncate(spec.Step))
	}
	return due
}
