package kinds

import (
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

func TestListsOfRevokedCertificatesAreThereOrCloseTheService(t *testing.T) {
	const empty = "pkiprofile: crls[0].body: is empty; give the list in PEM, or server_url"
	for _, c := range []struct {
		list schema.Object
		want string
	}{
		{schema.Object{}, empty},
		{schema.Object{"body": "", "server_url": ""}, empty},
		{schema.Object{"update_interval": int64(60)}, empty},
		{schema.Object{"server_url": "http://ca.test/crl"}, ""},
		{schema.Object{"file_ref": "/api/fileobject/list"}, ""},
	} {
		said := ""
		profile := schema.Object{"name": "p", "crls": []any{c.list}}
		if err := kindOf(t, "pkiprofile").Derive(profile, time.Now()); err != nil {
			said = err.Error()
		}
		if said != c.want {
			t.Errorf("%v\n got %s\nwant %s", c.list, said, c.want)
		}
	}
}
