package model

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Places says which countries the places have that a file names beside them, by kinds.GeoMatch.Place: the names of
// countries, and continents. Nil: the file names none.
type Places map[string][]string

// What a file may say of a country beside its code.
const (
	CountryName   = kinds.PlaceCountryName
	ContinentCode = kinds.PlaceContinent
	ContinentName = kinds.PlaceContinentName
)

// Add says that a country is in a place, or is it.
func (p Places) Add(attribute, name, code string) {
	key := (&kinds.GeoMatch{Attribute: attribute}).Place(name)
	p[key] = append(p[key], code)
}

// addPlaces adds the groups with the addresses of the places that matches name to a map, by kinds.GeoMatch.Place. A
// place that nobody knows is a finding: no virtual service with the rule is served.
func (k *Keeper) addPlaces(from *source, field string, matches []kinds.GeoMatch, into map[string]*AddressGroup) {
	for i := range matches {
		match := &matches[i]
		for j, value := range match.Values {
			group, why := k.place(match, value)
			if group != nil {
				into[match.Place(value)] = group
			} else if why != "" {
				from.find(fmt.Sprintf("%s[%d].values[%d]", field, i, j),
					"%s; no virtual service with this rule is served",
					why)
			}
		}
	}
}

// place returns the addresses of a place, always as the same group. Nil without a reason: the attribute has no places.
func (k *Keeper) place(match *kinds.GeoMatch, value string) (group *AddressGroup, why string) {
	key, about := match.Place(value), ""
	switch match.Attribute {
	case kinds.PlaceCountry, kinds.PlaceCountryName:
		about = "country"
	case kinds.PlaceContinent, kinds.PlaceContinentName:
		about = "continent"
	default:
		return nil, ""
	}
	if known := k.places[key]; known != nil {
		return known, ""
	}
	codes := k.Places[key]
	if match.Attribute == kinds.PlaceCountryName && len(codes) == 1 {
		return k.place(&kinds.GeoMatch{Attribute: kinds.PlaceCountry}, codes[0])
	}
	if match.Attribute == kinds.PlaceCountry {
		codes = []string{key[len(kinds.PlaceCountry)+1:]}
	}
	group = &AddressGroup{IsPlace: true}
	group.UUID, group.Name = "place "+key, about+" "+value
	for _, code := range codes {
		if ranges := k.Countries[code]; len(ranges) > 0 {
			group.Located = append(group.Located, ranges)
		}
	}
	switch size := group.Size(); {
	case k.Countries == nil:
		return nil, fmt.Sprintf("which addresses are in %s is not known: start the controller with --countries FILE",
			value)
	case size == 0 && k.Places == nil && match.Attribute != kinds.PlaceCountry:
		return nil, fmt.Sprintf(
			"the file of the controller has codes of countries only: use %s, or give the controller a "+
				"database of MaxMind's format (*.mmdb)", kinds.PlaceCountry)
	case size == 0:
		return nil, fmt.Sprintf("the file of the controller has no addresses of the %s %s", about, value)
	case size > locatedMost:
		return nil, fmt.Sprintf("%s has %d ranges of addresses, more than the %d that engines can get in a group",
			value, size, locatedMost)
	}
	if k.places == nil {
		k.places = map[string]*AddressGroup{}
	}
	k.places[key] = group
	return group, ""
}
