package rest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

// benched is a controller with some virtual services, and a client of it.
func benched(b *testing.B, services int) (*client, []schema.Object) {
	c := newHouse(b).login()
	var made []schema.Object
	for i := range services {
		name := fmt.Sprintf("service-%05d", i)
		made = append(made, c.virtualService(name, c.pool(name)["uuid"]))
	}
	return c, made
}

func BenchmarkPatch(b *testing.B) {
	c, services := benched(b, 4)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.want(http.StatusOK, "PATCH", path(services[i%len(services)]), schema.Object{"replace": schema.Object{"description": fmt.Sprint(i)}})
	}
}

func BenchmarkList(b *testing.B) {
	c, _ := benched(b, 200)
	for _, query := range []string{"page_size=200", "page_size=200&include_name", "page_size=200&fields=name,services", "name=service-00100", "enabled=true&page_size=1", "page_size=1&sort=name"} {
		b.Run(query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if answer := c.do("GET", "/api/virtualservice?"+query, nil); answer.Code != http.StatusOK {
					b.Fatal(answer.Body)
				}
			}
		})
	}
}
