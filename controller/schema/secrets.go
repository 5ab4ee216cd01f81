package schema

import "slices"

// Sensitive replaces every secret that a client reads. A client that writes it keeps the stored secret.
const Sensitive = "<sensitive>"

// Redact returns a copy of the object with its secrets hidden.
func (k *Kind) Redact(o Object) Object {
	hidden := Clone(o)
	k.Hide(hidden)
	return hidden
}

// Hide replaces the secrets of an object by Sensitive.
func (k *Kind) Hide(o Object) {
	k.record.eachSlot(isSecret, o, nil, func(s slot) {
		if s.field.hides(s.value) {
			s.set(Sensitive)
		}
	})
}

// Export returns a copy of the object with its secrets, for a superuser. The secrets of a sealed kind stay hidden.
func (k *Kind) Export(o Object) Object {
	if k.Sealed {
		return k.Redact(o)
	}
	return Clone(o)
}

// hides tells whether a client reads Sensitive instead of the value. A field that the kind does not know (nil) hides
// nothing.
func (f *field) hides(value any) bool { return f != nil && f.secret && value != "" }

// Hides tells whether a field can contain a secret.
func (k *Kind) Hides(name string) bool {
	return slices.ContainsFunc(k.record.marked(isSecret), func(f *field) bool { return f.name == name })
}

// Shown returns the value of a field as a client reads it. Do not change it: it may be part of the object.
func (k *Kind) Shown(o Object, name string) any {
	value, there := o[name]
	if !there || !k.Hides(name) {
		return value
	}
	return k.Redact(Object{name: value})[name]
}

// KeepSecrets replaces each Sensitive in next by the stored secret, and removes the field where none is stored. It
// finds an element of a list by its key, or else by its position.
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
