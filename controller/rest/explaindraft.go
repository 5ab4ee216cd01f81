package rest

import (
	"fmt"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// draftMost is the number of objects of one draft.
const draftMost = 50

// draftsOf reads the objects of a draft, each behind the name of its kind: [{"httppolicyset": {…}}, {"pool": {…}}]. One
// with a uuid is a changed object, as in a PUT; one without is new, as in a POST.
func draftsOf(sent any) (drafts []admit.Draft, err error) {
	list, isList := sent.([]any)
	if !isList || len(list) == 0 || len(list) > draftMost {
		return nil, &badQuery{"with", fmt.Sprintf("give a list of 1 to %d objects, each behind the name of its kind",
			draftMost)}
	}
	for i, item := range list {
		named, _ := item.(schema.Object)
		if len(named) != 1 {
			return nil, badDraft(i, `give one object behind the name of its kind, as in {"httppolicyset": {…}}`)
		}
		for name, value := range named {
			kind, known := schema.Lookup(name)
			object, isObject := value.(schema.Object)
			switch {
			case !known:
				return nil, badDraft(i, fmt.Sprintf("%s is no kind of object", schema.Show(name)))
			case !isObject:
				return nil, badDraft(i, "give an object behind the name of its kind")
			}
			draft := admit.Draft{Kind: kind, Object: object}
			draft.UUID, _ = object["uuid"].(string)
			drafts = append(drafts, draft)
		}
	}
	return drafts, nil
}

func badDraft(at int, problem string) error { return &badQuery{fmt.Sprintf("with[%d]", at), problem} }

// draft returns the view that there would be with the objects of a draft, and says of each what the answer to its write
// would.
func (c *call) draft(with []admit.Draft) (view *store.View, written []any, err error) {
	view, records, err := c.api.gate.Draft(c.r.Context(), c.write(nil), with)
	if err != nil {
		return nil, nil, err
	}
	c.view = view // that warnings look at
	for i, record := range records {
		shown := schema.Object{"kind": record.Kind, "name": record.Name}
		if with[i].UUID != "" {
			shown["uuid"] = record.UUID
		}
		if warnings := c.warningsOf(with[i].Kind, with[i].Object, record.Object); len(warnings) > 0 {
			shown["weir_warnings"] = warnings
		}
		written = append(written, shown)
	}
	return view, written, nil
}
