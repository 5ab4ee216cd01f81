package fleet

import (
	"iter"
	"slices"
)

// counting says which engines have rows of an object in their samples, and when one of these rows last changed. Most
// objects are on few of many engines, and most rows do not change.
type counting struct {
	services map[string]*rows // by uuid of the virtual service
	pools    map[string]*rows
	turns    Turn
}

// Turn numbers changes of what engines count. As long as the last change of an object has the same number, the object
// has counted nothing.
type Turn uint64

// rows are those of an object.
type rows struct {
	engines []string // by uuid
	last    Turn
}

func newCounting() counting {
	return counting{services: map[string]*rows{}, pools: map[string]*rows{}}
}

// ServiceTurn numbers the last change of what was counted of a virtual service; 0: no engine has a row of it.
func (k *Known) ServiceTurn(uuid string) Turn { return k.counting.services[uuid].turn() }

// PoolTurn numbers the last change of what was counted of a server of a pool; 0: no engine has a row of one.
func (k *Known) PoolTurn(uuid string) Turn { return k.counting.pools[uuid].turn() }

func (r *rows) turn() Turn {
	if r == nil {
		return 0
	}
	return r.last
}

// hear notes that the next sample of an engine takes the place of the last one; nil: there is none.
func (c *counting) hear(engineUUID string, last, next *Sample) {
	c.turns++
	if last.rows() != next.rows() {
		settle(c.services, engineUUID, last.rows().services, next.rows().services, c.turns)
		settle(c.pools, engineUUID, last.rows().pools, next.rows().pools, c.turns)
	}
	if next == nil {
		return
	}
	anew := last == nil || next.layout != last.layout || next.GetPid() != last.GetPid()
	for at, row := range next.GetVirtualServices() {
		if anew || last.VirtualServices[at] != row {
			c.services[row.GetUuid()].last = c.turns
		}
	}
	for at, row := range next.GetServers() {
		if anew || last.Servers[at] != row {
			c.pools[row.GetPoolUuid()].last = c.turns
		}
	}
	for _, uuid := range queuesMoved(last, next) {
		if of := c.pools[uuid]; of != nil {
			of.last = c.turns
		}
	}
}

// touch notes that an engine works, or works no more: that decides what of its counts is looked at.
func (c *counting) touch(of *Sample) {
	c.turns++
	for uuid := range of.rows().services {
		c.services[uuid].last = c.turns
	}
	for uuid := range of.rows().pools {
		c.pools[uuid].last = c.turns
	}
}

var noRows = &layout{}

func (s *Sample) rows() *layout {
	if s == nil {
		return noRows
	}
	return s.layout
}

// settle takes an engine from the objects that it has no more, and adds it to those that it has now.
func settle[V any](all map[string]*rows, engineUUID string, last, next map[string]V, now Turn) {
	for uuid := range last {
		if _, still := next[uuid]; still {
			continue
		}
		of := all[uuid]
		of.engines = slices.DeleteFunc(of.engines, func(id string) bool { return id == engineUUID })
		if of.last = now; len(of.engines) == 0 {
			delete(all, uuid)
		}
	}
	for uuid := range next {
		if _, had := last[uuid]; had {
			continue
		}
		if all[uuid] == nil {
			all[uuid] = &rows{}
		}
		all[uuid].engines, all[uuid].last = append(all[uuid].engines, engineUUID), now
	}
}

// CountingService returns the engines whose samples have a row of a virtual service.
func (k *Known) CountingService(uuid string) iter.Seq2[string, *Engine] {
	return k.those(k.counting.services[uuid])
}

// countingPool returns the engines whose samples have a row of a server of a pool.
func (k *Known) countingPool(uuid string) iter.Seq2[string, *Engine] {
	return k.those(k.counting.pools[uuid])
}

func (k *Known) those(of *rows) iter.Seq2[string, *Engine] {
	return func(yield func(string, *Engine) bool) {
		if of == nil {
			return
		}
		for _, id := range of.engines {
			if !yield(id, k.engines[id]) {
				return
			}
		}
	}
}
