package schema

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Kept is a field without a function in Weir whose value is not the default; or one whose value has none.
type Kept struct {
	Field string // "https_monitor.ssl_attributes.pki_profile_ref"; in a list, the path of the first
	Why   string // what does not work because of it
	// Closes is true if ignoring the field could admit clients that it should keep out. No virtual service that uses
	// the object is served then.
	Closes bool
}

// KeptFields finds the fields of an object that have no function in Weir, sorted by name. It leaves out fields with
// their default value.
func (k *Kind) KeptFields(o Object) []Kept {
	var found []Kept
	for _, f := range k.unheeded(o) {
		if f.effect != refused {
			found = append(found, Kept{Field: f.path.String(), Why: f.said(k), Closes: f.effect == closes})
		}
	}
	if k.idle != nil {
		found = append(found, k.idle(o)...)
		slices.SortFunc(found, func(a, b Kept) int { return strings.Compare(a.Field, b.Field) })
	}
	return found
}

// refuseKept finds a field that Weir does not accept.
func (k *Kind) refuseKept(o Object) *FieldError {
	for _, f := range k.unheeded(o) {
		if f.effect == refused {
			return refuse(f.path, "%s: remove it", f.why)
		}
	}
	return nil
}

// unheeded is a kept field of an object, with its judgement.
type unheeded struct {
	path *path
	judgement
}

func (u unheeded) said(k *Kind) string {
	switch {
	case u.effect == noEffect:
		return u.why + ": has no effect"
	case k.Serving == IsService:
		return u.why + ": it is not served while this is set"
	}
	return fmt.Sprintf("%s: no virtual service with this %s is served", u.why, k.Name)
}

func (k *Kind) unheeded(o Object) []unheeded {
	search := keptSearch{kind: k, seen: map[sighting]bool{}}
	search.record(k.record, o, nil)
	slices.SortFunc(search.found, func(a, b unheeded) int { return strings.Compare(a.path.String(), b.path.String()) })
	return search.found
}

type keptSearch struct {
	kind  *Kind
	found []unheeded
	seen  map[sighting]bool
}

// sighting is a kept field, at any position in a list. Its content may look like a protection in one item and not in
// another.
type sighting struct {
	pattern string
	guards  bool
}

// record visits the fields that the object has, because the kind has many more.
func (s *keptSearch) record(r *record, o Object, at *path) {
	if r.switchedOff != nil && r.switchedOff(o) {
		return
	}
	for name, value := range o {
		if f, known := r.byName[name]; known && (f.kept || f.unread || f.shape == object || f.shape == list) {
			s.field(f, value, &path{within: at, name: name})
		}
	}
}

func (s *keptSearch) field(f *field, value any, at *path) {
	if f.kept {
		if f.saysNothing(value) {
			return
		}
		if f.shape != object || !s.kind.rulesInside(at.pattern()) {
			s.add(f, value, at)
			return
		}
	}
	if f.unread {
		judged, about := s.kind.judgeUnread(at.pattern(), value)
		if about != "" && (!f.saysNothing(value) || judged.effect == closes && f.asks(value)) {
			s.find(judged, sighting{pattern: about}, at)
			return
		}
	}
	switch v := value.(type) {
	case Object:
		if f.shape == object {
			s.record(f.record, v, at)
		}
	case []any:
		if f.shape != list || f.element.shape != object {
			return
		}
		for i := range v {
			s.field(f.element, v[i], &path{within: at, index: i})
		}
	}
}

func (s *keptSearch) add(f *field, value any, at *path) {
	seen := sighting{at.pattern(), f.guards(value)}
	s.find(s.kind.judge(seen.pattern, seen.guards), seen, at)
}

func (s *keptSearch) find(judged judgement, seen sighting, at *path) {
	if !s.seen[seen] {
		s.seen[seen] = true
		s.found = append(s.found, unheeded{at, judged})
	}
}

// saysNothing tells whether a value means the same as an absent field.
func (f *field) saysNothing(value any) bool {
	if f.fallback != nil {
		return reflect.DeepEqual(value, f.fallback) || f.ref != "" && value == f.builtin()
	}
	switch v := value.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case Object:
		if f.shape != object {
			return false
		}
		for name, inner := range v {
			if field, known := f.record.byName[name]; known && !field.saysNothing(inner) {
				return false
			}
		}
		return true
	}
	if f.usual != nil {
		return sameValue(value, f.usual)
	}
	return value == "" || value == false || value == int64(0) || value == float64(0)
}

// asks tells whether a value is an object, which asks for what it is about even if all of its fields have their
// defaults.
func (f *field) asks(value any) bool {
	_, isObject := value.(Object)
	return isObject && f.shape == object
}

// sameValue compares numbers by value: the whole number 1209600 is 1.2096e+06 in avi_fields.txt.
func sameValue(one, other any) bool {
	a, isNumber := asFloat(one)
	b, bothAre := asFloat(other)
	if isNumber && bothAre {
		return a == b
	}
	return fmt.Sprint(one) == fmt.Sprint(other)
}

func asFloat(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// builtin returns the stored form of the field's default reference.
func (f *field) builtin() string {
	name, _ := f.fallback.(string)
	target, err := ParseRef(f.ref, name)
	must(f.name, err)
	return RefPath(f.ref, BuiltinUUID(f.ref, target.Name))
}

// guarding matches the names that Avi gives to protections: who may connect, and which requests pass.
var guarding = regexp.MustCompile(
	`security|polic|auth|access|sso|saml|jwt|waf|csrf|crl|pki|iptables|datascript|sideband|icap`)

// guards tells whether the name or the content of a field looks like a protection.
func (f *field) guards(value any) bool {
	if guarding.MatchString(f.name) {
		return true
	}
	switch v := value.(type) {
	case Object:
		if f.shape != object {
			return false // it was stored when the field had another type
		}
		for name, inner := range v {
			if field, known := f.record.byName[name]; known && !field.saysNothing(inner) && field.guards(inner) {
				return true
			}
		}
	case []any:
		return f.shape == list && slices.ContainsFunc(v, f.element.guards)
	}
	return false
}

// pattern is the path without positions in lists: "servers.location".
func (p *path) pattern() string {
	switch {
	case p.name == "":
		return p.within.pattern()
	case p.within == nil:
		return p.name
	}
	return p.within.pattern() + "." + p.name
}
