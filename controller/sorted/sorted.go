// Package sorted has lists of pointers in the order of a key, of which each is made from the one before. A list never
// changes, and neither does what it points to: an item that changed is another pointer. So two lists tell by their
// pointers what is different in them, and a new one costs a copy of pointers and not of what they point to.
package sorted

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// Find gives the item with a key; nil: there is none.
func Find[T any](list []*T, key string, keyOf func(*T) string) *T {
	at, found := search(list, key, keyOf)
	if !found {
		return nil
	}
	return list[at]
}

func search[T any](list []*T, key string, keyOf func(*T) string) (int, bool) {
	return slices.BinarySearchFunc(list, key, func(item *T, key string) int {
		return strings.Compare(keyOf(item), key)
	})
}

// Edit gives a list with other items under some keys; nil takes away the one that is there. Without edits it is the
// same list; an empty one is nil.
func Edit[T any](list []*T, edits map[string]*T, keyOf func(*T) string) []*T {
	if len(edits) == 0 {
		return list
	}
	edited := make([]*T, 0, len(list)+len(edits))
	for _, key := range slices.Sorted(maps.Keys(edits)) {
		at, found := search(list, key, keyOf)
		edited = append(edited, list[:at]...)
		if item := edits[key]; item != nil {
			edited = append(edited, item)
		}
		if found {
			at++
		}
		list = list[at:]
	}
	if edited = append(edited, list...); len(edited) == 0 {
		return nil
	}
	return edited
}

// Differences gives what is in one list and not in the other, by pointer. An item that changed is there before and
// after, one that came is nil before, one that went is nil after.
func Differences[T any](before, after []*T, keyOf func(*T) string) iter.Seq2[*T, *T] {
	return func(yield func(before, after *T) bool) {
		if IsOne(before, after) {
			return
		}
		for len(before) > 0 || len(after) > 0 {
			var was, is *T
			switch order := compare(before, after, keyOf); {
			case order == 0:
				was, is, before, after = before[0], after[0], before[1:], after[1:]
			case order < 0:
				was, before = before[0], before[1:]
			default:
				is, after = after[0], after[1:]
			}
			if was != is && !yield(was, is) {
				return
			}
		}
	}
}

// compare the first items of two lists; the end of a list comes after all items.
func compare[T any](before, after []*T, keyOf func(*T) string) int {
	switch {
	case len(after) == 0:
		return -1
	case len(before) == 0:
		return 1
	case before[0] == after[0]:
		return 0
	default:
		return strings.Compare(keyOf(before[0]), keyOf(after[0]))
	}
}

// IsOne tells whether two lists are one and the same.
func IsOne[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
