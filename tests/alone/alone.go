// Package alone gives a test a network of its own.
package alone

import (
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/lab/network"
)

// Stand moves the calling test into a network namespace of its own, where only the interface lo is up. It skips the
// test for users who are not root. The test keeps its thread, and thread and namespace end with it.
func Stand(t *testing.T) {
	t.Helper()
	if err := network.CheckRoot(); err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("make a network namespace: %v", err)
	}
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	if err := netlink.LinkSetUp(loopback); err != nil {
		t.Fatal(err)
	}
}
