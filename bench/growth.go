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
		if _, err := load(ctx, s.lab, s.workload, step.subject, s.run.span); err != nil {
			return err
		}
	}
	stop, err := startSpinners(s.lab, s.cores)
	defer stop()
	if err != nil {
		return err
	}
	for round := range s.run.rounds {
		whole, err := s.measureSteps(ctx, steps)
		if err != nil {
			return err
		}
		for i, step := range steps {
			s.row.Curve[i].Rounds = append(s.row.Curve[i].Rounds, whole[i])
			s.run.told.measured(fmt.Sprintf("%s  round %d/%d  %d %s  %.1f µs", s.workload.ID, round+1, s.run.rounds, step.size,
				s.workload.Growth.Of, whole[i].CPUus))
		}
	}
	return nil
}

// slicesPerRound cut a round: a few percent are looked for, and the machine's speed drifts by more within seconds.
const slicesPerRound = 4

// measureSteps is one round: every step in slices, in turn, each turn beginning with another one.
func (s *stage) measureSteps(ctx context.Context, steps []step) ([]report.Sample, error) {
	parts := make([][]report.Sample, len(steps))
	for slice := range slicesPerRound {
		for i := range steps {
			at := (i + slice) % len(steps)
			sample, err := sample(ctx, s.lab, s.workload, steps[at].subject, s.run.span/slicesPerRound, steps[at].idle)
			if err != nil {
				return nil, fmt.Errorf("%d %s: %w", steps[at].size, s.workload.Growth.Of, err)
			}
			parts[at] = append(parts[at], sample)
		}
	}
	var whole []report.Sample
	for i := range steps {
		whole = append(whole, report.Together(parts[i]))
	}
	return whole, nil
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
	w, err := startWeir(ctx, s.lab, name, setup.Dir, s.run.programs, s.cores)
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

func (s *stage) grow(ctx context.Context, w *weir, setup peers.Setup, size int) error {
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
	return w.waitUp(ctx)
}

// addService makes one more virtual service, on an address of its own.
func (s *stage) addService(ctx context.Context, w *weir, setup peers.Setup, number int, pool string) error {
	setup.Host = fmt.Sprintf("127.4.%d.%d", number/250, 1+number%250)
	return w.createService(ctx, fmt.Sprintf("bench-%d", number), pool, setup)
}

// manyServers are as many addresses of the servers behind; the loopback network has room for all.
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
