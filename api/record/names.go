package record

// Names are what a request is called, and whose it is. With Named, they stand in the place of ClientSpan, behind the
// span and before the rules: two texts, each with its length before it, as a byte.
type Names struct {
	ID   string // empty: nobody has asked for it
	User string // empty: nobody knows, or nobody has asked
}

// Names returns the names of the request.
func (r *Record) Names() Names {
	return r.place().names
}

// takeNames reads the names at the beginning of a text, and returns what is behind them. False: it is cut.
func takeNames(text []byte) (names Names, rest []byte, whole bool) {
	for _, name := range []*string{&names.ID, &names.User} {
		if len(text) == 0 || int(text[0]) > len(text)-1 {
			return Names{}, nil, false
		}
		end := 1 + int(text[0])
		*name, text = string(text[1:end]), text[end:]
	}
	return names, text, true
}
