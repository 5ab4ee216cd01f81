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
	"github.com/weir-lb/weir/controller/store"
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
func explainOf(explainer *explain.Explainer, drafts *drafts) rest.Explain {
	return func(ctx context.Context, q rest.Question, view *store.View, sees func(string) bool) (schema.Object, string,
		error) {
		var draft *explain.Draft
		if view != nil {
			leave, err := drafts.enter(ctx)
			if errors.Is(err, explain.ErrBusy) {
				err = rest.ErrExplainBusy
			}
			if err != nil {
				return nil, "", err
			}
			defer leave()
			if draft, err = drafts.of(view); err != nil {
				return nil, "", err
			}
		}
		asked := explain.Question(q)
		found, why := explainer.Find(asked, draft, sees)
		if why != "" {
			return nil, why, nil
		}
		answer, err := explainer.Explain(ctx, asked, found, draft, sees)
		if errors.Is(err, explain.ErrBusy) {
			err = rest.ErrExplainBusy
		}
		return answer, "", err
	}
}
