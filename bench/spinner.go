package bench

import (
	"fmt"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/lab"
)

// spinnersPerCore take three quarters of each of the balancer's cores, so that the balancer always has a backlog.
const spinnersPerCore = 3

// startSpinners keeps the balancer's cores busy until stop is called. The spinners also end with the lab, or with this
// process.
func startSpinners(l *lab.Lab, cores []int) (stop func(), err error) {
	var spinners []*lab.Process
	stop = func() {
		for _, spinner := range spinners {
			_ = spinner.Kill()
		}
	}
	for _, core := range cores {
		for i := range spinnersPerCore {
			program, args := meter.Pinned([]int{core}, "sh", "-c", "while :; do :; done")
			spinner, err := l.Start(fmt.Sprintf("spinner-%d-%d", core, i+1), program, args...)
			if err != nil {
				return stop, err
			}
			spinners = append(spinners, spinner)
		}
	}
	return stop, nil
}
