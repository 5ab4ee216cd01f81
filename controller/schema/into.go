package schema

import (
	"fmt"
	"reflect"
)

// Into turns an object into the struct of its kind: Into[Pool](o). Absent fields are zero, and absent objects are nil.
// It fails only if the object was not decoded by its kind.
func Into[T any](o Object) (*T, error) {
	t := reflect.TypeFor[T]()
	r, ok := records[t]
	if !ok {
		return nil, fmt.Errorf("schema: %s describes no kind", t)
	}
	result := new(T)
	if err := r.assign(reflect.ValueOf(result).Elem(), o, nil); err != nil {
		return nil, err
	}
	return result, nil
}

// Defaults returns the struct of an empty object, with defaults: Defaults[HTTPProfile]().
func Defaults[T any]() *T {
	o := Object{}
	records[reflect.TypeFor[T]()].fill(o)
	result, err := Into[T](o)
	must("defaults", err)
	return result
}

func (r *record) assign(target reflect.Value, o Object, at *path) error {
	for _, f := range r.fields {
		value, ok := o[f.name]
		if !ok || f.kept {
			continue
		}
		if err := f.assign(target.FieldByIndex(f.index), value, &path{within: at, name: f.name}); err != nil {
			return err
		}
	}
	return nil
}

func (f *field) assign(target reflect.Value, value any, at *path) error {
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	switch v := value.(type) {
	case Object:
		if f.shape != object {
			break
		}
		return f.record.assign(target, v, at)
	case []any:
		if f.shape == list {
			return f.assignList(target, v, at)
		}
	case int64:
		switch f.shape {
		case whole:
			return assignWhole(target, v, at)
		case real: // the store writes 4.0 as 4
			target.SetFloat(float64(v))
			return nil
		}
	case bool, string, float64:
		if source := reflect.ValueOf(v); source.Kind() == target.Kind() {
			target.Set(source)
			return nil
		}
	}
	return fmt.Errorf("schema: %s cannot be %s", at, Show(value))
}

func (f *field) assignList(target reflect.Value, values []any, at *path) error {
	target.Set(reflect.MakeSlice(target.Type(), len(values), len(values)))
	for i := range values {
		if err := f.element.assign(target.Index(i), values[i], &path{within: at, index: i}); err != nil {
			return err
		}
	}
	return nil
}

func assignWhole(target reflect.Value, value int64, at *path) error {
	switch {
	case target.CanInt() && !target.OverflowInt(value):
		target.SetInt(value)
	case target.CanUint() && value >= 0 && !target.OverflowUint(uint64(value)):
		target.SetUint(uint64(value))
	default:
		return fmt.Errorf("schema: %s cannot be %d", at, value)
	}
	return nil
}
