package kinds

import (
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// AutoScaleLaunchConfig says who makes and removes the servers of a pool: a webhook.
type AutoScaleLaunchConfig struct {
	Identity
	Named
	Owned
	Description string   `json:"description"`
	Markers     []Marker `json:"markers"`
	ImageID     string   `json:"image_id"` // the webhook is told of it
	WebhookRef  string   `json:"weir_webhook_ref" ref:"webhook"`
}

// Reveals: the webhook is told of pools and their servers, and which alert is the reason.
func (c *AutoScaleLaunchConfig) Reveals() []string {
	if c.WebhookRef == "" {
		return nil
	}
	return []string{"PERMISSION_POOL", "PERMISSION_ALERT"}
}

func init() {
	schema.Register[AutoScaleLaunchConfig](schema.Definition{
		Private:    true,
		Permission: "PERMISSION_AUTOSCALE",
		Columns: []column.Column{
			column.Field("WEBHOOK", "weir_webhook_ref"),
			column.Field("IMAGE", "image_id"),
		},
		Example: `  weir autoscalelaunchconfig create shop weir_webhook_ref=scaler image_id=web-42`,
		Kept: []schema.Rule{
			schema.NoEffect("Weir asks weir_webhook_ref for servers, and no cloud itself",
				"mesos openstack use_external_asg"),
		},
	})
}

// Idle warns of a launch config with which nobody is asked for servers.
func (c *AutoScaleLaunchConfig) Idle() []schema.Kept {
	if c.WebhookRef != "" {
		return nil
	}
	return []schema.Kept{{Field: "weir_webhook_ref", Why: "is empty: nobody is asked for servers"}}
}
