package kinds

import (
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// ServiceEngine is one engine. The object is created when the engine joins the controller; operators change its state
// and group.
type ServiceEngine struct {
	Identity
	Named
	Owned
	Clouded
	EnableState       string           `json:"enable_state" enum:"EngineState" default:"SE_STATE_ENABLED"`
	SEGroupRef        string           `json:"se_group_ref" ref:"serviceenginegroup" default:"Default-Group"`
	MgmtVnic          *Vnic            `json:"mgmt_vnic"`
	DataVnics         []Vnic           `json:"data_vnics" items:"32"`
	Resources         *EngineResources `json:"resources"`
	AvailabilityZone  string           `json:"availability_zone"`
	ControllerIP      string           `json:"controller_ip"`
	ControllerCreated bool             `json:"controller_created" default:"false"`
	Flavor            string           `json:"flavor"`
	ContainerMode     bool             `json:"container_mode" default:"false"`
	Hypervisor        string           `json:"hypervisor" enum:"Hypervisor"`
}

func init() {
	schema.Register[ServiceEngine](schema.Definition{
		Short:    []string{"se", "engine"},
		Prefix:   "se",
		SelfMade: true,
		Columns: []column.Column{
			column.Of("STATE", engineState),
			column.Since("SINCE", "runtime", "since"),
			column.Field("DATA PLANE", "runtime", "dataplane", "state"),
			column.Field("RESTARTS", "runtime", "dataplane", "restarts"),
			column.Health,
			column.Field("GROUP", "se_group_ref"),
		},
		Kept: []schema.Rule{
			schema.NoEffect(ownNetwork, ""),
		},
	})
}

var (
	_ = schema.Enum("EngineState",
		"SE_STATE_ENABLED", "SE_STATE_DISABLED_FOR_PLACEMENT", "SE_STATE_DISABLED", "SE_STATE_DISABLED_FORCE",
	)
	_ = schema.Enum("Hypervisor", "DEFAULT", "VMWARE_ESX", "KVM", "VMWARE_VSAN", "XEN")
	_ = schema.Enum("VnicAddressMode", "DHCP", "STATIC", "VIP", "DOCKER_HOST")
)

// Vnic is an interface of an engine.
type Vnic struct {
	IfName     string        `json:"if_name"`
	LinuxName  string        `json:"linux_name"`
	MacAddress string        `json:"mac_address"`
	Enabled    bool          `json:"enabled" default:"true"`
	IsMgmt     bool          `json:"is_mgmt" default:"false"`
	VrfRef     string        `json:"vrf_ref" ref:"vrfcontext"`
	Networks   []VnicNetwork `json:"vnic_networks" items:"100"`
}

// VnicNetwork is an address of an interface.
type VnicNetwork struct {
	IP   *IPAddrPrefix `json:"ip" required:"true"`
	Mode string        `json:"mode" enum:"VnicAddressMode" default:"DHCP"`
}

// EngineResources describes the machine of an engine.
type EngineResources struct {
	NumVCPUs       uint32 `json:"num_vcpus" required:"true"`
	MemoryMiB      uint32 `json:"memory" required:"true"`
	DiskGiB        uint32 `json:"disk" required:"true"`
	Sockets        uint32 `json:"sockets"`
	CoresPerSocket uint32 `json:"cores_per_socket"`
	HyperThreading bool   `json:"hyper_threading"`
}

// engineState says whether an engine works, and whether an operator has disabled it.
func engineState(row column.Row) string {
	allowed := strings.TrimPrefix(row.Text("enable_state"), "SE_STATE_")
	if allowed == "" || allowed == "ENABLED" {
		return column.OperState.Cell(row)
	}
	return column.OperState.Cell(row) + ", " + allowed
}
