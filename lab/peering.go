package lab

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/router"
	"github.com/weir-lb/weir/lab/topology"
)

// peer configures the router in the controller, so that engines announce their VIPs to it.
func (s *Site) peer(ctx context.Context) (string, error) {
	vrf, err := s.Controller.Session.ByName(ctx, "vrfcontext", "global")
	if err != nil {
		return "", err
	}
	vrf["bgp_profile"], vrf["bfd_profile"] = bgpProfile(s.Topology), bfdProfile(s.Topology.Router)
	_, err = s.Controller.Session.Replace(ctx, "vrfcontext", vrf)
	r := s.Topology.Router
	return fmt.Sprintf("AS %d, keepalive %d s, hold %d s", r.EnginesAS, r.KeepaliveS, r.HoldS), err
}

// AskRouter asks the router in its own language, such as "show bfd peers".
func (s *Site) AskRouter(ctx context.Context, question string) (string, error) {
	spec, err := router.For(s.Topology, filepath.Join(s.Network.Dir(), topology.RouterName))
	if err != nil {
		return "", err
	}
	line := append(slices.Clone(spec.Shell), question)
	said, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput()
	return string(said), err
}

func bgpProfile(t topology.Topology) client.Object {
	peer := client.Object{"remote_as": t.Router.AS, "bfd": t.Router.BFDms > 0, "connect_timer": 1}
	if t.Router.Password != "" {
		peer["md5_secret"] = t.Router.Password
	}
	for i, at := range t.RouterNode().Hubs[0].Addresses {
		suffix := ""
		if at.Addr().Is6() {
			suffix = "6"
		}
		peer["peer_ip"+suffix] = client.Object{"addr": at.Addr().String()}
		peer["subnet"+suffix] = subnet(t.Engines.Subnets[i])
	}
	return client.Object{
		"local_as": t.Router.EnginesAS, "ibgp": t.Router.EnginesAS == t.Router.AS, "peers": []any{peer},
		"keepalive_interval": t.Router.KeepaliveS, "hold_time": t.Router.HoldS,
	}
}

// bfdProfile is the router's own; nil: no BFD.
func bfdProfile(r topology.Router) any {
	if r.BFDms == 0 {
		return nil
	}
	return client.Object{"mintx": r.BFDms, "minrx": r.BFDms, "multi": 3}
}

func subnet(prefix netip.Prefix) client.Object {
	return client.Object{"ip_addr": client.Object{"addr": prefix.Addr().String()}, "mask": prefix.Bits()}
}
