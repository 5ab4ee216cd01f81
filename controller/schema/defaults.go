package schema

import (
	"reflect"
	"time"
)

// Fill sets the defaults of absent fields, in the object and in all objects within it. A default reference names its
// object ("/api/cloud?name=Default-Cloud"); it is resolved later, with the references that the client sent.
func (k *Kind) Fill(o Object) {
	k.record.fill(o)
	if k.FilledBy != nil {
		k.FilledBy(o)
	}
}

func (r *record) fill(o Object) {
	r.eachRecord(o, func(r *record, o Object) {
		for _, f := range r.fields {
			if _, ok := o[f.name]; !ok && f.fallback != nil {
				o[f.name] = clone(f.fallback)
			}
		}
		if r.complete != nil {
			r.complete(o)
		}
	})
}

// SkipDefaults returns the object without values that Fill would set, at every depth. It keeps required fields.
func (k *Kind) SkipDefaults(o Object) Object { return k.record.skipDefaults(o) }

func (r *record) skipDefaults(o Object) Object {
	lean := make(Object, len(o))
	for name, value := range o {
		f, known := r.byName[name]
		switch {
		case !known:
			lean[name] = clone(value)
		case f.isDefault(value):
		default:
			if value = f.skipDefaults(value); !f.isDefault(value) {
				lean[name] = value
			}
		}
	}
	return lean
}

func (f *field) skipDefaults(value any) any {
	switch v := value.(type) {
	case Object:
		if f.shape == object {
			return f.record.skipDefaults(v)
		}
	case []any:
		if f.shape == list {
			lean := make([]any, len(v))
			for i := range v {
				lean[i] = f.element.skipDefaults(v[i])
			}
			return lean
		}
	}
	return clone(value)
}

func (f *field) isDefault(value any) bool {
	if whole, ok := value.(int64); ok && f.shape == real {
		value = float64(whole)
	}
	return f.fallback != nil && !f.required && reflect.DeepEqual(value, f.fallback)
}

// Check finds errors that concern several fields: a monitor without its request, a hash of a header without the
// header's name. It also refuses fields that Weir does not accept. The object must be decoded and filled. The error is
// a *FieldError.
func (k *Kind) Check(o Object) error {
	problem := k.refuseKept(o)
	if problem == nil && k.check != nil {
		problem = k.check(o)
	}
	if problem == nil {
		return nil
	}
	problem.Kind = k.Name
	return problem
}

// Derive sets the computed fields of an object, such as the subject and the remaining days of a certificate. It is
// called when an object is written, and each time when it is read. Secrets may be hidden.
func (k *Kind) Derive(o Object, now time.Time) error {
	if k.DerivedBy == nil {
		return nil
	}
	if problem := k.DerivedBy(o, now); problem != nil {
		problem.Kind = k.Name
		return problem
	}
	return nil
}
