package returnpath

import (
	"encoding/binary"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ask asks the kernel for its route for a packet that comes from the servers' link, and returns the type of the route.
// The library cannot ask for protocols and ports.
func ask(protocol int, from, to string, port uint16) (kind uint8, err error) {
	link, err := netlink.LinkByName("servers")
	if err != nil {
		return 0, err
	}
	source, target := netip.MustParseAddr(from), netip.MustParseAddr(to)
	request := nl.NewNetlinkRequest(unix.RTM_GETROUTE, unix.NLM_F_REQUEST)
	message := &nl.RtMsg{}
	message.Family = uint8(families[source.Is6()])
	message.Src_len, message.Dst_len = uint8(source.BitLen()), uint8(source.BitLen())
	request.AddData(message)
	request.AddData(nl.NewRtAttr(unix.RTA_SRC, source.AsSlice()))
	request.AddData(nl.NewRtAttr(unix.RTA_DST, target.AsSlice()))
	request.AddData(nl.NewRtAttr(unix.RTA_IIF, binary.NativeEndian.AppendUint32(nil, uint32(link.Attrs().Index))))
	request.AddData(nl.NewRtAttr(unix.RTA_IP_PROTO, []byte{uint8(protocol)}))
	if port != 0 {
		request.AddData(nl.NewRtAttr(unix.RTA_SPORT, binary.BigEndian.AppendUint16(nil, port)))
	}
	answers, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWROUTE)
	if err != nil {
		return 0, err
	}
	return nl.DeserializeRtMsg(answers[0]).Type, nil
}
