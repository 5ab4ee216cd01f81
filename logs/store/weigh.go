package store

import (
	"context"

	"github.com/weir-lb/weir/logs/query"
)

// weigh returns how many rows match, and what their weights add up to.
func (s *search) weigh(ctx context.Context, part span) (rows, weight uint64, err error) {
	_, weighted := query.Types[s.query.Type][query.WeightField]
	toRead, known := s.divide(part, sumField)
	for _, part := range toRead {
		if err = s.run(ctx, part, countPipe(weighted), func(line line) error {
			found, err := line.count(countColumn)
			rows += found
			for _, part := range []string{aggregateColumn(1), aggregateColumn(2)} {
				if sum := line.number(part); sum != nil {
					weight += uint64(*sum)
				}
			}
			return err
		}); err != nil {
			return 0, 0, err
		}
	}
	for _, columns := range known {
		columns[0].each(func(value query.Value) {
			rows += value.Rows
			weight += value.Weight
		})
	}
	return rows, weight, nil
}

// sumField is a field with few values, among which is that of rows without it: together they are all rows.
var sumField = []string{"ssl_version"}
