package kinds

import "github.com/weir-lb/weir/controller/schema"

// AnalyticsProfile defines which service counts as good.
type AnalyticsProfile struct {
	Identity
	Named
	Owned
	Description               string   `json:"description"`
	Markers                   []Marker `json:"markers"`
	ApdexResponseMs           uint32   `json:"apdex_response_threshold" min:"1" max:"30000" default:"500"`
	ApdexResponseFactor       float64  `json:"apdex_response_tolerated_factor" default:"4.0"`
	ApdexServerResponseMs     uint32   `json:"apdex_server_response_threshold" min:"1" max:"30000" default:"400"`
	ApdexServerResponseFactor float64  `json:"apdex_server_response_tolerated_factor" default:"4.0"`
	ApdexRTTMs                uint32   `json:"apdex_rtt_threshold" min:"1" max:"2000" default:"250"`
	ApdexRTTFactor            float64  `json:"apdex_rtt_tolerated_factor" default:"4.0"`
	ApdexServerRTTMs          uint32   `json:"apdex_server_rtt_threshold" min:"1" max:"2000" default:"125"`
	ApdexServerRTTFactor      float64  `json:"apdex_server_rtt_tolerated_factor" default:"4.0"`
	ApdexRUMMs                uint32   `json:"apdex_rum_threshold" min:"1" max:"30000" default:"5000"`
	ApdexRUMFactor            float64  `json:"apdex_rum_tolerated_factor" default:"4.0"`
	MaxAnomalyPenalty         uint32   `json:"hs_max_anomaly_penalty" max:"100" default:"10"`
	MaxResourcesPenalty       uint32   `json:"hs_max_resources_penalty" max:"100" default:"25"`
	MaxSecurityPenalty        uint32   `json:"hs_max_security_penalty" max:"100" default:"100"`
	PerformanceBoost          uint32   `json:"hs_performance_boost" max:"100" default:"0"`
	EnableVSAnalytics         bool     `json:"enable_vs_analytics" default:"true"`
	EnableSEAnalytics         bool     `json:"enable_se_analytics" default:"true"`
	EnableServerAnalytics     bool     `json:"enable_server_analytics" default:"true"`
	EnableAdvancedAnalytics   bool     `json:"enable_advanced_analytics" default:"true"`
	EnableOndemandMetrics     bool     `json:"enable_ondemand_metrics" default:"true"`
	IsFederated               bool     `json:"is_federated" default:"false"`
}

func init() {
	schema.Register[AnalyticsProfile](schema.Definition{
		Builtins: []schema.Object{{"name": "System-Analytics-Profile"}},
		Kept: []schema.Rule{
			schema.NoEffect(noScores, "hs_security_*"),
			schema.NoEffect(noLogs,
				`client_log_config client_log_streaming_config sensitive_log_profile exclude_dns_policy_drop_as_significant
				sip_log_depth`),
			schema.NoEffect(noScores, ""),
		},
	})
}
