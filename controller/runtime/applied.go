package runtime

import (
	"fmt"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/schema"
)

// Progress says how far a write has come that the store has since a revision: whether the controller has made Plans of
// it (considered), and on how many engines these are in force. With the uuid of an object, the engines are those of the
// virtual services that consist of it; without, those whose Plans have changed since.
func (p *Pages) Progress(revision int64, uuid string) (page schema.Object) {
	p.fleet.Read(func(known *fleet.Known) {
		if uuid == "" {
			page = appliedPage(known, known.AppliedSince(revision))
		} else {
			applied, virtualServices := known.AppliedBeside(uuid)
			page = appliedPage(known, applied)
			page["virtual_services"] = int64(virtualServices)
		}
		page["considered"] = known.Revision() >= revision
	})
	return page
}

func appliedPage(known *fleet.Known, applied fleet.Applied) schema.Object {
	refusals := []any{}
	for _, id := range applied.Refusing {
		refusal := known.Engine(id).Refusal
		refusals = append(refusals, schema.Object{
			"engine": known.Name(id), "revision": int64(refusal.Revision),
			"errors": findings(refusal.Errors, known.Name(id)),
		})
	}
	return schema.Object{
		"revision": int64(applied.Revision), "engines_total": int64(applied.Engines),
		"engines_applied": int64(applied.Done),
		"text":            fmt.Sprintf("applied on %d of %d engines", applied.Done, applied.Engines),
		"refusals":        refusals,
	}
}
