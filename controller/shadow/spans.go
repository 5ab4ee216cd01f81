package shadow

import (
	"net/netip"
	"slices"
)

// point is something of which there is a next one: an address, or a number.
type point[T any] interface {
	comparable
	Compare(T) int
	Next() T
	Prev() T
}

// number is a port, a status, or what is told apart by a few numbers.
type number uint32

func (n number) Compare(other number) int { return int(n) - int(other) }
func (n number) Next() number             { return n + 1 }
func (n number) Prev() number             { return n - 1 }

// span has both of its ends in it.
type span[T any] struct{ first, last T }

// spans are sorted, and do not touch.
type spans[T point[T]] []span[T]

// spansOf sorts spans, and joins those that touch. It leaves out those that end before they begin.
func spansOf[T point[T]](some []span[T]) (all spans[T]) {
	some = slices.DeleteFunc(some, func(one span[T]) bool { return one.last.Compare(one.first) < 0 })
	slices.SortFunc(some, func(a, b span[T]) int { return a.first.Compare(b.first) })
	for _, next := range some {
		if last := len(all) - 1; last >= 0 && touches(all[last], next) {
			if next.last.Compare(all[last].last) > 0 {
				all[last].last = next.last
			}
			continue
		}
		all = append(all, next)
	}
	return all
}

// touches tells whether a span begins within another one, or right behind it.
func touches[T point[T]](before, next span[T]) bool {
	return next.first.Compare(before.last) <= 0 || next.first.Prev() == before.last
}

// within tells whether all points of some spans are in others.
func (s spans[T]) within(others spans[T]) bool {
	at := 0
	for _, one := range s {
		for at < len(others) && others[at].last.Compare(one.last) < 0 {
			at++
		}
		if at == len(others) || others[at].first.Compare(one.first) > 0 {
			return false
		}
	}
	return true
}

// and returns the points that are in both.
func (s spans[T]) and(others spans[T]) (both spans[T]) {
	for i, j := 0, 0; i < len(s) && j < len(others); {
		one, other := s[i], others[j]
		common := span[T]{one.first, one.last}
		if other.first.Compare(common.first) > 0 {
			common.first = other.first
		}
		if other.last.Compare(common.last) < 0 {
			common.last = other.last
		}
		if common.first.Compare(common.last) <= 0 {
			both = append(both, common)
		}
		if one.last.Compare(other.last) < 0 {
			i++
		} else {
			j++
		}
	}
	return both
}

// without returns the points that are not in others.
func (s spans[T]) without(others spans[T]) (rest spans[T]) {
	at := 0
	for _, one := range s {
		for at < len(others) && others[at].last.Compare(one.first) < 0 {
			at++
		}
		left, open := one, true
		for i := at; i < len(others) && others[i].first.Compare(one.last) <= 0; i++ {
			if others[i].first.Compare(left.first) > 0 {
				rest = append(rest, span[T]{left.first, others[i].first.Prev()})
			}
			if others[i].last.Compare(one.last) >= 0 {
				open = false
				break
			}
			left.first = others[i].last.Next()
		}
		if open {
			rest = append(rest, left)
		}
	}
	return rest
}

// everywhere has all addresses.
var everywhere = spans[netip.Addr]{wholeOf("0.0.0.0/0"), wholeOf("::/0")}

func wholeOf(prefix string) span[netip.Addr] { return spanOf(netip.MustParsePrefix(prefix)) }

// spanOf returns the addresses of a subnet.
func spanOf(prefix netip.Prefix) span[netip.Addr] {
	first := prefix.Masked().Addr()
	bytes := first.AsSlice()
	for bit := prefix.Bits(); bit < first.BitLen(); bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return span[netip.Addr]{first, last}
}
