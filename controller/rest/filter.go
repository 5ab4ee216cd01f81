package rest

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// filter tells whether an object is in the list.
type filter func(*store.Record) bool

// notFilters are the parameters that choose the form of a list, not its objects.
var notFilters = []string{"fields", "include_name", "include_refs", "skip_default", "join_subresources", "sort", "page",
	"page_size", "limit_by", "export_key", "tenant", "tenant_ref.name", "include", "detail"}

// aliases are other names of filters.
var aliases = map[string]string{"cloud": "cloud_ref.name", "cloud_uuid": "cloud_ref.uuid",
	"tenant_uuid": "tenant_ref.uuid"}

// parseFilters makes one filter of all parameters. A field that no object has matches nothing.
// reads says which objects of other kinds the user may read.
func parseFilters(view *store.View, kind *schema.Kind, query url.Values, reads filter) (filter, error) {
	var all []filter
	for name, values := range query {
		if slices.Contains(notFilters, name) {
			continue
		}
		if alias, ok := aliases[name]; ok {
			name = alias
		}
		one, err := parseFilter(view, kind, name, values[0], reads)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return func(record *store.Record) bool {
		for _, matches := range all {
			if !matches(record) {
				return false
			}
		}
		return true
	}, nil
}

func parseFilter(view *store.View, kind *schema.Kind, name, value string, reads filter) (filter, error) {
	switch name {
	case "uuid":
		return func(r *store.Record) bool { return r.UUID == value }, nil
	case "uuid.in":
		wanted := strings.Split(value, ",")
		return func(r *store.Record) bool { return slices.Contains(wanted, r.UUID) }, nil
	case "exclude":
		unwanted := strings.Split(value, ",")
		return func(r *store.Record) bool { return !slices.Contains(unwanted, r.UUID) }, nil
	case "search":
		return searching(kind, value, false)
	case "isearch":
		return searching(kind, value, true)
	case "refers_to":
		return refersTo(value)
	case "referred_by":
		return referredBy(view, value, reads)
	}
	return comparing(view, kind, name, value), nil
}

// searching looks for a text anywhere in what a client can read of an object. The form "(name,x)" looks in one field,
// "(,x)" in all of them.
func searching(kind *schema.Kind, value string, fold bool) (filter, error) {
	field, wanted := "", value
	if inner, ofField := strings.CutPrefix(strings.TrimSuffix(value, ")"), "("); ofField {
		var found bool
		if field, wanted, found = strings.Cut(inner, ","); !found {
			return nil, &badQuery{"search", "give a text, or (field,text)"}
		}
	}
	if field == "" {
		holds := kind.Search(wanted, fold)
		return func(r *store.Record) bool { return holds(r.Object) }, nil
	}
	folded := func(text string) string { return text }
	if fold {
		folded = strings.ToLower
	}
	wanted = folded(wanted)
	return func(r *store.Record) bool {
		return strings.Contains(folded(text(kind.Shown(r.Object, field))), wanted)
	}, nil
}

func refersTo(value string) (filter, error) {
	kind, uuid, ok := strings.Cut(value, ":")
	if !ok {
		return nil, &badQuery{"refers_to", "give <kind>:<uuid>"}
	}
	return func(r *store.Record) bool { return r.RefersTo(kind, uuid) }, nil
}

// referredBy looks for the objects that another one refers to, which the user must be allowed to read.
func referredBy(view *store.View, value string, reads filter) (filter, error) {
	kind, uuid, ok := strings.Cut(value, ":")
	if !ok {
		return nil, &badQuery{"referred_by", "give <kind>:<uuid>"}
	}
	referrer, known := view.Get(kind, uuid)
	known = known && reads(referrer)
	return func(r *store.Record) bool { return known && referrer.RefersTo(r.Kind, r.UUID) }, nil
}

// comparing filters by a field: "name", "name.contains", "services.port", "cloud_ref.name". An object must also match
// with its secrets hidden, so that nobody can guess a secret by filtering.
func comparing(view *store.View, kind *schema.Kind, name, value string) filter {
	field, compare := operator(name, value)
	path := strings.Split(field, ".")
	matches := func(object schema.Object) bool {
		return slices.ContainsFunc(valuesAt(view, object, path), func(found any) bool { return compare(text(found)) })
	}
	if !kind.Hides(path[0]) {
		return func(r *store.Record) bool { return matches(r.Object) }
	}
	return func(r *store.Record) bool { return matches(r.Object) && matches(kind.Redact(r.Object)) }
}

func operator(name, value string) (field string, compare func(string) bool) {
	lower := strings.ToLower(value)
	switch {
	case strings.HasSuffix(name, ".contains"):
		return strings.TrimSuffix(name, ".contains"), func(text string) bool { return strings.Contains(text, value) }
	case strings.HasSuffix(name, ".icontains"):
		return strings.TrimSuffix(name, ".icontains"),
			func(text string) bool { return strings.Contains(strings.ToLower(text), lower) }
	case strings.HasSuffix(name, ".in"):
		wanted := strings.Split(value, ",")
		return strings.TrimSuffix(name, ".in"), func(text string) bool { return slices.Contains(wanted, text) }
	}
	return name, func(text string) bool { return text == value }
}

// valuesAt returns the values at a path. It looks into all items of a list. A reference stands for the name and the
// uuid of its object.
func valuesAt(view *store.View, value any, path []string) []any {
	if items, ok := value.([]any); ok {
		var found []any
		for _, item := range items {
			found = append(found, valuesAt(view, item, path)...)
		}
		return found
	}
	if len(path) == 0 {
		return []any{value}
	}
	switch v := value.(type) {
	case schema.Object:
		if inner, ok := v[path[0]]; ok {
			return valuesAt(view, inner, path[1:])
		}
	case string:
		return behind(view, v, path)
	}
	return nil
}

func behind(view *store.View, reference string, path []string) []any {
	kind, uuid, ok := strings.Cut(strings.TrimPrefix(reference, "/api/"), "/")
	if !ok || len(path) != 1 {
		return nil
	}
	switch record, found := view.Get(kind, uuid); {
	case path[0] == "uuid":
		return []any{uuid}
	case path[0] == "name" && found:
		return []any{record.Name}
	}
	return nil
}

func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return fmt.Sprint(value)
}

// sortRecords sorts by a field of the objects; "-field" sorts in descending order. Objects with equal values stay
// sorted by name.
func sortRecords(kind *schema.Kind, records []*store.Record, by string) {
	field, descending := strings.CutPrefix(by, "-")
	if field == "" {
		return
	}
	values := make(map[*store.Record]any, len(records))
	for _, record := range records {
		values[record] = kind.Shown(record.Object, field)
	}
	slices.SortStableFunc(records, func(a, b *store.Record) int {
		order := compareValues(values[a], values[b])
		if descending {
			return -order
		}
		return order
	})
}

func compareValues(a, b any) int {
	x, xWhole := a.(int64)
	y, yWhole := b.(int64)
	if xWhole && yWhole {
		return cmp.Compare(x, y)
	}
	return strings.Compare(text(a), text(b))
}

func (p page) of(records []*store.Record) []*store.Record {
	from, to := p.bounds(len(records))
	return records[from:to]
}
