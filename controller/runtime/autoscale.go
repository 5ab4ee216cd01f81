package runtime

import (
	"github.com/weir-lb/weir/controller/autoscale"
	"github.com/weir-lb/weir/controller/schema"
)

// autoscalePage says how a pool is scaled: what was decided last and why, and how far the last orders are.
func autoscalePage(status *autoscale.Status) schema.Object {
	page := schema.Object{
		"policy_ref": schema.RefPath("serverautoscalepolicy", status.Policy), "reason": status.Reason,
		"size": int64(status.Size), "servers_up": int64(status.Up),
		"min_size": int64(status.Least), "max_size": int64(status.Most),
	}
	if load := status.Load; load != nil {
		page["connections"], page["capacity"] = int64(load.Connections), int64(load.Capacity)
	}
	if status.Out != nil {
		page["scaleout"] = orderPage(status.Out)
	}
	if status.In != nil {
		page["scalein"] = orderPage(status.In)
		page["scalein"].(schema.Object)["servers"] = stringList(status.In.Servers)
	}
	return page
}

func orderPage(order *autoscale.Order) schema.Object {
	page := schema.Object{
		"id": order.ID, "phase": string(order.Phase), "since": second(order.Since), "begun": second(order.Begun),
		"num_servers": int64(order.Count), "reason": order.Why,
	}
	if order.Tries > 0 {
		page["tries"] = int64(order.Tries)
	}
	if order.Result != "" {
		page["result"] = order.Result
	}
	return page
}
