// Package dataplane keeps one data plane serving: it starts it or takes over one that runs, owns the listening sockets,
// gives it Plans and server states, and restarts it when it dies or is stuck. All of that happens in one goroutine
// (Run): supervisor.go is its way from process to process, serve.go what happens during the life of one; the decisions
// are in rollout.go. Clients never see a refused connection, because the sockets outlive the process.
package dataplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/backoff"
)

const (
	// stableAfter is how long a data plane must live for its end to count as the first again.
	stableAfter = 30 * time.Second
	// exitPatience is how long the end of a process may take to follow the end of its connection.
	exitPatience = time.Second
	// drainTimeout is how long requests in flight may take when the engine stops.
	drainTimeout = 5 * time.Second
)

// Observer is told what happens. Its methods are called one at a time and may not block.
type Observer interface {
	Applied(plan *plan.Plan, warnings []plan.Finding)
	// Assumed says that a newer Plan serves, which the agent does not have. This one is to stand for it.
	Assumed(plan *plan.Plan)
	Refused(plan *plan.Plan, errors []plan.Finding)
	Changed(Status)
	Sampled(Sample)
	Explained(*dataplanev1.Explanation)
	Demanded(*dataplanev1.KeyDemands)
}

// Config says what to run and whom to tell.
type Config struct {
	Binary  string
	Socket  string // path of the unix socket that the data plane listens on
	Output  string // path of the file that takes its output
	Workers int    // 0: one for each core
	Version string // of this agent; a data plane of another one is remarked on
	Keep    bool   // at the end, leave it running for the next agent
	// Kept is the Plan on disk, which the engine applies first; nil: there is none. A data plane that runs and serves
	// another Plan keeps that one. It is the newer one, because a Plan is written to disk after it serves. Its revision
	// may be lower all the same, when the controller's store was restored.
	Kept     *plan.Plan
	States   States
	Segments Segments
	Observer Observer
	Records  func(*dataplanev1.Records) // takes records of requests, and may not block; nil: nobody does
	Log      *slog.Logger
}

// States tells what is known of these servers; nil: of all servers. Servers that are not checked yet are left out.
type States func(of map[plan.Member]bool) map[plan.Member]plan.State

// Segments limits how long a TCP segment may be.
type Segments interface {
	MaxSegment(netip.Addr) int // to or from an address; 0: as its way allows
	// ChangedSegments are the addresses whose limit has changed since the last call.
	ChangedSegments() (all bool, some map[netip.Addr]bool)
}

// Supervisor keeps one data plane serving.
type Supervisor struct {
	Config
	asked         chan struct{} // capacity 1: wanted has been set
	statesChanged chan struct{} // capacity 1
	lettingGo     chan struct{} // capacity 1
	questions     chan *dataplanev1.Question
	shares        chan *dataplanev1.KeyShares
	recordsTaken  chan struct{} // capacity 1
	beat          time.Duration
	exitPatience  time.Duration // shorter in tests

	mu      sync.Mutex
	wanted  *plan.Plan                           // not yet taken by Run; nil: none
	changed map[plan.Member]bool                 // servers with another state, not yet taken by Run
	taken   map[uint32]*dataplanev1.RecordsTaken // by worker; not yet told by Run

	// Of Run alone.
	rollout rollout
	sockets sockets
	step    step     // to the Plan in flight
	serving places   // where what serves listens: a Plan of ours, or what a data plane brought along
	process *process // nil: none runs
	status  Status
	workers uint32 // of the data plane
	samples int    // since the last whole Plan that it applied, or since it greeted
	// by conditional virtual service: how many had come when a Plan last changed it or its pools
	since    map[string]int
	settled  map[string]bool // conditional virtual services whose sockets are as they should be: whether they listen
	overdue  places          // are to listen whatever is up, and do not yet
	failures map[string]bool // of listening, at the last Sample; each is logged
}

// New makes a supervisor that does nothing before Run.
func New(config Config) *Supervisor {
	return &Supervisor{
		Config: config, asked: make(chan struct{}, 1), statesChanged: make(chan struct{}, 1),
		lettingGo: make(chan struct{}, 1), questions: make(chan *dataplanev1.Question, questionsMax),
		shares:       make(chan *dataplanev1.KeyShares, sharesMax),
		changed:      map[plan.Member]bool{},
		recordsTaken: make(chan struct{}, 1), taken: map[uint32]*dataplanev1.RecordsTaken{},
		beat: beat, exitPatience: exitPatience,
		sockets: sockets{}, serving: places{}, settled: map[string]bool{}, overdue: places{},
		since: map[string]int{},
	}
}

// Apply asks for a Plan. Of Plans that wait, only the newest is answered.
func (s *Supervisor) Apply(plan *plan.Plan) {
	s.mu.Lock()
	s.wanted = plan
	s.mu.Unlock()
	wake(s.asked)
}

// StateChanged says that States has news of a server.
func (s *Supervisor) StateChanged(server plan.Member) {
	s.mu.Lock()
	s.changed[server] = true
	s.mu.Unlock()
	wake(s.statesChanged)
}

// LetGo has the data plane ask clients to reconnect elsewhere. It keeps serving them. The end of Run follows.
func (s *Supervisor) LetGo() {
	wake(s.lettingGo)
}

// questionsMax is how many questions may wait. There are more only while the data plane does not serve.
const questionsMax = 16

// Ask has the data plane explain what would happen to a request. false: too many questions wait.
func (s *Supervisor) Ask(question *dataplanev1.Question) bool {
	select {
	case s.questions <- question:
		return true
	default:
		return false
	}
}

// sharesMax is how many answers about hot keys may wait. There are more only while the data plane does not serve.
const sharesMax = 4

// Share tells the data plane which shares of the rates of hot keys it has. What it cannot take in time is left out: it
// falls back.
func (s *Supervisor) Share(shares *dataplanev1.KeyShares) {
	select {
	case s.shares <- shares:
	default:
	}
}

// forgetShares drops the answers that were for the last data plane: what they say is long past.
func (s *Supervisor) forgetShares() {
	for len(s.shares) > 0 {
		<-s.shares
	}
}

func wake(waiter chan struct{}) {
	select {
	case waiter <- struct{}{}:
	default:
	}
}

// Run keeps a data plane serving until ctx ends, then drains and stops it, or leaves it running if Keep.
func (s *Supervisor) Run(ctx context.Context) {
	defer s.sockets.closeAll()
	pause := backoff.Backoff{Free: 1, First: 200 * time.Millisecond, Most: 5 * time.Second}
	life := s.takeOver(ctx)
	for ctx.Err() == nil {
		began := time.Now()
		err := s.live(ctx, life)
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > stableAfter {
			pause.Reset()
		}
		if life = s.takeOver(ctx); life == nil {
			s.ended(ctx, err, pause.Next())
		}
	}
	s.stop()
}

// live starts a data plane, unless one was taken over, and serves until it is lost. That is always an error.
func (s *Supervisor) live(ctx context.Context, taken *life) error {
	life := taken
	if life == nil {
		var err error
		if life, err = s.launch(ctx); err != nil {
			return err
		}
	}
	defer life.hangUp()
	s.greeted(life)
	err := s.serve(ctx, life)
	if ctx.Err() != nil && !s.Keep {
		s.drain(life)
	}
	return err
}

// ended reports the end of a data plane, refuses the Plan that has caused two such ends, and waits.
func (s *Supervisor) ended(ctx context.Context, cause error, pause time.Duration) {
	s.Log.Error("the data plane ended; starting it again", "reason", cause, "after", pause)
	s.status.Restarts++
	s.become(BackingOff, cause.Error())
	if verdict := s.rollout.died(); verdict != nil {
		s.sockets.retain(s.serving)
		s.Observer.Refused(verdict.plan, blame(s.rollout.served(), verdict.plan, cause))
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// takeOver returns a running data plane, if it answers. A running one that does not answer is killed.
func (s *Supervisor) takeOver(ctx context.Context) *life {
	greeting, cancel := context.WithTimeoutCause(ctx, helloTimeout, fmt.Errorf("no answer within %v", helloTimeout))
	defer cancel()
	life, held, process, err := greet(greeting, s.Socket, s.process)
	if err == nil {
		s.own(held)
		return life
	}
	if process == nil {
		process = s.process
	}
	if ctx.Err() != nil {
		s.process = process // for stop
		return nil
	}
	if process != nil && !process.hasEnded() {
		s.Log.Error("the data plane that runs does not answer; killing it", "pid", process.pid, "reason", err)
		if err := process.kill(); err != nil {
			s.Log.Error("the data plane cannot be replaced", "reason", err)
		}
	}
	s.process = nil
	return nil
}

// own keeps the sockets that a data plane held for us, unless we have our own of them.
func (s *Supervisor) own(held sockets) {
	for place, descriptor := range held {
		if _, have := s.sockets[place]; !have {
			s.sockets[place] = descriptor
			s.serving[place] = plan.Listener{}
			delete(held, place)
		}
	}
	held.closeAll()
}

// launch starts a process and waits until it greets.
func (s *Supervisor) launch(ctx context.Context) (*life, error) {
	s.become(Starting, "")
	if err := os.Remove(s.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot start the data plane: %w", err)
	}
	arguments := []string{"--socket", s.Socket}
	if s.Workers > 0 {
		arguments = append(arguments, "--workers", strconv.Itoa(s.Workers))
	}
	process, err := start(s.Binary, arguments, s.Output)
	if err != nil {
		return nil, fmt.Errorf("cannot start the data plane: %w", err)
	}
	s.process = process
	life, err := s.await(ctx, process)
	if err != nil {
		return nil, errors.Join(err, process.kill())
	}
	return life, nil
}

// await dials a process that has just been started until it listens, and greets it.
func (s *Supervisor) await(ctx context.Context, process *process) (*life, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout,
		fmt.Errorf("the data plane did not greet within %v of its start", startTimeout))
	defer cancel()
	for {
		life, held, _, err := greet(ctx, s.Socket, process)
		held.closeAll()
		if err == nil {
			return life, nil
		}
		if !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, err
		}
		select {
		case <-time.After(dialPause):
		case <-process.exited:
			return nil, errors.New(process.ending)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// greeted is told of each life that begins.
func (s *Supervisor) greeted(life *life) {
	s.process = life.process
	s.forgetShares()
	s.workers, s.samples = life.hello.GetWorkers(), 0
	clear(s.settled)
	clear(s.since)
	s.rollout.begin(life.hello.GetAppliedRevision())
	if version := life.hello.GetVersion(); version != s.Version {
		s.Log.Warn("the data plane is of another version than this agent", "dataplane", version, "agent", s.Version)
	}
	s.status.PID = life.process.pid
	s.status.ServingRevision = life.hello.GetAppliedRevision()
	s.become(Running, "")
	s.Log.Info("connected to the data plane", "pid", life.process.pid, "workers", life.hello.GetWorkers(), "revision",
		life.hello.GetAppliedRevision())
}

// become reports a state. The same state is reported again if something else in the status has changed.
func (s *Supervisor) become(state State, reason string) {
	if s.status.State != state || s.status.Reason != reason {
		s.status.SinceUnixMs = uint64(time.Now().UnixMilli())
	}
	s.status.State, s.status.Reason = state, reason
	if state != Running {
		s.status.PID, s.status.ServingRevision = 0, 0
	}
	s.Observer.Changed(s.status)
}

// drain lets requests finish for a while, takes their records, and waits for the end of the process. Our own sockets
// close first, so that no client waits in them for a data plane that accepts no more.
func (s *Supervisor) drain(life *life) {
	s.sockets.closeAll()
	drain := &dataplanev1.Drain{TimeoutMs: uint32(drainTimeout.Milliseconds())}
	if err := life.wire.write(
		&dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_Drain{Drain: drain}}); err != nil {
		return
	}
	patience := time.After(drainTimeout + s.exitPatience)
	frames := life.frames
	for {
		select {
		case in, open := <-frames:
			if !open {
				frames = nil
			} else if records := in.message.GetRecords(); records != nil {
				s.hearRecords(records)
			}
		case <-s.recordsTaken:
			_ = s.tellTaken(life) // its end is near
		case <-life.process.exited:
			return
		case <-patience:
			s.Log.Warn("the data plane did not drain in time; killing it", "pid", life.process.pid)
			return
		}
	}
}

// stop leaves no process behind, except with Keep the one that serves.
func (s *Supervisor) stop() {
	if s.process != nil && !s.process.hasEnded() {
		if s.Keep {
			s.Log.Info("leaving the data plane running for the next agent", "pid", s.process.pid)
			return
		}
		if err := s.process.kill(); err != nil {
			s.Log.Error("the data plane still runs", "reason", err)
			return
		}
	}
	s.become(Stopped, "the agent stops")
}
