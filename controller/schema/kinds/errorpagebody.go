package kinds

import (
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// ErrorPageBody is the content of error pages.
type ErrorPageBody struct {
	Identity
	Named
	Owned
	Markers []Marker `json:"markers"`
	Body    string   `json:"error_page_body" required:"true"`
	Format  string   `json:"format" enum:"ErrorPageFormat" default:"ERROR_PAGE_FORMAT_HTML"`
}

const jsonPage = "ERROR_PAGE_FORMAT_JSON"

var _ = schema.Enum("ErrorPageFormat", "ERROR_PAGE_FORMAT_HTML", jsonPage)

func init() {
	schema.Register[ErrorPageBody](schema.Definition{
		Private: true,
		Serving: schema.PartOfService,
		Columns: []column.Column{column.Enum("FORMAT", "ERROR_PAGE_FORMAT_", "format")},
		Example: "  weir errorpagebody create away error_page_body=Back-soon",
	})
}

// ContentType is that of a page with the body.
func (b *ErrorPageBody) ContentType() string {
	if b.Format == jsonPage {
		return "application/json"
	}
	return "text/html; charset=utf-8"
}

func (b *ErrorPageBody) Validate() *schema.FieldError {
	if len(b.Body) > contentMost {
		return refuse("error_page_body", "has %d bytes: give at most %d", len(b.Body), contentMost)
	}
	return nil
}
