package ours

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/report"
)

// Counts are those of a row of bench/icount/counts.txt.
type Counts struct{ Instructions, Allocations int }

// ReadCounts reads the row that `make check` holds the data plane to, from the directory of Weir's source.
func ReadCounts(source, row string) (Counts, error) {
	file := filepath.Join(source, "bench/icount/counts.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		return Counts{}, err
	}
	found, err := countsIn(string(text), row)
	if err != nil {
		return found, fmt.Errorf("%s: %w", file, err)
	}
	return found, nil
}

// countsIn finds the counts of a row: "request   8716   0   0".
func countsIn(text, name string) (found Counts, err error) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 4 || fields[0] != name {
			continue
		}
		if found.Instructions, err = strconv.Atoi(fields[1]); err == nil {
			found.Allocations, err = strconv.Atoi(fields[3])
		}
		return found, err
	}
	return Counts{}, fmt.Errorf("there is no row %s", name)
}

// FastestOwnCode times a row of weir-icount on one core, in µs: the fastest of some rounds, as a core is never quite
// idle.
func FastestOwnCode(ctx context.Context, programs, row string, rounds int) (fastest float64, err error) {
	return fastestOf(ctx, programs, row, rounds, func(timed report.OwnCode) float64 { return timed.OwnUs })
}

// withoutIFMA keeps aws-lc from multiplying by AVX-512 (IFMA). The clients of weir-icount sign on the core that is
// timed, between two batches of the data plane. By IFMA, their signatures of RSA slow the core for a while, so that the
// batch behind them takes longer: work of the clients would be counted as the data plane's, which itself does not sign
// with RSA.
const withoutIFMA = "OPENSSL_ia32cap=:~0x200000"

// FastestWithCryptography is the same of all that the data plane does.
func FastestWithCryptography(ctx context.Context, programs, row string, rounds int) (fastest float64, err error) {
	all := func(timed report.OwnCode) float64 { return timed.AllUs }
	return fastestOf(ctx, programs, row, rounds, all, withoutIFMA)
}

func fastestOf(
	ctx context.Context, programs, row string, rounds int, micros func(report.OwnCode) float64, environment ...string,
) (fastest float64, err error) {
	cores, err := meter.Cores()
	if err != nil {
		return 0, err
	}
	fastest = math.Inf(1)
	for range rounds {
		timed, err := TimeOwnCode(ctx, programs, cores[:1], row, environment...)
		if err != nil {
			return 0, err
		}
		fastest = min(fastest, micros(timed))
	}
	return fastest, nil
}
