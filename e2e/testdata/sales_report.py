"""Sales for each group of a CSV of orders.

Standard input: {"csv": "<the file's text>", "by": "region" | "product"}. Prints progress as it goes, rows with faults on standard error, and the result
as one line of JSON at the end.
"""
import csv
import io
import json
import statistics
import sys
from collections import Counter, defaultdict
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

CENT = Decimal("0.01")


def amount(row):
    """What an order comes to, or ValueError with the column at fault."""
    try:
        quantity = int(row["quantity"])
        price = Decimal(row["unit_price"])
        discount = int(row["discount"] or 0)
    except (ValueError, InvalidOperation):
        raise ValueError("a number cannot be read") from None
    if quantity < 1:
        raise ValueError("the quantity is not positive")
    if not 0 <= discount < 100:
        raise ValueError("the discount is not below 100 %")
    return quantity, (price * quantity * (100 - discount) / 100).quantize(CENT, ROUND_HALF_UP)


def read(text, by):
    groups, left_out, rows = defaultdict(list), 0, 0
    reader = csv.DictReader(io.StringIO(text))
    for rows, row in enumerate(reader, 1):
        try:
            quantity, total = amount(row)
        except ValueError as fault:
            left_out += 1
            print(f"line {reader.line_num} left out: {fault}", file=sys.stderr)
            continue
        groups[row[by]].append((quantity, total, row["product"], row["placed"][:7], row["returned"] == "yes"))
        if rows % 500 == 0:
            print(f"{rows} rows read, {left_out} left out", flush=True)
    return groups, rows, left_out


def figures(orders):
    totals = sorted(total for _, total, *_ in orders)
    months = defaultdict(Decimal)
    for _, total, _, month, _ in orders:
        months[month] += total
    units = Counter()
    for quantity, _, product, _, _ in orders:
        units[product] += quantity
    return {
        "orders": len(orders),
        "units": units.total() if hasattr(units, "total") else sum(units.values()),
        "revenue": str(sum(totals)),
        "median": str(statistics.median_low(totals)),
        "p90": str(totals[-(-len(totals) * 9 // 10) - 1]),
        "deviation": round(float(statistics.stdev(totals)), 6),
        "returned": round(sum(returned for *_, returned in orders) / len(orders), 6),
        "favourite": min(units, key=lambda product: (-units[product], product)),
        "months": {month: str(total) for month, total in sorted(months.items())},
    }


arguments = json.load(sys.stdin)
groups, rows, left_out = read(arguments["csv"], arguments["by"])
print(f"{rows} rows read in all, {left_out} left out; {len(groups)} groups", flush=True)
result = {}
for name in sorted(groups):
    result[name] = figures(groups[name])
    print(f"{name}: {result[name]['orders']} orders, {result[name]['revenue']}", flush=True)
print(json.dumps({"by": arguments["by"], "rows": rows, "leftOut": left_out, "groups": result}))
