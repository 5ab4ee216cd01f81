package fleet

// Counting is the number of engines that are known to have rows of a virtual service, and of a pool.
func (k *Known) Counting(service, pool string) int {
	return len(k.counting.services[service]) + len(k.counting.pools[pool])
}
