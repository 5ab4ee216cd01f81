package rest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// benched returns a client of a controller with a number of virtual services.
func benched(b *testing.B, services int) (*client, []schema.Object) {
	c := newHouse(b).login()
	var made []schema.Object
	for i := range services {
		name := fmt.Sprintf("service-%05d", i)
		made = append(made, c.virtualService(name, c.pool(name)["uuid"]))
	}
	return c, made
}

// copied adds copies of a virtual service to the store, up to the given number.
func copied(b *testing.B, c *client, of schema.Object, services int) {
	const together = 500
	for begin := 0; begin < services; begin += together {
		c.h.must(c.h.store.Update(b.Context(), func(tx *store.Tx) error {
			first, _ := tx.View().Get("virtualservice", of["uuid"].(string))
			for i := begin; i < min(begin+together, services); i++ {
				next := *first
				next.UUID, next.Name = fmt.Sprintf("virtualservice-copy-%05d", i), fmt.Sprintf("copy-%05d", i)
				next.Object = schema.Clone(first.Object)
				next.Object["uuid"], next.Object["name"] = next.UUID, next.Name
				tx.Put(&next)
			}
			return nil
		}))
	}
}

func BenchmarkSearch(b *testing.B) {
	c, services := benched(b, 1)
	copied(b, c, services[0], 5000)
	for _, query := range []string{"search=copy-04711", "isearch=COPY-04711", "search=(name,copy-04711)",
		"name.contains=04711"} {
		b.Run(query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if found := names(c.want(http.StatusOK, "GET", "/api/virtualservice?"+query,
					nil)); found != "copy-04711" {
					b.Fatal(found)
				}
			}
		})
	}
}

func BenchmarkPatch(b *testing.B) {
	for _, others := range []int{0, 5000} {
		c, services := benched(b, 4)
		copied(b, c, services[0], others)
		b.Run(fmt.Sprintf("beside=%d", others), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.want(http.StatusOK, "PATCH", path(services[1+i%3]),
					schema.Object{"replace": schema.Object{"description": fmt.Sprint(i)}})
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	c, _ := benched(b, 200)
	for _, query := range []string{
		"page_size=200", "page_size=200&include_name", "page_size=200&fields=name,services",
		"name=service-00100", "enabled=true&page_size=1", "page_size=1&sort=name",
	} {
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
