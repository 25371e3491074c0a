package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// row is one comparison.
type row struct {
	what, ours, reference string
	// result is what is compared with the bar, and said as words: "1.03" or "+0.4 ms".
	value  float64
	result string
	// bar is the most that value may be, with least the least; 0: shown only.
	bar      float64
	least    bool
	barWords string
}

func (r row) past() bool {
	if r.least {
		return r.value < r.bar
	}
	return r.bar > 0 && r.value > r.bar
}

// ratio is a row of two measures of one kind.
func ratio(what string, ours, reference, bar float64, unit string) row {
	r := row{what: what, bar: bar, ours: fmt.Sprintf("%.1f %s", ours, unit), reference: fmt.Sprintf("%.1f %s", reference, unit)}
	if bar > 0 {
		r.barWords = fmt.Sprintf("%.2f", bar)
	}
	return r.is(ours / reference)
}

// is sets the row's ratio.
func (r row) is(value float64) row {
	r.value, r.result = value, fmt.Sprintf("%.2f", value)
	return r
}

// pairs is a row of durations that were measured in turns: it shows the medians, and the ratio is the median of the pairs' ratios.
func pairs(what string, ours, reference sample, bar float64) row {
	return ratio(what, ours.ms(.5), reference.ms(.5), bar, "ms").is(ours.over(reference))
}

// faster is a row of rates that were measured in turns, of which more is better: the bar is the least that the ratio may be.
func faster(what string, ours, reference rates, bar float64, unit string) row {
	r := ratio(what, median(ours), median(reference), bar, unit).is(ours.over(reference))
	if r.least = bar > 0; r.least {
		r.barWords = fmt.Sprintf("≥ %.2f", bar)
	}
	return r
}

// more is a row of two durations in milliseconds whose difference counts.
func more(what string, ours, reference, bar float64) row {
	r := row{what: what, value: ours - reference, bar: bar, ours: fmt.Sprintf("%.1f ms", ours), reference: fmt.Sprintf("%.1f ms", reference)}
	r.result = fmt.Sprintf("%+.1f ms", r.value)
	if bar > 0 {
		r.barWords = fmt.Sprintf("%+.0f ms", bar)
	}
	return r
}

// alone is a row of something that is compared with its bar only.
func alone(what string, ours, bar float64, unit string) row {
	return row{what: what, value: ours, bar: bar, result: fmt.Sprintf("%.2f %s", ours, unit), barWords: fmt.Sprintf("%.0f %s", bar, unit)}
}

// words is a row that says something.
func words(what, said string) row { return row{what: what, ours: said} }

type table []row

func (t table) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tours\treference\tratio\tbar\tok")
	for _, r := range t {
		ok := "ok"
		switch {
		case r.past():
			ok = "PAST THE BAR"
		case r.bar == 0:
			ok = "shown"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.what, r.ours, r.reference, r.result, r.barWords, ok)
	}
	return w.Flush()
}

// pastBars is an error that names the rows past their bars.
func (t table) pastBars() error {
	var names []string
	for _, r := range t {
		if r.past() {
			names = append(names, r.what+": "+r.result+", bar "+r.barWords)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("past the bar:\n  %s", strings.Join(names, "\n  "))
}
