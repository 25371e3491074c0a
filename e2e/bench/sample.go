package main

import (
	"math"
	"slices"
	"time"
)

// sample holds durations of one kind.
type sample []time.Duration

// ms is the value that a part p (0 to 1) of the sample does not pass, in milliseconds.
func (s sample) ms(p float64) float64 {
	sorted := slices.Sorted(slices.Values(s))
	i := int(math.Ceil(p*float64(len(sorted)))) - 1
	return float64(sorted[max(i, 0)]) / float64(time.Millisecond)
}

// timed adds the time that f takes.
func (s *sample) timed(f func() error) error {
	began := time.Now()
	err := f()
	*s = append(*s, time.Since(began))
	return err
}

// over is the median of the ratios of pairs that were measured right after each other: what slows the machine down for a while slows both.
func (s sample) over(reference sample) float64 {
	ratios := make([]float64, len(s))
	for i := range s {
		ratios[i] = float64(s[i]) / float64(reference[i])
	}
	return median(ratios)
}

// rates holds what was done a second, a round each.
type rates []float64

// over is the median of the rounds' ratios.
func (r rates) over(reference rates) float64 {
	ratios := make([]float64, len(r))
	for i := range r {
		ratios[i] = r[i] / reference[i]
	}
	return median(ratios)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
