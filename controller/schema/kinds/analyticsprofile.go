package kinds

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
)

// AnalyticsProfile defines which service counts as good. controller/health/score says what each field does.
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
	NotErrors                 []string `json:"resp_code_block" enum:"ResponseCodeBlock" items:"2"`
	ClientTrafficLeast        float64  `json:"hs_pscore_traffic_threshold_l4_client" default:"10.0"` // in 5 minutes
	ServerTrafficLeast        float64  `json:"hs_pscore_traffic_threshold_l4_server" default:"10.0"`
	ServersScored             uint32   `json:"healthscore_max_server_limit" max:"5000" default:"20"` // of a pool
	MaxAnomalyPenalty         uint32   `json:"hs_max_anomaly_penalty" max:"100" default:"10"`
	MaxResourcesPenalty       uint32   `json:"hs_max_resources_penalty" max:"100" default:"25"`
	MaxSecurityPenalty        uint32   `json:"hs_max_security_penalty" max:"100" default:"100"`
	PerformanceBoost          uint32   `json:"hs_performance_boost" max:"100" default:"0"`
	MinDosRate                uint32   `json:"hs_min_dos_rate" min:"1" default:"1000"` // per second
	EnableVSAnalytics         bool     `json:"enable_vs_analytics" default:"true"`
	EnableSEAnalytics         bool     `json:"enable_se_analytics" default:"true"`
	EnableServerAnalytics     bool     `json:"enable_server_analytics" default:"true"`
	EnableAdvancedAnalytics   bool     `json:"enable_advanced_analytics" default:"true"` // anomalies
	EnableOndemandMetrics     bool     `json:"enable_ondemand_metrics" default:"true"`
	IsFederated               bool     `json:"is_federated" default:"false"`

	ExcludedStatuses   []uint32                  `json:"exclude_http_error_codes" items:"64"`
	ExcludedRanges     []StatusRange             `json:"ranges" items:"64"`
	ExcludeClientReset bool                      `json:"exclude_tcp_reset_as_error" default:"false"`
	ExcludeServerReset bool                      `json:"exclude_server_tcp_reset_as_error" default:"false"`
	Logs               *ClientLogConfig          `json:"client_log_config"`
	Sensitive          *SensitiveLogProfile      `json:"sensitive_log_profile"`
	Traces             *TraceConfig              `json:"weir_trace_config"`
	Streaming          *ClientLogStreamingConfig `json:"client_log_streaming_config"`
	SecurityScores
}

// Reveals says that a stream sends the records of the virtual services that use the profile.
func (p *AnalyticsProfile) Reveals() []string {
	if p.Streaming == nil {
		return nil
	}
	return []string{schema.TrafficResource}
}

// SecurityScores say how good TLS of a virtual service is, from 0 to 5.
type SecurityScores struct {
	CertExpired      float64 `json:"hs_security_certscore_expired" default:"0.0"`
	CertUnder7Days   float64 `json:"hs_security_certscore_le07d" default:"2.0"`
	CertUnder30Days  float64 `json:"hs_security_certscore_le30d" default:"4.0"`
	CertOver30Days   float64 `json:"hs_security_certscore_gt30d" default:"5.0"`
	SSL30            float64 `json:"hs_security_ssl30_score" default:"3.5"`
	TLS10            float64 `json:"hs_security_tls10_score" default:"5.0"`
	TLS11            float64 `json:"hs_security_tls11_score" default:"5.0"`
	TLS12            float64 `json:"hs_security_tls12_score" default:"5.0"`
	TLS13            float64 `json:"hs_security_tls13_score" default:"5.0"`
	CipherNone       float64 `json:"hs_security_cipherscore_eq000b" default:"0.0"`
	CipherUnder128   float64 `json:"hs_security_cipherscore_lt128b" default:"3.5"`
	CipherOver128    float64 `json:"hs_security_cipherscore_ge128b" default:"5.0"`
	EncryptionNone   float64 `json:"hs_security_encalgo_score_none" default:"0.0"`
	EncryptionRC4    float64 `json:"hs_security_encalgo_score_rc4" default:"2.5"`
	PenaltyNoHSTS    float64 `json:"hs_security_hsts_penalty" default:"1.0"`
	PenaltyNoPFS     float64 `json:"hs_security_nonpfs_penalty" default:"1.0"`
	PenaltyWeakSign  float64 `json:"hs_security_weak_signature_algo_penalty" default:"1.0"`
	PenaltyBadChain  float64 `json:"hs_security_chain_invalidity_penalty" default:"1.0"`
	PenaltySelfSigns float64 `json:"hs_security_selfsignedcert_penalty" default:"1.0"`
	ScoreRevoked     float64 `json:"hs_security_ocsp_revoked_score" default:"0.0"`
}

func init() {
	schema.Register[AnalyticsProfile](schema.Definition{
		Builtins: []schema.Object{{"name": "System-Analytics-Profile"}},
		Kept: []schema.Rule{
			schema.Refuses("records are sent with all their fields, or with included_fields",
				"client_log_streaming_config.marker_keys"),
			schema.NoEffect("engines have no application firewall yet", "sensitive_log_profile.waf_field_rules"),
			schema.NoEffect("Weir knows neither DNS nor SIP", "exclude_dns_policy_drop_as_significant sip_log_depth"),
			schema.NoEffect("Weir does not count it as an error",
				"exclude_client_close_before_request_as_error exclude_syn_retransmit_as_error"),
			schema.NoEffect("it is significant in records, and counts as no error",
				"exclude_persistence_change_as_error"),
			schema.NoEffect("engines do not look at lost segments", "conn_lossy_* conn_server_lossy_*"),
			schema.NoEffect("metrics of idle objects end after 1800 s", "ondemand_metrics_idle_timeout"),
			schema.NoEffect("a health score makes no event", "hs_event_throttle_window"),
			schema.NoEffect(schema.Unheeded, ""),
		},
		Unread: []schema.Rule{
			schema.NoEffect("Weir does not measure pages in browsers",
				"apdex_rum_threshold apdex_rum_tolerated_factor"),
			schema.NoEffect("metrics are kept whether somebody asks for them or not", "enable_ondemand_metrics"),
			schema.NoEffect("engines offer TLS 1.2 and 1.3 only",
				"hs_security_ssl30_score hs_security_tls10_score hs_security_tls11_score"),
			schema.NoEffect("engines offer ciphers of at least 128 bits with forward secrecy only",
				`hs_security_cipherscore_eq000b hs_security_cipherscore_lt128b hs_security_encalgo_score_none
				hs_security_encalgo_score_rc4 hs_security_nonpfs_penalty`),
			schema.NoEffect("a certificate that signs itself costs no points: only an expired or broken chain does",
				"hs_security_selfsignedcert_penalty"),
			schema.NoEffect("engines do not ask for the status of certificates", "hs_security_ocsp_revoked_score"),
		},
	})
}

var _ = schema.Enum("ResponseCodeBlock", "AP_HTTP_RSP_4XX", "AP_HTTP_RSP_5XX")

func (p *AnalyticsProfile) Validate() *schema.FieldError {
	for _, factor := range []struct {
		field string
		value float64
	}{
		{"apdex_response_tolerated_factor", p.ApdexResponseFactor},
		{"apdex_server_response_tolerated_factor", p.ApdexServerResponseFactor},
		{"apdex_rtt_tolerated_factor", p.ApdexRTTFactor},
		{"apdex_server_rtt_tolerated_factor", p.ApdexServerRTTFactor},
		{"apdex_rum_tolerated_factor", p.ApdexRUMFactor},
	} {
		if !(factor.value >= 1 && factor.value <= 1000) {
			return outOfRange(factor.field, factor.value, "1 to 1000")
		}
	}
	for _, least := range []struct {
		field string
		value float64
	}{
		{"hs_pscore_traffic_threshold_l4_client", p.ClientTrafficLeast},
		{"hs_pscore_traffic_threshold_l4_server", p.ServerTrafficLeast},
	} {
		if !(least.value >= 0) {
			return outOfRange(least.field, least.value, "0 or more")
		}
	}
	if problem := p.checkLogs(); problem != nil {
		return problem
	}
	if p.Streaming != nil {
		if problem := p.Streaming.check(); problem != nil {
			return problem
		}
	}
	if t := p.Traces; t != nil && !(t.SampledPercent >= 0 && t.SampledPercent <= 100) {
		return outOfRange("weir_trace_config.sampled_percent", t.SampledPercent, "0 to 100")
	}
	return p.SecurityScores.check()
}

func (s *SecurityScores) check() *schema.FieldError {
	for _, score := range []struct {
		field string
		value float64
	}{
		{"hs_security_certscore_expired", s.CertExpired}, {"hs_security_certscore_le07d", s.CertUnder7Days},
		{"hs_security_certscore_le30d", s.CertUnder30Days}, {"hs_security_certscore_gt30d", s.CertOver30Days},
		{"hs_security_ssl30_score", s.SSL30}, {"hs_security_tls10_score", s.TLS10},
		{"hs_security_tls11_score", s.TLS11}, {"hs_security_tls12_score", s.TLS12},
		{"hs_security_tls13_score", s.TLS13}, {"hs_security_cipherscore_eq000b", s.CipherNone},
		{"hs_security_cipherscore_lt128b", s.CipherUnder128}, {"hs_security_cipherscore_ge128b", s.CipherOver128},
		{"hs_security_encalgo_score_none", s.EncryptionNone}, {"hs_security_encalgo_score_rc4", s.EncryptionRC4},
		{"hs_security_hsts_penalty", s.PenaltyNoHSTS}, {"hs_security_nonpfs_penalty", s.PenaltyNoPFS},
		{"hs_security_weak_signature_algo_penalty", s.PenaltyWeakSign},
		{"hs_security_chain_invalidity_penalty", s.PenaltyBadChain},
		{"hs_security_selfsignedcert_penalty", s.PenaltySelfSigns},
		{"hs_security_ocsp_revoked_score", s.ScoreRevoked},
	} {
		if !(score.value >= 0 && score.value <= 5) {
			return outOfRange(score.field, score.value, "0 to 5")
		}
	}
	return nil
}

func outOfRange(field string, value float64, give string) *schema.FieldError {
	return &schema.FieldError{Field: field, Problem: fmt.Sprintf("%v is out of range; give %s", value, give)}
}
