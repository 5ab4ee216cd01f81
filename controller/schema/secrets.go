package schema

// Sensitive is read in place of every secret, and written to keep the one that is stored.
const Sensitive = "<sensitive>"

// Redact is the object with its secrets hidden.
func (k *Kind) Redact(o Object) Object {
	hidden := Clone(o)
	k.record.eachSlot(hidden, nil, func(s slot) {
		if s.field.secret && s.value != "" {
			s.set(Sensitive)
		}
	})
	return hidden
}

// KeepSecrets puts the stored secrets into next where it says Sensitive; where nothing is stored the field is removed. An
// element of a list is the same one if it has the same identity, and else if it has the same place.
func (k *Kind) KeepSecrets(next, stored Object) {
	kept := map[string]any{}
	k.record.eachSlot(stored, nil, func(s slot) {
		if s.field.secret {
			kept[s.path.key()], kept[s.path.String()] = s.value, s.value
		}
	})
	k.record.eachSlot(next, nil, func(s slot) {
		if s.field.secret && s.value == Sensitive {
			value, ok := kept[s.path.key()]
			if !ok {
				value = kept[s.path.String()]
			}
			s.set(value)
		}
	})
}
