package kinds

import (
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// Cloud is the place where engines run. It says who starts them.
type Cloud struct {
	Identity
	Named
	Owned
	Markers                  []Marker      `json:"markers"`
	VType                    string        `json:"vtype" enum:"CloudType" default:"CLOUD_NONE"`
	DHCPEnabled              bool          `json:"dhcp_enabled" default:"true"`
	MTU                      uint32        `json:"mtu" min:"1500" max:"9000" default:"1500"`
	PreferStaticRoutes       bool          `json:"prefer_static_routes" default:"false"`
	EnableVipStaticRoutes    bool          `json:"enable_vip_static_routes" default:"false"`
	EnableVipOnAllInterfaces bool          `json:"enable_vip_on_all_interfaces" default:"true"`
	IP6AutocfgEnabled        bool          `json:"ip6_autocfg_enabled" default:"false"`
	StateBasedDNS            bool          `json:"state_based_dns_registration" default:"true"`
	AutoscalePollingS        uint32        `json:"autoscale_polling_interval" min:"60" max:"3600" default:"60"`
	SEGroupTemplateRef       string        `json:"se_group_template_ref" ref:"serviceenginegroup"`
	LicenseType              string        `json:"license_type" enum:"LicenseType"`
	LicenseTier              string        `json:"license_tier" enum:"LicenseTier"`
	ObjNamePrefix            string        `json:"obj_name_prefix"`
	CustomTags               []CustomTag   `json:"custom_tags"`
	LinuxServers             *LinuxServers `json:"linuxserver_configuration"`
}

func init() {
	schema.Register[Cloud](schema.Definition{
		Columns: []column.Column{
			column.Enum("TYPE", "CLOUD_", "vtype"),
		},
		Builtins: []schema.Object{{"name": "Default-Cloud", "vtype": "CLOUD_NONE"}},
		Kept: []schema.Rule{
			schema.NoEffect(noCloud,
				`aws_configuration azure_configuration cloudstack_configuration docker_configuration gcp_configuration
				nsxt_configuration openstack_configuration rancher_configuration vca_configuration vcenter_configuration
				vmc_deployment`),
			schema.NoEffect("Weir allocates no addresses and registers no names",
				"dns_* east_west_* ipam_provider_ref resolve_fqdn_to_ipv6"),
			schema.NoEffect(ownNetwork, "mgmt_ip_* proxy_configuration ntp_configuration"),
			schema.NoEffect(schema.Unheeded, ""),
		},
	})
}

var (
	_ = schema.Enum("CloudType",
		"CLOUD_NONE", "CLOUD_VCENTER", "CLOUD_OPENSTACK", "CLOUD_AWS", "CLOUD_VCA", "CLOUD_APIC", "CLOUD_MESOS",
		"CLOUD_LINUXSERVER", "CLOUD_DOCKER_UCP", "CLOUD_RANCHER", "CLOUD_OSHIFT_K8S", "CLOUD_AZURE", "CLOUD_GCP",
		"CLOUD_NSXT",
	)
	_ = schema.Enum("LicenseTier",
		"ENTERPRISE_16", "ENTERPRISE", "ENTERPRISE_18", "BASIC", "ESSENTIALS", "ENTERPRISE_WITH_CLOUD_SERVICES",
	)
	_ = schema.Enum("LicenseType",
		"LIC_BACKEND_SERVERS", "LIC_SOCKETS", "LIC_CORES", "LIC_HOSTS", "LIC_SE_BANDWIDTH",
		"LIC_METERED_SE_BANDWIDTH",
	)
)

// CustomTag is a label that a cloud puts on what it creates.
type CustomTag struct {
	Key   string `json:"tag_key" required:"true"`
	Value string `json:"tag_val"`
}

// LinuxServers are the hosts of a cloud of Linux machines.
type LinuxServers struct {
	Hosts        []LinuxHost `json:"hosts" items:"1000"`
	SSHUserRef   string      `json:"ssh_user_ref" ref:"cloudconnectoruser"`
	SESysDiskGB  uint32      `json:"se_sys_disk_size_GB" default:"10"`
	SELogDiskGB  uint32      `json:"se_log_disk_size_GB" default:"5"`
	SEInbandMgmt bool        `json:"se_inband_mgmt" default:"false"`
}

// LinuxHost is one host of LinuxServers.
type LinuxHost struct {
	HostIP           *IPAddr         `json:"host_ip" required:"true"`
	AvailabilityZone string          `json:"node_availability_zone"`
	Attributes       []HostAttribute `json:"host_attr"`
}

// HostAttribute is a setting of a host.
type HostAttribute struct {
	Key   string `json:"attr_key" required:"true"`
	Value string `json:"attr_val"`
}
