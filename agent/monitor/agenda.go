package monitor

// agenda is a heap of checks by the time they are due, for container/heap.
type agenda []*check

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].due.Before(a[j].due) }

func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

func (a *agenda) Push(x any) {
	added := x.(*check)
	added.place = len(*a)
	*a = append(*a, added)
}

func (a *agenda) Pop() any {
	last := len(*a) - 1
	taken := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	taken.place = -1
	return taken
}
