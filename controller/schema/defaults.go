package schema

import (
	"reflect"
	"time"
)

// Fill sets what the sender left out, in the object and in all objects within it. A default reference is set by name
// ("/api/cloud?name=Default-Cloud") and becomes a real one with all others that were sent by name.
func (k *Kind) Fill(o Object) {
	k.record.fill(o)
	if k.fill != nil {
		k.fill(o)
	}
}

func (r *record) fill(o Object) {
	r.eachRecord(o, func(r *record, o Object) {
		for _, f := range r.fields {
			if _, ok := o[f.name]; !ok && f.fallback != nil {
				o[f.name] = clone(f.fallback)
			}
		}
	})
}

// SkipDefaults is the object without what Fill would set by itself, at every depth.
func (k *Kind) SkipDefaults(o Object) Object {
	lean := Clone(o)
	k.record.eachRecord(lean, func(r *record, o Object) {
		for _, f := range r.fields {
			if f.fallback != nil && f.shape != object && reflect.DeepEqual(o[f.name], f.fallback) {
				delete(o, f.name)
			}
		}
	})
	return lean
}

// Check finds what no single field can say: a monitor without its request, a hash on a header without its name.
// The object is decoded and filled. The error is a *FieldError.
func (k *Kind) Check(o Object) error {
	if k.check == nil {
		return nil
	}
	if problem := k.check(o); problem != nil {
		problem.Kind = k.Name
		return problem
	}
	return nil
}

// Derive sets the computed fields of an object, such as the subject and the days left of a certificate. It is called
// when an object is written, where the *FieldError says what is wrong with it, and each time it is read.
func (k *Kind) Derive(o Object, now time.Time) error {
	if k.derive == nil {
		return nil
	}
	if problem := k.derive(o, now); problem != nil {
		problem.Kind = k.Name
		return problem
	}
	return nil
}
