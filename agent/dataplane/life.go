package dataplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

const (
	// helloTimeout is how long a data plane that runs may take to greet. A slower one is stuck, and is killed. One that
	// applies a Plan greets when the Plan serves.
	helloTimeout = applyMax * beat
	// startTimeout is how long a new process may take to greet.
	startTimeout = 10 * time.Second
	// dialPause is the interval at which a starting process is dialled, far below what a client would notice.
	dialPause = 5 * time.Millisecond
	// framesMax wait for the supervisor; then the data plane waits for us.
	framesMax = 16
	// beat is the pace at which silence is counted, and that of Samples.
	beat = time.Second
	// silenceMax is how many beats may pass without a Sample. Every worker adds to a Sample, so without one at least
	// one worker is stuck.
	silenceMax = 5
	// applyMax is the same while a Plan is in flight: Samples wait until a large one is built.
	applyMax = 60
)

// life is one connection to one data plane's process, from Hello to the end of either.
type life struct {
	process *process
	hello   *dataplanev1.Hello
	wire    wire
	frames  chan frame    // closed when the connection is over
	closed  chan struct{} // we hung up: nobody takes frames any more
	reason  error         // why the connection is over; valid once frames is closed
	handed  map[slot]bool // sockets that the process has
	fresh   []slot        // those of them that came since it answered a Plan: it drops them if it refuses the next one
	// base is the Plan that the next change starts from, acknowledged over this connection. Nil: the next Plan goes
	// whole.
	base         *plan.Plan
	states       map[plan.Member]plan.State // as told to the process
	untold       untold
	sampleAtOnce bool   // somebody waits for a Sample that shows the states
	silence      int    // beats since the last Sample, or the last answer to a Plan
	drafting     bool   // it may be busy with the draft of a question
	unrestored   string // why the process has refused the Plan that served before; empty: it has not
}

// untold are the servers whose states the process may not have.
type untold struct {
	all  bool
	some map[plan.Member]bool
}

func (u *untold) add(members map[plan.Member]bool) {
	if u.some == nil {
		u.some = map[plan.Member]bool{}
	}
	maps.Copy(u.some, members)
}

// take returns the states of these servers, and forgets the servers.
func (u *untold) take(states States) (known map[plan.Member]plan.State) {
	switch {
	case u.all:
		known = states(nil)
	case len(u.some) > 0:
		known = states(u.some)
	}
	*u = untold{}
	return known
}

// greet dials the data plane at this socket, and receives its Hello and the list of its sockets, unless ctx ends first.
// It returns the process even if that does not greet; nil if nobody listens.
func greet(ctx context.Context, path string, known *process) (*life, sockets, *process, error) {
	connection, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, nil, nil, err
	}
	socket := connection.(*net.UnixConn)
	process, err := peer(socket, known)
	if err != nil {
		return nil, nil, nil, errors.Join(err, socket.Close())
	}
	l := &life{
		process: process, wire: wire{socket}, frames: make(chan frame, framesMax), closed: make(chan struct{}),
		handed: map[slot]bool{}, states: map[plan.Member]plan.State{}, untold: untold{all: true},
	}
	held, err := l.exchangeGreetings(ctx)
	if err != nil {
		held.closeAll()
		return nil, nil, process, errors.Join(err, socket.Close())
	}
	go l.listen()
	return l, held, process, nil
}

// peer finds out which process listens at the other end.
func peer(socket *net.UnixConn, known *process) (*process, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	var credentials *unix.Ucred
	var failed error
	err = raw.Control(func(descriptor uintptr) {
		credentials, failed = unix.GetsockoptUcred(int(descriptor), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	if known != nil && known.pid == int(credentials.Pid) && !known.hasEnded() {
		return known, nil
	}
	return adopt(int(credentials.Pid))
}

func (l *life) exchangeGreetings(ctx context.Context) (sockets, error) {
	stop := context.AfterFunc(ctx, func() { l.wire.socket.SetReadDeadline(time.Now()) })
	held, err := l.hear()
	switch {
	case !stop():
		return held, context.Cause(ctx)
	case err != nil:
		return held, fmt.Errorf("it does not greet as a data plane does: %w", err)
	default:
		return held, nil
	}
}

// hear sends Greeting, and takes Hello and the Sockets after it.
func (l *life) hear() (sockets, error) {
	held := sockets{}
	greeting := &dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_Greeting{Greeting: &dataplanev1.Greeting{}}}
	if err := l.wire.write(greeting); err != nil {
		return held, err
	}
	first, err := l.wire.read()
	if err != nil {
		return held, err
	}
	if l.hello = first.message.GetHello(); l.hello == nil {
		closeAll(first.descriptors)
		return held, errors.New("its first frame is no Hello")
	}
	for last := false; !last; {
		next, err := l.wire.read()
		if err != nil {
			return held, err
		}
		if last, err = l.take(held, next); err != nil {
			return held, err
		}
	}
	return held, nil
}

// take adds the sockets of one frame to held, which owns them from then on.
func (l *life) take(held sockets, in frame) (last bool, err error) {
	batch := in.message.GetSockets()
	if batch == nil {
		closeAll(in.descriptors)
		return false, errors.New("no Sockets follow its Hello")
	}
	for i, socket := range batch.GetSockets() {
		address, err := netip.ParseAddr(socket.GetAddress())
		protocol, known := plan.ProtocolOf(socket.GetProtocol())
		place := slot{netip.AddrPortFrom(address, uint16(socket.GetPort())), protocol, socket.GetWorker()}
		if _, twice := held[place]; err != nil || !known || twice {
			closeAll(in.descriptors[i:])
			return false, fmt.Errorf("it holds a socket at %q twice or nowhere", socket.GetAddress())
		}
		held[place] = in.descriptors[i]
		l.handed[place] = true
		l.fresh = append(l.fresh, place) // it may have come for a Plan that is not answered
	}
	return batch.GetLast(), nil
}

// listen brings frames until the connection is over.
func (l *life) listen() {
	defer close(l.frames)
	for {
		in, err := l.wire.read()
		if err != nil {
			l.reason = err
			return
		}
		closeAll(in.descriptors) // sockets come only after Hello
		select {
		case l.frames <- in:
		case <-l.closed:
			return
		}
	}
}

// stuck counts one more beat without a sign of life. It counts beats and reads no clock, so that an agent that was
// frozen itself does not blame the data plane.
func (l *life) stuck(applying bool) bool {
	l.silence++
	return l.silence >= applyMax || !applying && l.silence >= silenceMax
}

func (l *life) hangUp() {
	close(l.closed)
	l.wire.socket.Close()
	for range l.frames { // until listen has ended
	}
}

// give hands over the sockets of these places that the process does not have yet.
func (l *life) give(owned sockets, places places) error {
	var missing []slot
	for place := range places {
		if !l.handed[place] {
			missing = append(missing, place)
		}
	}
	slices.SortFunc(missing, compareSlots)
	for batch := range slices.Chunk(missing, descriptorsMax) {
		message := &dataplanev1.Sockets{Last: batch[len(batch)-1] == missing[len(missing)-1]}
		var descriptors []int
		for _, place := range batch {
			message.Sockets = append(message.Sockets, &dataplanev1.Socket{
				Address: place.at.Addr().String(), Port: uint32(place.at.Port()), Worker: place.worker,
				Protocol: place.protocol.Wire(),
			})
			descriptors = append(descriptors, owned[place])
			l.handed[place] = true
		}
		l.fresh = append(l.fresh, batch...)
		frame := &dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_Sockets{Sockets: message}}
		if err := l.wire.write(frame, descriptors...); err != nil {
			return err
		}
	}
	return nil
}

// forget drops places whose sockets were closed. A later socket at the same place is a different one.
func (l *life) forget(closed []slot) {
	for _, place := range closed {
		delete(l.handed, place)
	}
}

// forgetStates has the states of these servers sent again: the process may not know them yet.
func (l *life) forgetStates(members []plan.Member) {
	forgotten := map[plan.Member]bool{}
	for _, member := range members {
		delete(l.states, member)
		forgotten[member] = true
	}
	l.untold.add(forgotten)
}

func (l *life) forgetAllStates() {
	clear(l.states)
	l.untold = untold{all: true}
	l.sampleAtOnce = true // routes of the first Plan wait for it
}

// tell sends the states that the process does not have yet.
func (l *life) tell(states States) error {
	news := &dataplanev1.ServerStates{SampleLater: true}
	for server, state := range l.untold.take(states) {
		before, told := l.states[server]
		if told && before == state {
			continue
		}
		l.states[server] = state
		next := &dataplanev1.ServerState{PoolUuid: server.Pool, ServerId: server.Server, Up: state.Up}
		if before.Tasks.Report != state.Tasks.Report {
			next.Tasks = tasks(state.Tasks)
		}
		news.States = append(news.States, next)
		// A Sample does not show tasks.
		news.SampleLater = news.SampleLater && (!l.sampleAtOnce || told && before.Up == state.Up)
	}
	l.sampleAtOnce = false
	if len(news.States) == 0 {
		return nil
	}
	return l.wire.write(&dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_ServerStates{ServerStates: news}})
}

func tasks(of plan.Tasks) *dataplanev1.TaskReport {
	if !of.Known {
		return &dataplanev1.TaskReport{}
	}
	return &dataplanev1.TaskReport{Tasks: &of.Count}
}
