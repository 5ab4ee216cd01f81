package port

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-lb/weir/controller/events"
)

// stranger is one end of a pipe, with the address of a client.
type stranger struct {
	net.Conn
	address string
	open    bool
}

func (s *stranger) RemoteAddr() net.Addr { return named(s.address) }
func (s *stranger) Close() error         { s.open = false; return nil }

type named string

func (named) Network() string  { return "tcp" }
func (n named) String() string { return string(n) }

// hall is a room and the connections to it.
type hall struct {
	*testing.T
	room *Room
	came map[*Conn]*stranger
}

func newHall(t *testing.T, bounds Bounds, log *events.Log) *hall {
	return &hall{t, NewRoom("test", bounds, log), map[*Conn]*stranger{}}
}

// enter opens a connection, a millisecond after the one before.
func (h *hall) enter(address string) *Conn {
	h.Helper()
	time.Sleep(time.Millisecond)
	raw := &stranger{address: address, open: true}
	conn, err := Admit(raw, h.room)
	if err != nil {
		h.Fatalf("%s: %v", address, err)
	}
	h.came[conn] = raw
	return conn
}

func (h *hall) wants(conn *Conn, open bool, why string) {
	h.Helper()
	if h.came[conn].open != open {
		h.Errorf("%s: open is %v", why, !open)
	}
}

func TestWhoWaitsLongestMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Bounds{Places: 2, Share: 2}, nil)
		first, second := h.enter("10.0.0.1:1"), h.enter("10.0.0.2:1")
		first.Work()
		time.Sleep(time.Second)
		first.Rest()
		third := h.enter("10.0.0.3:1")
		h.wants(second, false, "waits longest")
		h.wants(first, true, "had a request meanwhile")
		h.wants(third, true, "came last")
	})
}

func TestAddressAboveItsSharePaysFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Bounds{Places: 8, Share: 2}, nil)
		quiet := h.enter("10.0.0.1:1")
		var crowd []*Conn
		for i := range 20 {
			crowd = append(crowd, h.enter(fmt.Sprintf("10.0.0.2:%d", i+1)))
		}
		other := h.enter("10.0.0.3:1")
		h.wants(quiet, true, "has less than its share, and waits longest")
		h.wants(other, true, "came last")
		h.wants(crowd[0], false, "of the crowd, and waits longest")
		h.wants(crowd[len(crowd)-1], true, "of the crowd, and waits shortest")
	})
}

func TestHostHasOneShareOfAllItsIPv6Addresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Bounds{Places: 4, Share: 1}, nil)
		quiet := h.enter("[2001:db8:1::1]:1")
		for i := range 10 {
			h.enter(fmt.Sprintf("[2001:db8:2::%x]:1", i+1))
		}
		h.wants(quiet, true, "of another network")
	})
	for address, want := range map[string]string{
		"192.0.2.1:443": "192.0.2.1", "[::ffff:192.0.2.1]:443": "192.0.2.1", "[2001:db8::1:2:3]:1": "2001:db8::/64",
		"[fe80::1%eth0]:1": "fe80::/64", "192.0.2.1": "192.0.2.1", "pipe": "pipe",
	} {
		if got := HolderOf(address); got != want {
			t.Errorf("%s holds as %s, want %s", address, got, want)
		}
	}
}

func TestWhoHasLoggedInGoesAfterStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Bounds{Places: 2, Share: 2}, nil)
		user := h.enter("10.0.0.1:1")
		user.Trust()
		stranger := h.enter("10.0.0.2:1")
		h.enter("10.0.0.3:1")
		h.wants(user, true, "logged in")
		h.wants(stranger, false, "came later, and has not logged in")
	})
}

func TestConnectionThatIsWorkedForStaysAndOneMoreIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Bounds{Places: 2, Share: 1}, nil)
		busy := []*Conn{h.enter("10.0.0.1:1"), h.enter("10.0.0.1:2")}
		for _, conn := range busy {
			conn.Work()
		}
		late := &stranger{address: "10.0.0.2:1", open: true}
		if _, err := Admit(late, h.room); !errors.Is(err, ErrFull) || late.open {
			t.Errorf("got %v, open %v", err, late.open)
		}
		busy[1].Close()
		h.enter("10.0.0.2:1")
		h.wants(busy[0], true, "is worked for")
	})
}

func TestPlaceIsGivenBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Bounds{Places: 2, Share: 2}, nil)
		first := h.enter("10.0.0.1:1")
		first.Close()
		first.Close()
		second, third := h.enter("10.0.0.2:1"), h.enter("10.0.0.3:1")
		h.wants(second, true, "had a place")
		h.wants(third, true, "had a place")
		h.enter("10.0.0.4:1")
		h.wants(second, false, "there are two places")
	})
}

func TestConnectionThatMovesTakesNoPlaceWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Bounds{Places: 1, Share: 1}, nil)
		inner := NewRoom("inner", Bounds{Places: 1, Share: 1}, nil)
		first := h.enter("10.0.0.1:1")
		if err := first.Move(inner, "a"); err != nil {
			t.Fatal(err)
		}
		second := h.enter("10.0.0.1:1")
		h.wants(first, true, "is elsewhere")
		if err := second.Move(inner, "b"); err != nil {
			t.Fatal(err)
		}
		h.wants(first, false, "its place was taken")
		second.Close()
		if err := second.Move(h.room, "b"); !errors.Is(err, net.ErrClosed) || len(h.room.places)+
			len(inner.places) != 0 {
			t.Errorf("a closed connection moved: %v, %d places held", err, len(h.room.places)+len(inner.places))
		}
	})
}

func TestShortageIsToldAtOnceAndOncePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.New(slog.New(slog.NewTextHandler(io.Discard, nil)), time.Now)
		h := newHall(t, Bounds{Places: 1, Share: 1}, log)
		for range 1000 {
			h.enter("10.0.0.1:1")
		}
		if told := log.Entries(); len(told) != 1 || !strings.Contains(told[0].Message,
			"clients: 1, refused: 0; the last one closed belonged to 10.0.0.1") {
			t.Errorf("at once: %v", told)
		}
		time.Sleep(tellInterval + time.Second)
		if told := log.Entries(); len(told) != 2 || !strings.Contains(told[0].Message, "clients: 998,") {
			t.Errorf("after a minute: %v", told)
		}
		time.Sleep(10 * tellInterval)
		if told := log.Entries(); len(told) != 2 {
			t.Errorf("after it was over: %v", told)
		}
	})
}

func TestRoomTakesNoMoreThanItsPartOfTheDescriptors(t *testing.T) {
	if got := (Bounds{Places: 1 << 40, Share: 1 << 30}).Within(8); got.Places >= 1<<37 || got.Share > got.Places {
		t.Errorf("got %+v", got)
	}
	if got := (Bounds{Places: 2, Share: 1}).Within(8); got != (Bounds{Places: 2, Share: 1}) {
		t.Errorf("got %+v", got)
	}
}
