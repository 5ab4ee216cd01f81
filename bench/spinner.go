package bench

import (
	"fmt"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/lab"
)

// spinnersPerCore take three quarters of each of the balancer's cores, so that the load always finds it behind.
const spinnersPerCore = 3

// startSpinners burns the balancer's cores. They end with stopAll, with the lab, or with this process.
func startSpinners(l *lab.Lab, cores []int) ([]*lab.Process, error) {
	var spinners []*lab.Process
	for _, core := range cores {
		for i := range spinnersPerCore {
			program, args := meter.Pinned([]int{core}, "sh", "-c", "while :; do :; done")
			spinner, err := l.Start(fmt.Sprintf("spinner-%d-%d", core, i+1), program, args...)
			if err != nil {
				return spinners, err
			}
			spinners = append(spinners, spinner)
		}
	}
	return spinners, nil
}

func stopAll(processes []*lab.Process) {
	for _, p := range processes {
		_ = p.Kill()
	}
}
