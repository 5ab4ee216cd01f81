package admit

import "sync"

// shares limits the places of a queue that one address takes, so that one address cannot fill the queue. It has at most
// as many addresses as the queue has places.
type shares struct {
	most int

	mutex sync.Mutex
	taken map[string]int // by address
}

func newShares(most int) *shares { return &shares{most: most, taken: map[string]int{}} }

// take takes a place for an address; giveBack gives it back. Error: ErrBusy.
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
