package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// PoolGroup is a group of pools with all objects that it needs.
type PoolGroup struct {
	kinds.PoolGroup
	Members []GroupMember // those whose pools are there, in their order
	Labels  *kinds.PriorityLabels
	Backup  *Pool // takes over when no pool has a server; nil: none does
}

// GroupMember is a pool of a group.
type GroupMember struct {
	Pool     *Pool
	Share    uint32 // of the requests at its priority; 0: none
	Priority uint32 // the highest comes first
	Label    string // by which scripts choose it; empty: by none
}

// Key returns the uuid, by which lists in the model are sorted.
func (g *PoolGroup) Key() string { return g.UUID }

// Pools returns the pools of the group, without the backup.
func (g *PoolGroup) Pools() (pools []*Pool) {
	for _, member := range g.Members {
		pools = append(pools, member.Pool)
	}
	return pools
}

// beforeLabel stands in the uuid of a group that has only the pools with a label, behind the uuid of the whole group.
const beforeLabel = "/"

// LabeledGroup returns the uuid of the group that has only the pools of another one with a label.
func LabeledGroup(uuid, label string) string { return uuid + beforeLabel + label }

// WholeGroup returns the uuid of the group that has all pools, of one that may have only those with a label.
func WholeGroup(uuid string) string {
	whole, _, _ := strings.Cut(uuid, beforeLabel)
	return whole
}

func (k *Keeper) resolvePoolGroup(from *source, group *PoolGroup) {
	group.Labels = follow(from, k.priorityLabels, "priority_labels_ref", group.PriorityLabelsRef)
	var priorities map[string]uint32
	if group.Labels != nil {
		priorities = group.Labels.Priorities()
	}
	for i := range group.PoolGroup.Members {
		member := &group.PoolGroup.Members[i]
		field := fmt.Sprintf("members[%d].", i)
		pool := follow(from, k.pools, field+"pool_ref", member.PoolRef)
		priority, _ := member.Number()
		if group.Labels != nil {
			known := false
			if priority, known = priorities[member.PriorityLabel]; !known && member.PriorityLabel != "" {
				from.find(field+"priority_label", "%q is not in prioritylabels %s: it comes last", member.PriorityLabel,
					group.Labels.Name)
			}
		}
		var label string
		if group.ImplicitLabels || group.Labels != nil {
			label = member.PriorityLabel
		}
		if pool != nil {
			group.Members = append(group.Members, GroupMember{pool, member.Share(), priority, label})
		}
	}
	if len(group.PoolGroup.Members) == 0 {
		from.find("members", "has no pool: requests get what fail_action says")
	}
	group.Backup = k.backup(from, "", group.FailAction)
}

// backup returns the pool that a fail action names; nil: it names none.
func (k *Keeper) backup(from *source, field string, action *kinds.FailAction) *Pool {
	if action == nil || action.Type != kinds.FailBackup || action.Backup == nil {
		return nil
	}
	return follow(from, k.pools, cmp.Or(field, "fail_action.backup_pool.backup_pool_ref"), action.Backup.PoolRef)
}

// resolveBackups finds the backups of the pools of a virtual service. A pool cannot refer to another one in the model,
// because pools are resolved one after the other.
func (k *Keeper) resolveBackups(from *source, vs *VirtualService) {
	for _, pool := range vs.Pools() {
		backup := k.backup(from, "pool_ref", pool.FailAction)
		if backup != nil && !slices.Contains(vs.Backups, backup) {
			vs.Backups = append(vs.Backups, backup)
		}
	}
}

// Groups returns the pool groups that requests may go to, each once: its own first, if it has one.
func (vs *VirtualService) Groups() (groups []*PoolGroup) {
	if vs.PoolGroup != nil {
		groups = append(groups, vs.PoolGroup)
	}
	add := func(more []*PoolGroup) {
		for _, group := range more {
			if !slices.Contains(groups, group) {
				groups = append(groups, group)
			}
		}
	}
	for _, set := range vs.Policies {
		add(set.Groups)
	}
	for _, set := range vs.Scripts {
		add(set.Groups)
	}
	for _, set := range vs.L4Sets {
		add(set.Groups)
	}
	add(vs.PortGroups)
	return groups
}

// OwnPools returns the pools of which one must be up: its own, or those of its group.
func (vs *VirtualService) OwnPools() []*Pool {
	switch {
	case vs.Pool != nil:
		return []*Pool{vs.Pool}
	case vs.PoolGroup != nil:
		return vs.PoolGroup.Pools()
	}
	return nil
}

// OwnBackups returns the pools that take over for its own pool, or for its group.
func (vs *VirtualService) OwnBackups() (backups []*Pool) {
	if vs.PoolGroup != nil && vs.PoolGroup.FailAction != nil {
		if vs.PoolGroup.Backup != nil {
			backups = append(backups, vs.PoolGroup.Backup)
		}
		return backups
	}
	for _, pool := range vs.OwnPools() {
		action := pool.FailAction
		if action == nil || action.Type != kinds.FailBackup || action.Backup == nil {
			continue
		}
		for _, backup := range vs.Backups {
			if backup.UUID == UUIDIn(action.Backup.PoolRef) {
				backups = append(backups, backup)
			}
		}
	}
	return backups
}

// BackupPools returns the pools beside the others that take over for them, each once.
func (vs *VirtualService) BackupPools() (pools []*Pool) {
	others := vs.CountedPools()
	add := func(pool *Pool) {
		if pool != nil && !slices.Contains(others, pool) && !slices.Contains(pools, pool) {
			pools = append(pools, pool)
		}
	}
	for _, group := range vs.Groups() {
		add(group.Backup)
	}
	for _, pool := range vs.Backups {
		add(pool)
	}
	return pools
}
