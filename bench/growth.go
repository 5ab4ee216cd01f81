package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/workloads"
)

// step is Weir at one size. All steps run beside each other, so that each round can measure all of them together.
type step struct {
	size    int
	subject subject
	idle    int // connections held open beside the load
}

// measureGrowth measures Weir alone, against itself when it was smaller.
func (s *stage) measureGrowth(ctx context.Context) error {
	if err := s.startServers(ctx); err != nil {
		return err
	}
	steps, err := s.buildSteps(ctx)
	if err != nil {
		return err
	}
	if len(steps) == 0 {
		return errors.New("weir serves it at no size")
	}
	for _, step := range steps {
		s.row.Curve = append(s.row.Curve, report.Point{Step: step.size})
		// Every server has a connection, before anything counts.
		if _, err := load(ctx, s.lab, s.workload, step.subject, s.run.slice*slicesPerRound); err != nil {
			return err
		}
	}
	stop, err := startSpinners(s.lab, s.cores)
	defer stop()
	if err != nil {
		return err
	}
	for slice := range s.run.growthSlices() {
		if err := s.measureSlice(ctx, steps, slice); err != nil {
			return err
		}
	}
	return nil
}

const (
	// slicesPerRound cut a round: a few percent are looked for, and the machine's speed drifts by more within seconds.
	slicesPerRound = 4
	// growthRounds stand for one of other rows, for the same reason.
	growthRounds = 2
)

// growthSlices is higher if the number of rounds was not given.
func (r *run) growthSlices() int {
	if r.options.Quick || r.options.Rounds > 0 {
		return r.rounds * slicesPerRound
	}
	return r.rounds * growthRounds * slicesPerRound
}

// measureSlice measures every step once.
func (s *stage) measureSlice(ctx context.Context, steps []step, slice int) error {
	for _, at := range sliceOrder(len(steps), slice) {
		step := steps[at]
		sample, err := sample(ctx, s.lab, s.workload, step.subject, s.cores, s.run.slice, step.idle)
		if err != nil {
			return fmt.Errorf("%d %s: %w", step.size, s.workload.Growth.Of, err)
		}
		s.row.Curve[at].Slices = append(s.row.Curve[at].Slices, sample)
		s.run.told.measured(fmt.Sprintf("%s  slice %d/%d  %d %s  %.1f µs", s.workload.ID, slice+1,
			s.run.growthSlices(), step.size,
			s.workload.Growth.Of, sample.CPUus))
	}
	return nil
}

// sliceOrder puts the first and the last step, whose costs are compared, side by side, each as often before the other.
func sliceOrder(steps, slice int) []int {
	order := []int{steps - 1}
	for at := range steps - 1 {
		order = append(order, at)
	}
	if slice%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

func (s *stage) buildSteps(ctx context.Context) ([]step, error) {
	var steps []step
	for _, size := range s.workload.Growth.Steps {
		s.run.told.meanwhile(fmt.Sprintf("%s  building %d %s", s.workload.ID, size, s.workload.Growth.Of))
		if s.workload.Growth.Of == workloads.GrowConnections && len(steps) > 0 {
			steps = append(steps, step{size: size, subject: steps[0].subject, idle: size})
			continue
		}
		subject, err := s.buildStep(ctx, size)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			what := fmt.Sprintf("%d %s", size, s.workload.Growth.Of)
			s.row.Failed[what] = err.Error()
			s.run.told.say("  %-10s without %s: %v", s.workload.ID, what, err)
			continue
		}
		steps = append(steps, step{size: size, subject: subject})
	}
	return steps, nil
}

// buildStep starts a Weir of its own and lets it grow to size.
func (s *stage) buildStep(ctx context.Context, size int) (subject, error) {
	name := fmt.Sprintf("weir-%d", size)
	setup, err := s.setup(name, weirVIP)
	if err != nil {
		return subject{}, err
	}
	if s.workload.Growth.Of == workloads.GrowServers {
		if setup.Servers, err = s.manyServers(size); err != nil {
			return subject{}, err
		}
	}
	w, err := s.startNamedWeir(ctx, name, setup.Dir)
	if err != nil {
		return subject{}, err
	}
	if err := s.grow(ctx, w, setup, size); err != nil {
		return subject{}, err
	}
	return w.subject(ctx, setup)
}

// poolServersMax is what the API allows in one pool.
const poolServersMax = 5000

func (s *stage) grow(ctx context.Context, w weir, setup peers.Setup, size int) error {
	others := setup
	var rest []string
	if len(setup.Servers) > poolServersMax {
		setup.Servers, rest = setup.Servers[:poolServersMax], setup.Servers[poolServersMax:]
	}
	if err := w.serve(ctx, setup, s.cert); err != nil {
		return err
	}
	// What the first pool may not hold is in others, each with a virtual service of its own.
	number := 1
	for servers := range slices.Chunk(rest, poolServersMax) {
		number++
		if err := w.createPool(ctx, fmt.Sprintf("bench-%d", number), servers, setup); err != nil {
			return err
		}
		if err := s.addService(ctx, w, others, number, fmt.Sprintf("bench-%d", number)); err != nil {
			return err
		}
	}
	if s.workload.Growth.Of != workloads.GrowServices {
		return nil
	}
	for number := 2; number <= size; number++ {
		if err := s.addService(ctx, w, others, number, "bench"); err != nil {
			return err
		}
		s.run.told.meanwhile(fmt.Sprintf("%s  %d of %d %s", s.workload.ID, number, size, s.workload.Growth.Of))
	}
	return w.UntilUp(ctx)
}

// addService makes one more virtual service, on an address of its own.
func (s *stage) addService(ctx context.Context, w weir, setup peers.Setup, number int, pool string) error {
	setup.Host = fmt.Sprintf("127.4.%d.%d", number/250, 1+number%250)
	return w.createService(ctx, fmt.Sprintf("bench-%d", number), pool, setup)
}

// manyServers is a number of addresses for the servers; the loopback network has room for all.
func (s *stage) manyServers(count int) ([]string, error) {
	_, port, err := net.SplitHostPort(s.servers[0])
	if err != nil {
		return nil, err
	}
	var servers []string
	for i := range count {
		servers = append(servers, fmt.Sprintf("127.5.%d.%d:%s", i/250, 1+i%250, port))
	}
	return servers, nil
}
