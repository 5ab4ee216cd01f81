package admit

import "github.com/weir-lb/weir/controller/store"

// IndexKeys returns the keys under which the store finds the objects that have an address, and the children that want
// a host. Give it to the store as its Index.
func IndexKeys(record *store.Record) (keys []string) {
	if record.Kind == serviceKind || record.Kind == addressKind {
		for _, vip := range vipsIn(record.Object) {
			keys = append(keys, addressKey(vip.address))
		}
	}
	if child, parentUUID := childOf(record); child != nil {
		for _, wish := range child.Wishes(nil) {
			keys = append(keys, wishKey(parentUUID, wish))
		}
		keys = append(keys, groupsKeys(child, parentUUID)...)
	}
	return keys
}
