package schema

import "strconv"

// path is where a value stands in its object. Its text, "servers[0].port", is only made when somebody asks.
type path struct {
	within *path
	name   string
	index  int // within a list: name is empty
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
