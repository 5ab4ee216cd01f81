package controller

import (
	"context"
	"errors"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/explain"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/rest"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/shares"
)

// ears take what engines report: answers to questions go to who has asked, what is asked of hot keys to the broker,
// everything else to the fleet.
type ears struct {
	*fleet.Fleet
	explainer *explain.Explainer
	shares    *shares.Broker
}

func (e ears) Reported(engineUUID string, report *enginev1.Report) {
	if demands := report.GetKeyDemands(); demands != nil {
		e.shares.Heard(engineUUID, demands)
		return
	}
	if answer := report.GetExplanation(); answer != nil {
		e.explainer.Heard(engineUUID, answer)
	}
	e.Fleet.Reported(engineUUID, report)
}

// explainOf asks engines for REST.
func explainOf(explainer *explain.Explainer) rest.Explain {
	return func(ctx context.Context, q rest.Question, sees func(string) bool) (schema.Object, string, error) {
		asked := explain.Question(q)
		found, why := explainer.Find(asked, sees)
		if why != "" {
			return nil, why, nil
		}
		answer, err := explainer.Explain(ctx, asked, found, sees)
		if errors.Is(err, explain.ErrBusy) {
			err = rest.ErrExplainBusy
		}
		return answer, "", err
	}
}
