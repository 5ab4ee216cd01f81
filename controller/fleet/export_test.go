package fleet

// Counting is the number of engines that are known to have rows of a virtual service, and of a pool.
func (k *Known) Counting(service, pool string) int {
	count := 0
	for _, of := range []*rows{k.counting.services[service], k.counting.pools[pool]} {
		if of != nil {
			count += len(of.engines)
		}
	}
	return count
}
