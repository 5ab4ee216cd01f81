package plan

import (
	"reflect"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// unheededOfGroup has the settings of an engine group on which nobody acts: neither place, nor cloud, nor engines.
var unheededOfGroup = declare("serviceenginegroup", "", differing[kinds.ServiceEngineGroup]([]reason{
	{"an engine uses the CPUs, the memory and the disk of its machine: has no effect",
		`vcpus_per_se memory_per_se disk_per_se cpu_reserve mem_reserve connection_memory_percentage app_cache_percent
		extra_shared_config_memory ssl_sess_cache_per_vs l7_conns_per_core`},
	{"a data plane has one worker for each core, and workers share nothing: has no effect",
		`dedicated_dispatcher_core num_dispatcher_cores num_dispatcher_queues max_queues_per_vnic distribute_queues
		distribute_vnics hybrid_rss_mode max_num_se_dps se_hyperthreaded_mode use_hyperthreaded_cores cpu_socket_affinity
		least_load_core_selection se_dp_isolation async_ssl async_ssl_threads vss_placement lbaction_num_requests_to_dispatch`},
	{kernels,
		`se_use_dpdk se_dpdk_pmd pcap_tx_mode disable_tso disable_gro disable_csum_offloads se_lro se_mtu se_tx_batch_size
		se_txq_threshold path_mtu_discovery_v4 path_mtu_discovery_v6 flow_table_new_syn_max_entries`},
	{"engines have the names that their cloud gives them: has no effect", "se_name_prefix"},
	{"the controller may place a virtual service on any engine of the group: has no effect",
		"placement_mode per_app host_attribute_key host_attribute_value"},
	{"ha_mode decides this: has no effect", "active_standby"},
	{staysActive, "auto_redistribute_active_standby_load"},
	{"a standby engine always checks servers, so that it can take over at once: has no effect", "hm_on_standby"},
	{"routes lead clients to engines, and engines connect to servers from their own addresses: has no effect",
		"floating_intf_ip"},
	{"vs_scaleout_timeout limits how long an engine may take until it serves: has no effect",
		"vs_se_scaleout_ready_timeout vs_switchover_timeout"},
	{"without the controller, each engine keeps serving, and no leader is elected: has no effect", "self_se_election"},
	{"an engine asks the others three times who holds a connection, and waits 100 ms each time: has no effect",
		"se_flow_probe_retries se_flow_probe_retry_timer"},
	{"BFD and the stream to the controller show whether an engine is away, see aggressive_failure_detection: has no effect",
		`dp_hb_frequency dp_hb_timeout_count dp_aggressive_hb_frequency dp_aggressive_hb_timeout_count se_vs_hb_max_vs_in_pkt
		se_dp_max_hb_version`},
	{"engines pass packets to each other in UDP on port 6090, and the engine with the connection answers: has no effect",
		"se_tunnel_mode se_tunnel_udp_port se_delayed_flow_delete"},
	{"Plans contain all that engines must agree on, and engines exchange no objects: has no effect",
		"use_objsync objsync_port"},
	{"engines report changes of BGP sessions at once: has no effect", "bgp_state_update_interval"},
	{"an engine chooses the certificate by name during the handshake: has no effect", "ssl_preprocess_sni_hostname"},
	{"each pool sets this for its connections to servers: has no effect",
		"upstream_connpool_enable upstream_connect_timeout upstream_read_timeout upstream_send_timeout"},
	{"analytics_policy of each virtual service limits how many records an engine writes a second: has no effect",
		"significant_log_throttle udf_log_throttle non_significant_log_throttle"},
	{"an engine keeps as many records as `weir agent --records-disk-mib` says, and sends them by itself: has no effect",
		`log_disksz n_log_streaming_threads se_dp_log_nf_enqueue_percent se_dp_log_udf_enqueue_percent`},
	{"engines report their counters each second: has no effect",
		"metrics_collection_mode realtime_se_metrics user_defined_metric_age"},
}))

// reason says why some fields are unheeded. fields has their names in the API, with spaces in between.
type reason struct{ why, fields string }

// differing returns a table of fields. An operator is warned of a field whose value is not the default.
func differing[T any](reasons []reason) []unheeded[T] {
	standard := reflect.ValueOf(schema.Defaults[T]()).Elem()
	var table []unheeded[T]
	for _, reason := range reasons {
		for _, name := range strings.Fields(reason.fields) {
			field := fieldNamed(standard.Type(), name)
			usual := standard.FieldByIndex(field)
			table = append(table, unheeded[T]{name, func(settings *T) bool {
				said := reflect.ValueOf(settings).Elem().FieldByIndex(field)
				return !(isNothing(said) && isNothing(usual)) && !reflect.DeepEqual(said.Interface(), usual.Interface())
			}, reason.why})
		}
	}
	return table
}

// fieldNamed returns the index of the struct field with this name in the API.
func fieldNamed(of reflect.Type, name string) []int {
	for _, field := range reflect.VisibleFields(of) {
		if field.Tag.Get("json") == name {
			return field.Index
		}
	}
	panic(of.Name() + " has no field " + name) // at start-up, if a name in a table is wrong
}

// isNothing treats an empty list like no list.
func isNothing(value reflect.Value) bool {
	return value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0
}
