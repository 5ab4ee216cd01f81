package fleet

import (
	"iter"
	"slices"
)

// counting says which engines have rows of an object in their samples. Most objects are on few of many engines.
type counting struct {
	services map[string][]string // uuids of engines, by that of the virtual service
	pools    map[string][]string
}

func newCounting() counting {
	return counting{services: map[string][]string{}, pools: map[string][]string{}}
}

// hear notes that the next sample of an engine takes the place of the last one; nil: there is none.
func (c counting) hear(engineUUID string, last, next *Sample) {
	if last.rows() == next.rows() {
		return
	}
	turn(c.services, engineUUID, last.rows().services, next.rows().services)
	turn(c.pools, engineUUID, last.rows().pools, next.rows().pools)
}

var noRows = &layout{}

func (s *Sample) rows() *layout {
	if s == nil {
		return noRows
	}
	return s.layout
}

func turn[V any](engines map[string][]string, engineUUID string, last, next map[string]V) {
	for uuid := range last {
		if _, still := next[uuid]; still {
			continue
		}
		engines[uuid] = slices.DeleteFunc(engines[uuid], func(id string) bool { return id == engineUUID })
		if len(engines[uuid]) == 0 {
			delete(engines, uuid)
		}
	}
	for uuid := range next {
		if _, had := last[uuid]; !had {
			engines[uuid] = append(engines[uuid], engineUUID)
		}
	}
}

// ofService returns the engines whose samples have a row of a virtual service.
func (c counting) ofService(k *Known, uuid string) iter.Seq2[string, *Engine] {
	return k.those(c.services[uuid])
}

// ofPool returns the engines whose samples have a row of a server of a pool.
func (c counting) ofPool(k *Known, uuid string) iter.Seq2[string, *Engine] {
	return k.those(c.pools[uuid])
}

func (k *Known) those(engines []string) iter.Seq2[string, *Engine] {
	return func(yield func(string, *Engine) bool) {
		for _, id := range engines {
			if !yield(id, k.engines[id]) {
				return
			}
		}
	}
}
