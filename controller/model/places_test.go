package model

import (
	"net/netip"
	"testing"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

func TestPlacesHaveTheAddressesOfTheirCountriesOrAReason(t *testing.T) {
	home := []AddressRange{{netip.MustParseAddr("192.0.2.0"), netip.MustParseAddr("192.0.2.255")}}
	many := make([]AddressRange, locatedMost+1)
	codes, database := Countries{"DE": home, "FR": home, "XM": many},
		Places{"ATTRIBUTE_CONTINENT_CODE EU": {"DE", "FR"}, "ATTRIBUTE_COUNTRY_NAME GERMANY": {"DE"}}
	const closes = "; no virtual service with this rule is served"
	for _, c := range []struct {
		countries        Countries
		places           Places
		attribute, value string
		ranges           int
		why              string
	}{
		{codes, nil, kinds.PlaceCountry, "de", 1, ""},
		{codes, database, kinds.PlaceContinent, "eu", 2, ""},
		{codes, database, kinds.PlaceCountryName, "Germany", 1, ""},
		{codes, database, kinds.PlaceCountryName, "France", 0,
			"the file of the controller has no addresses of the country France" + closes},
		{codes, nil, kinds.PlaceCountry, "IT", 0, "the file of the controller has no addresses of the country IT" +
			closes},
		{codes, database, kinds.PlaceContinentName, "Atlantis", 0,
			"the file of the controller has no addresses of the continent Atlantis" + closes},
		{codes, nil, kinds.PlaceContinent, "EU", 0, "the file of the controller has codes of countries only: " +
			"use ATTRIBUTE_COUNTRY_CODE, or give the controller a database of MaxMind's format (*.mmdb)" + closes},
		{nil, nil, kinds.PlaceCountry, "DE", 0,
			"which addresses are in DE is not known: start the controller with --countries FILE" + closes},
		{codes, nil, kinds.PlaceCountry, "XM", 0,
			"XM has 400001 ranges of addresses, more than the 400000 that engines can get in a group" + closes},
		{codes, database, "ATTRIBUTE_CITY_NAME", "Berlin", 0, ""}, // a rule of the schema tells
	} {
		keeper, from, groups := Keeper{Countries: c.countries, Places: c.places}, &source{}, map[string]*AddressGroup{}
		match := kinds.GeoMatch{Attribute: c.attribute, Values: []string{c.value}}
		keeper.addPlaces(from, "match.geo_matches", []kinds.GeoMatch{match}, groups)
		ranges, group := 0, groups[match.Place(c.value)]
		if group != nil {
			ranges = group.Size()
		}
		if ranges != c.ranges {
			t.Errorf("%s %s has %d ranges", c.attribute, c.value, ranges)
		}
		if c.why == "" && len(from.findings) > 0 || c.why != "" &&
			(len(from.findings) != 1 || from.findings[0].Message != c.why ||
				from.findings[0].Field != "match.geo_matches[0].values[0]") {
			t.Errorf("%s %s: found %v", c.attribute, c.value, from.findings)
		}
		keeper.addPlaces(from, "match.geo_matches", []kinds.GeoMatch{match}, groups)
		if groups[match.Place(c.value)] != group {
			t.Errorf("%s %s is another group the next time", c.attribute, c.value)
		}
	}
}
