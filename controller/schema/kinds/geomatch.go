package kinds

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// GeoMatch compares where the client is.
type GeoMatch struct {
	Attribute string   `json:"attribute" enum:"GeoAttribute" required:"true"`
	Values    []string `json:"values" items:"256" required:"true"`
	Operation string   `json:"match_operation" enum:"MatchOperation" required:"true"`
}

// The attributes of places that the controller can know.
const (
	PlacePrefix        = "ATTRIBUTE_IP_PREFIX"
	PlaceCountry       = "ATTRIBUTE_COUNTRY_CODE"
	PlaceCountryName   = "ATTRIBUTE_COUNTRY_NAME"
	PlaceContinent     = "ATTRIBUTE_CONTINENT_CODE"
	PlaceContinentName = "ATTRIBUTE_CONTINENT_NAME"
)

var geoAttributes = schema.Enum("GeoAttribute",
	PlacePrefix, PlaceCountry, PlaceCountryName, PlaceContinent, PlaceContinentName,
	"ATTRIBUTE_REGION_NAME", "ATTRIBUTE_CITY_NAME", "ATTRIBUTE_ISP_NAME", "ATTRIBUTE_ORGANIZATION_NAME",
	"ATTRIBUTE_AS_NUMBER", "ATTRIBUTE_AS_NAME", "ATTRIBUTE_LONGITUDE", "ATTRIBUTE_LATITUDE",
	"ATTRIBUTE_CUSTOM_1", "ATTRIBUTE_CUSTOM_2", "ATTRIBUTE_CUSTOM_3", "ATTRIBUTE_CUSTOM_4", "ATTRIBUTE_CUSTOM_5",
	"ATTRIBUTE_CUSTOM_6", "ATTRIBUTE_CUSTOM_7", "ATTRIBUTE_CUSTOM_8", "ATTRIBUTE_CUSTOM_9",
	"ATTRIBUTE_USER_DEFINED_MAPPING",
)

const (
	geoDB        = "the controller reads where addresses are from its file of countries"
	reputationDB = "engines know no reputation of addresses"
)

// unknownPlaces is the rule for the attributes of places that nobody knows, in these fields with a MatchTarget.
func unknownPlaces(fields ...string) schema.Rule {
	var names []string
	for _, field := range fields {
		for _, attribute := range strings.Fields(
			"REGION* CITY* ISP* ORGANIZATION* AS_* LONGITUDE LATITUDE CUSTOM* USER*") {
			names = append(names, field+".geo_matches.attribute=ATTRIBUTE_"+attribute)
		}
	}
	return schema.Closes("the controller knows countries and continents only: use "+PlaceCountry+", "+PlaceCountryName+
		", "+PlaceContinent+", "+PlaceContinentName+" or "+PlacePrefix, strings.Join(names, " "))
}

// Prefix reads a value of PlacePrefix: a subnet, or an address.
func (*GeoMatch) Prefix(value string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(value); err == nil && address.Zone() == "" {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(value)
	if err != nil {
		return prefix, fmt.Errorf("%s is no subnet: write 192.0.2.0/24 or 2001:db8::/32", schema.Show(value))
	}
	return prefix.Masked(), nil
}

// Place returns the key of a value: equal for values that name the same place.
func (m *GeoMatch) Place(value string) string {
	return m.Attribute + " " + strings.ToUpper(value)
}

// CheckPlaces also refuses what only objects from before geo_matches had an effect may have.
func CheckPlaces(field string, matches []GeoMatch) *schema.FieldError {
	if len(matches) > 1 {
		return refuse(field, "has more than one comparison")
	}
	for i := range matches {
		match, at := &matches[i], fmt.Sprintf("%s[%d].values", field, i)
		if !slices.Contains(geoAttributes, match.Attribute) {
			return refuse(fmt.Sprintf("%s[%d].attribute", field, i),
				"%s is no attribute of a place: use %s, %s, %s, %s or %s", schema.Show(match.Attribute),
				PlaceCountry, PlaceCountryName, PlaceContinent, PlaceContinentName, PlacePrefix)
		}
		if match.Operation != "IS_IN" && match.Operation != "IS_NOT_IN" {
			return refuse(fmt.Sprintf("%s[%d].match_operation", field, i), "must be IS_IN or IS_NOT_IN")
		}
		if len(match.Values) == 0 {
			return refuse(at, "is empty: give at least one value")
		}
		for j, value := range match.Values {
			if value == "" {
				return refuse(fmt.Sprintf("%s[%d]", at, j), "is empty")
			}
			if match.Attribute != PlacePrefix {
				continue
			}
			if _, err := match.Prefix(value); err != nil {
				return refuse(fmt.Sprintf("%s[%d]", at, j), "%v", err)
			}
		}
	}
	return nil
}
