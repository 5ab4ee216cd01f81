package state

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

const planName = "plan"

// SavePlan replaces the last good Plan on disk.
func (d *Dir) SavePlan(plan *enginev1.Plan) error {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(plan)
	if err != nil {
		return fmt.Errorf("the Plan at revision %d: %w", plan.GetRevision(), err)
	}
	return d.write(planName, body)
}

// Plan reads the last good Plan: ErrAbsent if there is none, *CorruptError if the controller has to send it again.
func (d *Dir) Plan() (*enginev1.Plan, error) {
	body, err := d.read(planName)
	if err != nil {
		return nil, err
	}
	plan := new(enginev1.Plan)
	if err := proto.Unmarshal(body, plan); err != nil {
		return nil, d.moveAside(planName, err.Error())
	}
	return plan, nil
}
