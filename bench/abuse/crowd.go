package abuse

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// manners are what each attacker of a crowd does.
type manners struct {
	opening []byte        // said as soon as it is connected
	drip    byte          // said again and again, once each period; 0: nothing
	reads   int           // bytes that it takes each period
	period  time.Duration // time between two visits, and before an attacker whose connection was closed returns
}

// crowd is many attackers who keep their connections. One goroutine visits all of them in turn, and a few others open
// connections at a limited rate: the attack is to use up the balancer's connections, and not CPU time.
type crowd struct {
	manners
	approach
	seats   []seat
	vacant  []int // in the order in which they are to be filled
	toll    Toll
	held    int
	orders  chan int
	opened  chan opened
	arrived chan struct{}
	ended   chan Toll
	stop    context.CancelFunc
}

// seat is one attacker's.
type seat struct {
	fd    int // -1: it is not connected
	tried bool
	again time.Time // when a vacant one is to be filled
}

type opened struct {
	seat, fd int
	err      error
}

// openersMax wait for a connection at the same time.
const openersMax = 32

const turn = 5 * time.Millisecond

// gather starts to bring count attackers, this many per second.
func gather(ctx context.Context, count, perSecond int, a approach, m manners) *crowd {
	ctx, stop := context.WithCancel(ctx)
	c := &crowd{manners: m, approach: a, seats: make([]seat, count), orders: make(chan int, openersMax),
		opened:  make(chan opened, openersMax),
		arrived: make(chan struct{}), ended: make(chan Toll, 1), stop: stop}
	for i := range c.seats {
		c.seats[i].fd = -1
		c.vacant = append(c.vacant, i)
	}
	for range openersMax {
		go c.open()
	}
	go c.run(ctx, perSecond)
	return c
}

// Arrived is closed when each attacker has come, or tried to.
func (c *crowd) Arrived() <-chan struct{} { return c.arrived }

// End sends them away.
func (c *crowd) End() Toll {
	c.stop()
	return <-c.ended
}

func (c *crowd) open() {
	for seat := range c.orders {
		fd, err := c.connect(c.opening)
		c.opened <- opened{seat, fd, err}
	}
}

func (c *crowd) run(ctx context.Context, perSecond int) {
	clock := time.NewTicker(turn)
	defer clock.Stop()
	begun, toCome, ordered, next := time.Now(), len(c.seats), 0, 0
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case o := <-c.opened:
			ordered--
			if toCome > 0 && !c.seats[o.seat].tried {
				if toCome--; toCome == 0 {
					c.toll.Took = time.Since(begun).Seconds()
					close(c.arrived)
				}
			}
			c.seat(o, time.Now())
		case now := <-clock.C:
			ordered += c.order(now, perSecond*int(turn)/int(time.Second))
			next = c.visitSome(now, next)
		}
	}
	close(c.orders)
	for ; ordered > 0; ordered-- {
		if o := <-c.opened; o.err == nil {
			_ = unix.Close(o.fd)
		}
	}
	c.leave()
	c.ended <- c.toll
}

// order has vacant seats filled, as fast as the rate and free openers allow.
func (c *crowd) order(now time.Time, most int) (ordered int) {
	for ; ordered < most && len(c.vacant) > 0 && !c.seats[c.vacant[0]].again.After(now); ordered++ {
		select {
		case c.orders <- c.vacant[0]:
			c.vacant = c.vacant[1:]
		default:
			return ordered
		}
	}
	return ordered
}

func (c *crowd) seat(o opened, now time.Time) {
	c.seats[o.seat].tried = true
	if o.err != nil {
		c.toll.Refused++
		c.toll.Why = o.err.Error()
		c.vacate(o.seat, now)
		return
	}
	c.seats[o.seat].fd = o.fd
	c.toll.Came++
	c.held++
	c.toll.Most = max(c.toll.Most, c.held)
}

func (c *crowd) vacate(index int, now time.Time) {
	c.seats[index].fd, c.seats[index].again = -1, now.Add(c.period)
	c.vacant = append(c.vacant, index)
}

// visitSome visits the next attackers, so that each is visited once per period. It returns the index of the next one.
func (c *crowd) visitSome(now time.Time, next int) int {
	for range max(1, len(c.seats)*int(turn)/int(c.period)) {
		c.visit(next, now)
		next = (next + 1) % len(c.seats)
	}
	return next
}

func (c *crowd) visit(index int, now time.Time) {
	fd := c.seats[index].fd
	if fd < 0 || !isOver(fd) && !c.acts(fd) {
		return
	}
	_ = unix.Close(fd)
	c.toll.Gone++
	c.held--
	c.vacate(index, now)
}

// acts performs an attacker's action of one visit. It returns true if the connection turned out to be closed.
func (c *crowd) acts(fd int) (over bool) {
	if c.drip != 0 {
		over = isBroken(sendNow(fd, []byte{c.drip}))
	}
	if c.reads > 0 {
		var scratch [64 << 10]byte
		_, _, err := unix.Recvfrom(fd, scratch[:min(c.reads, len(scratch))], unix.MSG_DONTWAIT)
		over = over || isBroken(err)
	}
	return over
}

func (c *crowd) leave() {
	for i := range c.seats {
		if c.seats[i].fd >= 0 {
			_ = unix.Close(c.seats[i].fd)
		}
	}
}
