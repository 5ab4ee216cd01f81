package report

import "fmt"

// OwnCode is the time of Weir's own code for one operation, in one round. If cryptography runs in between, the time is
// computed from instructions.
type OwnCode struct {
	Instructions             int64   `json:"own_instructions"`
	CryptographyInstructions int64   `json:"cryptography_instructions"`
	OwnUs                    float64 `json:"own_us"`
	AllUs                    float64 `json:"all_us"`
}

// OwnTime is the time of own code in µs, as a Ratio, because its rounds spread in the same way.
func (r *Row) OwnTime() Ratio { return r.ownTime(func(c OwnCode) float64 { return c.OwnUs }) }

func (r *Row) ownTime(pick func(OwnCode) float64) Ratio {
	var times []float64
	for _, round := range r.OwnCode {
		times = append(times, pick(round))
	}
	return ratioOf(times)
}

// ownCode has the medians; nil when nothing was measured.
func (r *Row) ownCode() *OwnCode {
	if len(r.OwnCode) == 0 {
		return nil
	}
	medians := r.OwnCode[0] // instructions are the same in each round
	medians.OwnUs = r.OwnTime().Median
	medians.AllUs = r.ownTime(func(c OwnCode) float64 { return c.AllUs }).Median
	return &medians
}

func (r *Row) ownCodeAgainstBar() string {
	most := r.Workload.Bar.OwnUsMax
	return against(most > 0 && len(r.OwnCode) > 0, r.OwnTime().Median <= most)
}

func (r *Row) ownCodeCells() []string {
	own, bar := r.OwnTime(), r.Workload.Bar
	return []string{r.ownCodeText(), "", "", percent(own.Spread()), "", fmt.Sprintf("≤ %.1f µs", bar.OwnUsMax),
		fmt.Sprintf("%.1f µs", bar.OwnUsStretch), r.judged(own.Doubt())}
}

func (r *Row) ownCodeText() string {
	own := r.ownCode()
	if own == nil {
		return "not measured"
	}
	return fmt.Sprintf("%.2f µs, %d instructions", own.OwnUs, own.Instructions)
}

func (r *Row) writeOwnCode(write func(string, ...any)) {
	write(
		"Weir's user code alone, on the balancer's core: the proxy without sockets, so neither the kernel nor the reactor that calls it.")
	write(
		"Instructions as recorded in `bench/icount/counts.txt` (`make check` holds them within 2 %%). The time is that of the fastest")
	write(
		"batch of a while, median of the rounds; beside cryptography it is own instructions at the pace of a plain request's.\n")
	write("| own instructions | own µs | cryptography's instructions | all µs |")
	write("|---|---|---|---|")
	if own := r.ownCode(); own != nil {
		write("| %d | %.2f | %d | %.2f |\n", own.Instructions, own.OwnUs, own.CryptographyInstructions, own.AllUs)
	}
}
