package admit

import "sync"

// shares bounds how many places of a queue one address has at a time, so that nobody fills it alone. It knows no more
// addresses than the queue has places.
type shares struct {
	most int

	mutex sync.Mutex
	taken map[string]int // by address
}

func newShares(most int) *shares { return &shares{most: most, taken: map[string]int{}} }

// take is one place for an address, to be given back; error: ErrBusy.
func (s *shares) take(address string) (giveBack func(), err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.taken[address] >= s.most {
		return nil, ErrBusy
	}
	s.taken[address]++
	return func() { s.giveBack(address) }, nil
}

func (s *shares) giveBack(address string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.taken[address]--; s.taken[address] == 0 {
		delete(s.taken, address)
	}
}
