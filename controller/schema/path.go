package schema

import "strconv"

// path is the position of a value in its object. Its text, "servers[0].port", is made only when it is needed.
type path struct {
	within   *path
	name     string
	index    int    // within a list: name is empty
	identity string // key of a list element that has one
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

// key returns a path that is the same in another version of the object, even if its lists have another order.
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
