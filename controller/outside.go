package controller

import (
	"github.com/weir-lb/weir/controller/alert/notify"
	"github.com/weir-lb/weir/controller/metrics"
	"github.com/weir-lb/weir/controller/outward"
)

// outside is what is sent to systems beside Weir: rows to streams, numbers to a receiver.
type outside struct {
	streams *outward.Streams
	numbers metrics.Receiver // nil: none
}

// openOutside reads the file that says where to send, if there is one. It connects nowhere.
func openOutside(config Config) (outside, error) {
	var wanted outward.Config
	if config.OutwardFile != "" {
		var err error
		if wanted, err = outward.Load(config.OutwardFile); err != nil {
			return outside{}, err
		}
	}
	dialer := notify.Dialer(config.AllowLocalReceivers)
	opened := outside{streams: outward.New(wanted.Streams, outward.Outside{Dialer: dialer, Host: outward.HostName(),
		Log: config.Log})}
	if to := wanted.RemoteWrite; to != nil {
		client, err := to.Client(dialer)
		if err != nil {
			return outside{}, err
		}
		if opened.numbers, err = metrics.NewRemoteWrite(to.At(), to.Version, client); err != nil {
			return outside{}, err
		}
	}
	return opened, nil
}
