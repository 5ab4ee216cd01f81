package record

import "encoding/binary"

// Flags of records that name rules.
const (
	// Ruled: in the place of ClientSpan, behind the span and before what scripts have said, stand the rules that acted.
	Ruled Flags = 1 << 29
	// Admitted: the same; the first of them has let the connection in or barred it.
	Admitted Flags = 1 << 30
	// Logged: a rule wants the record.
	Logged Flags = 1 << 31
)

// RuleList is the list that a rule is in.
type RuleList uint8

const (
	ConnectionRules RuleList = 1 // of a network security policy
	HostRules       RuleList = 2 // of the child that a request is for
	SecurityRules   RuleList = 3 // of HTTP
	RequestRules    RuleList = 4
	ResponseRules   RuleList = 5

	AuthenticationRules RuleList = 6 // of an SSO policy: whether a request needs a token
	AuthorizationRules  RuleList = 7 // and what its token is good for
)

// cutList is the bit of a list that is not named in full.
const cutList = 0x80

// Rules are the rules that acted on a request or a connection, by their lists.
type Rules struct {
	Names map[RuleList][]string
	Cut   map[RuleList]bool // others of the list acted, too, or a name is longer
}

// Rules returns the rules that acted. What cannot be read ends them.
func (r *Record) Rules() Rules {
	if r.Flags&(Ruled|Admitted) == 0 {
		return Rules{}
	}
	packed := r.place().rules
	rules := Rules{Names: map[RuleList][]string{}, Cut: map[RuleList]bool{}}
	for len(packed) >= 2 {
		list, size := packed[0], int(packed[1])
		if packed = packed[2:]; size > len(packed) {
			break
		}
		if name := RuleList(list &^ cutList); list&cutList != 0 {
			rules.Cut[name] = true
		} else {
			rules.Names[name] = append(rules.Names[name], string(packed[:size]))
		}
		packed = packed[size:]
	}
	return rules
}

// place is what stands in the place of ClientSpan: the span, or the suites that a client offered; the names of the
// request; the rules that acted; and what scripts have said.
type place struct {
	first, rules []byte
	names        Names
	said         string
}

// place takes apart what stands in the place of ClientSpan. What cannot be read ends it.
func (r *Record) place() (of place) {
	text := r.Texts[ClientSpan]
	if r.Flags&(Scripted|Ruled|Admitted|Named) == 0 {
		return place{first: text}
	}
	if len(text) == 0 || int(text[0]) > len(text)-1 {
		return of
	}
	of.first, text = text[1:1+int(text[0])], text[1+int(text[0]):]
	if r.Flags&Named != 0 {
		var whole bool
		if of.names, text, whole = takeNames(text); !whole {
			return of
		}
	}
	if r.Flags&(Ruled|Admitted) != 0 {
		if len(text) < 2 || int(binary.LittleEndian.Uint16(text)) > len(text)-2 {
			return of
		}
		end := 2 + int(binary.LittleEndian.Uint16(text))
		of.rules, text = text[2:end], text[end:]
	}
	of.said = string(text)
	return of
}

// Said returns the span of the client, and what scripts have said.
func (r *Record) Said() (span []byte, said string) {
	of := r.place()
	if r.Flags&OwnSpan == 0 {
		of.first = nil
	}
	if r.Flags&Scripted == 0 {
		of.said = ""
	}
	return of.first, of.said
}

// Offered returns the suites of a TLS handshake that failed: two bytes each, big-endian.
func (r *Record) Offered() []byte {
	if r.Flags&OwnSpan != 0 {
		return nil
	}
	return r.place().first
}
