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

// KeepSecrets puts the stored secrets into next where it says Sensitive; where nothing is stored the field is removed.
func (k *Kind) KeepSecrets(next, stored Object) {
	kept := map[string]any{}
	k.record.eachSlot(stored, nil, func(s slot) {
		if s.field.secret {
			kept[s.path.String()] = s.value
		}
	})
	k.record.eachSlot(next, nil, func(s slot) {
		if s.field.secret && s.value == Sensitive {
			s.set(kept[s.path.String()])
		}
	})
}
