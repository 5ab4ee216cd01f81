// Package sorted has lists of pointers that are sorted by a key. A list never changes, and neither do its items: a
// changed item gets a new pointer in a new list. So two lists can be compared by their pointers. A new list costs a
// copy of the pointers, and no copy of the items.
package sorted

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// Find returns the item with a key; nil: there is none.
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

// Edit returns a list in which the items under some keys are added or replaced; nil removes the item. Without edits
// Edit returns the same list. If no item is left after the edits, it returns nil.
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

// Differences yields the items that differ between two lists, by pointer: the item before and the item after. An added
// item is nil before, a removed item is nil after.
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

// compare compares the first items of two lists. The end of a list comes after all items.
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

// IsOne tells whether two lists are the same slice in memory. Two empty lists are.
func IsOne[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
