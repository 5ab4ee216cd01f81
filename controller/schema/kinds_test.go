package schema_test

import _ "github.com/weir-lb/weir/controller/schema/kinds" // what the tests of this package look at
