package schema

import "slices"

// Sensitive is read in place of every secret, and written to keep the one that is stored.
const Sensitive = "<sensitive>"

// Redact is the object with its secrets hidden.
func (k *Kind) Redact(o Object) Object {
	hidden := Clone(o)
	k.record.eachSlot(isSecret, hidden, nil, func(s slot) {
		if s.field.hides(s.value) {
			s.set(Sensitive)
		}
	})
	return hidden
}

// Export is a copy of the object with its secrets, for who may have them. Those of a sealed kind nobody may.
func (k *Kind) Export(o Object) Object {
	if k.Sealed {
		return k.Redact(o)
	}
	return Clone(o)
}

// hides tells whether a client reads Sensitive in place of a value. A field that the kind does not know, nil, hides
// nothing.
func (f *field) hides(value any) bool { return f != nil && f.secret && value != "" }

// Hides tells whether a client may read something else in a field of the object than is stored.
func (k *Kind) Hides(name string) bool {
	return slices.ContainsFunc(k.record.marked(isSecret), func(f *field) bool { return f.name == name })
}

// Shown is what a client reads in one field of an object. It may be shared with the object.
func (k *Kind) Shown(o Object, name string) any {
	value, there := o[name]
	if !there || !k.Hides(name) {
		return value
	}
	return k.Redact(Object{name: value})[name]
}

// KeepSecrets puts the stored secrets into next where it says Sensitive; where nothing is stored the field is removed.
// An element of a list is the same one if it has the same identity, and else if it has the same place.
func (k *Kind) KeepSecrets(next, stored Object) {
	kept := map[string]any{}
	k.record.eachSlot(isSecret, stored, nil, func(s slot) {
		kept[s.path.key()], kept[s.path.String()] = s.value, s.value
	})
	k.record.eachSlot(isSecret, next, nil, func(s slot) {
		if s.value == Sensitive {
			value, ok := kept[s.path.key()]
			if !ok {
				value = kept[s.path.String()]
			}
			s.set(value)
		}
	})
}
