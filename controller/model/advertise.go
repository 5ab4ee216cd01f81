package model

import (
	"net/netip"
	"slices"
)

// PeerLabels are those of the peers that the addresses of a virtual service are for; none: all are. Its VsVip's count
// where that has some.
func (vs *VirtualService) PeerLabels() []string {
	if vs.SharedVip != nil && len(vs.SharedVip.BGPPeerLabels) > 0 {
		return vs.SharedVip.BGPPeerLabels
	}
	return vs.BGPPeerLabels
}

// RoutersOf are the routers that shall be told of one of its addresses; none: it is not advertised, or nobody is there
// for it.
func (vs *VirtualService) RoutersOf(address netip.Addr) []netip.Addr {
	if !vs.EnableRHI || vs.VrfContext == nil || vs.VrfContext.BGP == nil || vs.VrfContext.BGP.Shutdown {
		return nil
	}
	var routers []netip.Addr
	labels := vs.PeerLabels()
	for i := range vs.VrfContext.BGP.Peers {
		peer := &vs.VrfContext.BGP.Peers[i]
		at := peer.PeerIP
		if address.Is6() {
			at = peer.PeerIP6
		}
		meant := len(labels) == 0 || slices.Contains(labels, peer.Label)
		if at != nil && meant && peer.AdvertiseVip && !peer.Shutdown {
			routers = append(routers, at.Address())
		}
	}
	return routers
}
