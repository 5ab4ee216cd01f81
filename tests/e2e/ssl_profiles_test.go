package e2e

import (
	"fmt"
	"strings"
	"testing"
)

func TestSSLProfilesAsTheirPageSays(t *testing.T) {
	c := newCertified(t, "ssl-profiles.md")
	c.sh(c.blocks[0])
	c.waitUp("shop")
	c.eventually("each client has its profile", func() error {
		if said := c.sh(c.blocks[1]); said != "000\n200\n200\n000\n" {
			return fmt.Errorf("%q", said)
		}
		return nil
	})
	// A group that changes counts at once.
	c.sh("weir ipaddrgroup set old-devices addrs[0].addr=127.0.0.3")
	c.eventually("another client has the profile", func() error {
		if said := c.sh(strings.ReplaceAll(c.blocks[1], "127.0.0.2;", "127.0.0.3;")); said != "000\n200\n200\n000\n" {
			return fmt.Errorf("%q", said)
		}
		return nil
	})
	c.sh(c.blocks[2])
	c.eventually("clients need the group of the profile", func() error {
		if said := c.sh(c.blocks[3]); said != "000\n200\n" {
			return fmt.Errorf("%q", said)
		}
		return nil
	})
}
