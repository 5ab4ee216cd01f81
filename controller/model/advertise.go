package model

import (
	"net/netip"
	"slices"
)

// PeerLabels returns the labels of the peers to which a virtual service is advertised; none: it is advertised to all
// peers. If its VsVip has labels, these take precedence.
func (vs *VirtualService) PeerLabels() []string {
	if vs.SharedVip != nil && len(vs.SharedVip.BGPPeerLabels) > 0 {
		return vs.SharedVip.BGPPeerLabels
	}
	return vs.BGPPeerLabels
}

// RoutersOf returns the routers to which an address of the virtual service is advertised; none: it is not advertised,
// or no peer is meant.
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
