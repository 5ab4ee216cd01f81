package schema

import "strconv"

// path is where a value stands in its object. Its text, "servers[0].port", is only made when somebody asks.
type path struct {
	within   *path
	name     string
	index    int    // within a list: name is empty
	identity string // of an element that is known by more than its place
}

func (p *path) String() string {
	switch {
	case p == nil:
		return ""
	case p.name == "":
		return p.within.String() + "[" + strconv.Itoa(p.index) + "]"
	case p.within == nil:
		return p.name
	}
	return p.within.String() + "." + p.name
}

// key is the path of the same thing in another version of the object, where lists may be in another order.
func (p *path) key() string {
	switch {
	case p == nil:
		return ""
	case p.identity != "":
		return p.within.key() + "{" + p.identity + "}"
	case p.name == "":
		return p.within.key() + "[" + strconv.Itoa(p.index) + "]"
	}
	return p.within.key() + "." + p.name
}
