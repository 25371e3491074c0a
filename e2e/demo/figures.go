package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// report is what the program in testdata/sales_report.py answers.
type report struct {
	By      string           `json:"by"`
	Rows    int              `json:"rows"`
	LeftOut int              `json:"leftOut"`
	Groups  map[string]group `json:"groups"`
}

// group has the figures of one group; amounts are decimal text with two places.
type group struct {
	Orders    int               `json:"orders"`
	Units     int               `json:"units"`
	Revenue   string            `json:"revenue"`
	Median    string            `json:"median"`
	P90       string            `json:"p90"`
	Deviation float64           `json:"deviation"`
	Returned  float64           `json:"returned"`
	Favourite string            `json:"favourite"`
	Months    map[string]string `json:"months"`
}

// order is a row without faults. Amounts are whole cents: the program computes in decimals, this in integers.
type order struct {
	month, region, product string
	quantity, cents        int
	returned               bool
}

// expected computes the report from the same text, another way.
func expected(text, by string) (report, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return report{}, fmt.Errorf("read the orders: %w", err)
	}
	r := report{By: by, Rows: len(rows) - 1, Groups: map[string]group{}}
	byName := map[string][]order{}
	for _, row := range rows[1:] {
		o, ok := parseOrder(row)
		if !ok {
			r.LeftOut++
			continue
		}
		name := o.region
		if by == "product" {
			name = o.product
		}
		byName[name] = append(byName[name], o)
	}
	for name, orders := range byName {
		r.Groups[name] = figures(orders)
	}
	return r, nil
}

// parseOrder reads order, placed, region, product, quantity, unit_price, discount, returned.
func parseOrder(row []string) (order, bool) {
	quantity, err := strconv.Atoi(row[4])
	if err != nil || quantity < 1 {
		return order{}, false
	}
	whole, part, ok := strings.Cut(row[5], ".")
	price, err := strconv.Atoi(whole + part)
	if !ok || len(part) != 2 || err != nil {
		return order{}, false
	}
	discount := 0
	if row[6] != "" {
		if discount, err = strconv.Atoi(row[6]); err != nil || discount < 0 || discount >= 100 {
			return order{}, false
		}
	}
	// Hundredths of cents, rounded half up.
	cents := (price*quantity*(100-discount) + 50) / 100
	return order{month: row[1][:7], region: row[2], product: row[3], quantity: quantity, cents: cents, returned: row[7] == "yes"}, true
}

// figures needs at least two orders.
func figures(orders []order) group {
	g := group{Orders: len(orders), Months: map[string]string{}}
	var amounts []int
	units, months := map[string]int{}, map[string]int{}
	sum, returned := 0, 0
	for _, o := range orders {
		amounts = append(amounts, o.cents)
		units[o.product] += o.quantity
		months[o.month] += o.cents
		g.Units += o.quantity
		sum += o.cents
		if o.returned {
			returned++
		}
	}
	slices.Sort(amounts)
	n := len(amounts)
	g.Revenue, g.Median = money(sum), money(amounts[(n-1)/2])
	g.P90 = money(amounts[int(math.Ceil(float64(n)*0.9))-1])
	mean, squares := float64(sum)/float64(n), 0.0
	for _, a := range amounts {
		squares += (float64(a) - mean) * (float64(a) - mean)
	}
	g.Deviation = math.Sqrt(squares/float64(n-1)) / 100
	g.Returned = float64(returned) / float64(n)
	for product, u := range units {
		if best := units[g.Favourite]; u > best || u == best && product < g.Favourite {
			g.Favourite = product
		}
	}
	for month, cents := range months {
		g.Months[month] = money(cents)
	}
	return g
}

func money(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// differences says, one sentence each, where got is not want. Fractions may differ by their rounding to six places.
func differences(got, want report) (found []string) {
	differ := func(what string, got, want any) {
		if got != want {
			found = append(found, fmt.Sprintf("%s: the program says %v, expected %v", what, got, want))
		}
	}
	differ("by", got.By, want.By)
	differ("rows", got.Rows, want.Rows)
	differ("rows left out", got.LeftOut, want.LeftOut)
	differ("groups", len(got.Groups), len(want.Groups))
	for name, w := range want.Groups {
		g := got.Groups[name]
		if math.Abs(g.Deviation-w.Deviation) < 2e-6 {
			g.Deviation = w.Deviation
		}
		if math.Abs(g.Returned-w.Returned) < 2e-6 {
			g.Returned = w.Returned
		}
		differ(name+", orders", g.Orders, w.Orders)
		differ(name+", units", g.Units, w.Units)
		differ(name+", revenue", g.Revenue, w.Revenue)
		differ(name+", median", g.Median, w.Median)
		differ(name+", 90th percentile", g.P90, w.P90)
		differ(name+", deviation", g.Deviation, w.Deviation)
		differ(name+", returned", g.Returned, w.Returned)
		differ(name+", favourite", g.Favourite, w.Favourite)
		differ(name+", months", len(g.Months), len(w.Months))
		for month, amount := range w.Months {
			differ(name+", "+month, g.Months[month], amount)
		}
	}
	return found
}
