package events

import "maps"

// memory has whether things of one kind were up when they were last looked at.
type memory[K comparable] struct {
	last map[K]remembered
	look int // the number of this comparison
}

type remembered struct {
	up   bool
	look int // in which the thing was last there
}

func newMemory[K comparable]() memory[K] { return memory[K]{last: map[K]remembered{}} }

// note remembers a state, and returns the one before.
func (m *memory[K]) note(key K, up bool) (was, known bool) {
	before, known := m.last[key]
	m.last[key] = remembered{up, m.look}
	return before.up, known
}

// keep leaves the state as it is, of what is there.
func (m *memory[K]) keep(key K) {
	if before, known := m.last[key]; known {
		m.last[key] = remembered{before.up, m.look}
	}
}

// end forgets what was not there in this comparison.
func (m *memory[K]) end() {
	maps.DeleteFunc(m.last, func(_ K, r remembered) bool { return r.look != m.look })
	m.look++
}
