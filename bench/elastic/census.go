package elastic

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// census counts what exists in a field, by name: routes, namespaces, processes, and their open descriptors.
type census map[string]int

const (
	asBeforeTimeout = 3 * time.Minute // connections to servers idle for a minute before they are closed
	asBeforePoll    = time.Second
)

var everywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

func (f *field) count() (census, error) {
	counts := census{}
	routes, err := f.router.Routes(everywhere)
	if err != nil {
		return nil, err
	}
	for _, route := range routes {
		for _, hop := range append(route.NextHops, netip.Addr{}) {
			counts[fmt.Sprintf("route %s by %s", route.Prefix, hop)]++
		}
	}
	spaces, err := f.site.Network.Namespaces()
	if err != nil {
		return nil, err
	}
	for _, space := range spaces {
		counts["namespace "+space.Node]++
		processes, err := space.Processes()
		if err != nil {
			return nil, err
		}
		for _, process := range processes {
			counts[fmt.Sprintf("process %s of %s", process.Program, space.Node)]++
			for _, open := range openBy(process.PID) {
				counts[fmt.Sprintf("%s open in %s of %s", open, process.Program, space.Node)]++
			}
		}
	}
	return counts, nil
}

// openBy names what a process has open, a file by its path and all else by its kind.
func openBy(pid int) (opens []string) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // it has ended
	}
	for _, entry := range entries {
		if target, err := os.Readlink(filepath.Join(dir, entry.Name())); err == nil {
			kind, _, numbered := strings.Cut(target, ":[") // socket:[4711]
			if !numbered {
				kind = target
			}
			opens = append(opens, kind)
		}
	}
	return opens
}

// beyond is what there is more of than before.
func (c census) beyond(before census) (more []string) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if extra := c[name] - before[name]; extra > 0 {
			more = append(more, fmt.Sprintf("%d × %s", extra, name))
		}
	}
	return more
}

// untilAsBefore waits until no count is higher than before, and names those that are.
func (f *field) untilAsBefore(ctx context.Context, before census) (left []string, err error) {
	deadline := time.Now().Add(asBeforeTimeout)
	for {
		now, err := f.count()
		if err != nil {
			return nil, err
		}
		left = now.beyond(before)
		if len(left) == 0 || time.Now().After(deadline) {
			return left, nil
		}
		f.told.Meanwhile(strings.Join(left[:min(len(left), 2)], ", "))
		if err := pass(ctx, asBeforePoll); err != nil {
			return left, err
		}
	}
}

func (c census) summary() string {
	sums := map[string]int{}
	for name, count := range c {
		kind, _, _ := strings.Cut(name, " ")
		if strings.Contains(name, " open in ") {
			kind = "descriptor"
		}
		sums[kind] += count
	}
	return fmt.Sprintf("%d routes, %d namespaces, %d processes, %d descriptors", sums["route"], sums["namespace"],
		sums["process"], sums["descriptor"])
}
