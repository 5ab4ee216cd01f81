package controller

import (
	"github.com/weir-lb/weir/controller/live"
	"github.com/weir-lb/weir/controller/rest"
)

// liveOf opens feeds for REST.
func liveOf(now *live.Live) rest.Live {
	return func(wanted rest.LiveTopics) rest.Feed { return now.Watch(live.Topics(wanted)) }
}
