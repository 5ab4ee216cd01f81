package schema

import "reflect"

// A field that nothing acts on is stored as it comes: its value has no defaults, and only its type was checked. When a
// later version acts on the field, it gives the stored value its defaults with IntoFilled, and checks it with
// CheckFields.

// IntoFilled is Into with the defaults of absent fields. It leaves the object as it is.
func IntoFilled[T any](o Object) (*T, error) {
	filled, _ := clone(o).(Object)
	if r := records[reflect.TypeFor[T]()]; r != nil && filled != nil {
		r.fill(filled)
	}
	return Into[T](filled)
}

// CheckFields returns the first field that a write would refuse by itself: a required one that is absent, a text that
// is not in its Enum, a number out of range, a list that is too long. The struct must be from IntoFilled. at is the
// field with the struct.
func CheckFields[T any](at string, value *T) *FieldError {
	return records[reflect.TypeFor[T]()].checkFields(reflect.ValueOf(value).Elem(), &path{name: at})
}

func (r *record) checkFields(in reflect.Value, at *path) *FieldError {
	for _, f := range r.fields {
		if f.kept || f.computed {
			continue
		}
		value, here := in.FieldByIndex(f.index), &path{within: at, name: f.name}
		if value.IsZero() {
			isNumber := f.shape == boolean || f.shape == whole || f.shape == real // 0 may have been sent
			switch {
			case f.required && !isNumber:
				return refuse(here, "is required")
			case !f.required && f.fallback == nil:
				continue
			}
		}
		if problem := f.checkValue(value, here); problem != nil {
			return problem
		}
	}
	return nil
}

func (f *field) checkValue(value reflect.Value, at *path) (problem *FieldError) {
	if value = reflect.Indirect(value); !value.IsValid() { // what may be absent is behind a pointer
		return nil
	}
	switch f.shape {
	case whole:
		if value.CanUint() {
			_, problem = f.acceptWhole(int64(value.Uint()), at)
		} else {
			_, problem = f.acceptWhole(value.Int(), at)
		}
	case text:
		_, problem = f.acceptText(value.String(), at)
	case list:
		problem = f.checkLength(value.Len(), at)
		for i := 0; i < value.Len() && problem == nil; i++ {
			problem = f.element.checkValue(value.Index(i), &path{within: at, index: i})
		}
	case object:
		problem = f.record.checkFields(value, at)
	}
	return problem
}
