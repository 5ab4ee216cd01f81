// Package countries reads files that say in which country addresses are. Nothing else knows their formats.
package countries

import (
	"bytes"
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oschwald/maxminddb-golang/v2"

	"github.com/weir-lb/weir/controller/model"
)

// Read reads a database of MaxMind's format (*.mmdb), or a text file with lines such as "192.0.2.0/24,DE" and
// "192.0.2.0,192.0.2.255,DE".
//
// A database also has the names of countries, and continents: the places.
func Read(file string) (found model.Countries, places model.Places, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	found = model.Countries{}
	if filepath.Ext(file) == ".mmdb" {
		places = model.Places{}
		err = readDatabase(content, found, places)
	} else {
		err = readLines(content, found)
	}
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	case len(found) == 0:
		return nil, nil, fmt.Errorf("%s: has no addresses of any country", file)
	}
	for code, ranges := range found {
		found[code] = joined(ranges)
	}
	return found, places, nil
}

func readDatabase(content []byte, found model.Countries, places model.Places) error {
	database, err := maxminddb.OpenBytes(content)
	if err != nil {
		return err
	}
	defer database.Close()
	lacking := map[string][]placeName{} // what is not known yet of a country
	for network := range database.Networks() {
		var code string
		if err := network.DecodePath(&code, "country", "iso_code"); err != nil {
			return err
		}
		if code == "" {
			continue
		}
		if found[code] == nil {
			lacking[code] = placeNames
		}
		if lacking[code], err = readPlaces(network, code, lacking[code], places); err != nil {
			return err
		}
		addresses, err := rangeOf(network.Prefix())
		if err != nil {
			return err
		}
		found[code] = append(found[code], addresses)
	}
	return nil
}

// placeName is where a database says what else a country is called, or where it is.
type placeName struct {
	attribute string
	path      []any
}

var placeNames = []placeName{
	{model.CountryName, []any{"country", "names", "en"}},
	{model.ContinentCode, []any{"continent", "code"}},
	{model.ContinentName, []any{"continent", "names", "en"}},
}

// readPlaces adds a country to the places that a network of it names. It returns those that it does not name: the next
// network of the country may.
func readPlaces(
	network maxminddb.Result, code string, lacking []placeName, places model.Places,
) (still []placeName, err error) {
	for _, each := range lacking {
		var name string
		if err := network.DecodePath(&name, each.path...); err != nil {
			return nil, err
		}
		if name == "" {
			still = append(still, each)
		} else {
			places.Add(each.attribute, name, code)
		}
	}
	return still, nil
}

func readLines(content []byte, found model.Countries) error {
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	number := 0
	for line := range bytes.Lines(content) {
		number++
		text, _, _ := strings.Cut(string(line), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		parts := strings.Split(text, ",")
		for i := range parts {
			parts[i] = strings.Trim(strings.TrimSpace(parts[i]), `"`)
		}
		addresses, err := rangeIn(parts)
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		code := strings.ToUpper(parts[len(parts)-1])
		found[code] = append(found[code], addresses)
	}
	return nil
}

// rangeIn reads all parts of a line but the last, which is the country.
func rangeIn(parts []string) (model.AddressRange, error) {
	code := parts[len(parts)-1]
	switch {
	case len(parts) < 2 || len(parts) > 3 || len(code) != 2:
		return model.AddressRange{}, fmt.Errorf(
			"%q is neither SUBNET,COUNTRY nor FIRST,LAST,COUNTRY, with a country of "+
				"two letters", strings.Join(parts, ","))
	case len(parts) == 2:
		subnet, err := netip.ParsePrefix(parts[0])
		if err != nil {
			return model.AddressRange{}, err
		}
		return rangeOf(subnet)
	}
	first, err := netip.ParseAddr(parts[0])
	if err != nil {
		return model.AddressRange{}, err
	}
	last, err := netip.ParseAddr(parts[1])
	if err != nil {
		return model.AddressRange{}, err
	}
	return between(first, last)
}

func rangeOf(subnet netip.Prefix) (model.AddressRange, error) {
	last := subnet.Masked().Addr().AsSlice()
	for bit := subnet.Bits(); bit < len(last)*8; bit++ {
		last[bit/8] |= 0x80 >> (bit % 8)
	}
	end, _ := netip.AddrFromSlice(last)
	return between(subnet.Masked().Addr(), end)
}

// between returns a range. Engines would refuse one that begins as IPv6 and ends as IPv4 in IPv6.
func between(first, last netip.Addr) (model.AddressRange, error) {
	first, last = first.Unmap(), last.Unmap()
	if first.Is4() != last.Is4() || last.Less(first) || first.Zone() != "" || last.Zone() != "" {
		return model.AddressRange{}, fmt.Errorf("%s to %s is no range of addresses of one family", first, last)
	}
	return model.AddressRange{First: first, Last: last}, nil
}

// joined sorts ranges, and makes one of those that overlap or follow each other.
func joined(ranges []model.AddressRange) []model.AddressRange {
	slices.SortFunc(ranges, func(a, b model.AddressRange) int {
		return cmp.Or(cmp.Compare(a.First.BitLen(), b.First.BitLen()), a.First.Compare(b.First))
	})
	all := ranges[:1]
	for _, next := range ranges[1:] {
		last := &all[len(all)-1]
		after := last.Last.Next()
		sameFamily := last.First.Is4() == next.First.Is4()
		if sameFamily && (!after.IsValid() || next.First.Compare(after) <= 0) {
			if last.Last.Less(next.Last) {
				last.Last = next.Last
			}
			continue
		}
		all = append(all, next)
	}
	return slices.Clone(all) // and let go of the rest
}
