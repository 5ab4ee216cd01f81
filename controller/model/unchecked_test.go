package model

import (
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

func TestStoredProfileOfTLSStreamsHasTheDefaultIdleTime(t *testing.T) {
	stored := schema.Object{"l4_ssl_profile": schema.Object{}}
	r := &reading{object: stored}
	profile := r.applicationProfile(&kinds.ApplicationProfile{SSL: &kinds.L4SSLProfile{}})
	if idle := profile.SSL.StreamIdleS; idle != 3600 {
		t.Errorf("it is %d s", idle)
	}
}
